//! Scopes: what an identifier means where it stands.
//!
//! Owns bindings and their lookup. An identifier is a symbol, or an alias that a macro inserted;
//! an alias without a binding of its own means what its name means where the macro was defined.
//! That is all of hygiene: inserted binders bind aliases, which no source text can name.

use std::collections::HashMap;

use crate::heap::Heap;
use crate::object::Object;
use crate::syntax::Var;
use crate::value::Value;

pub(crate) type ScopeId = u32;

/// The scope of the standard bindings.
pub(crate) const SYSTEM: ScopeId = 0;
/// The scope of a session's own definitions.
pub(crate) const USER: ScopeId = 1;

/// The special forms and auxiliary keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    And,
    Arrow,
    Begin,
    Case,
    CaseLambda,
    Cond,
    CondExpand,
    Define,
    DefineLibrary,
    DefineRecordType,
    DefineSyntax,
    DefineValues,
    Do,
    Ellipsis,
    Else,
    If,
    Import,
    Lambda,
    Let,
    LetStar,
    LetSyntax,
    Letrec,
    LetrecStar,
    LetrecSyntax,
    Or,
    Quasiquote,
    Quote,
    Set,
    SyntaxError,
    SyntaxRules,
    Underscore,
    Unless,
    Unquote,
    UnquoteSplicing,
    When,
}

pub(crate) const SPECIALS: [(&str, Special); 35] = [
    ("and", Special::And),
    ("=>", Special::Arrow),
    ("begin", Special::Begin),
    ("case", Special::Case),
    ("case-lambda", Special::CaseLambda),
    ("cond", Special::Cond),
    ("cond-expand", Special::CondExpand),
    ("define", Special::Define),
    ("define-library", Special::DefineLibrary),
    ("define-record-type", Special::DefineRecordType),
    ("define-syntax", Special::DefineSyntax),
    ("define-values", Special::DefineValues),
    ("do", Special::Do),
    ("...", Special::Ellipsis),
    ("else", Special::Else),
    ("if", Special::If),
    ("import", Special::Import),
    ("lambda", Special::Lambda),
    ("let", Special::Let),
    ("let*", Special::LetStar),
    ("let-syntax", Special::LetSyntax),
    ("letrec", Special::Letrec),
    ("letrec*", Special::LetrecStar),
    ("letrec-syntax", Special::LetrecSyntax),
    ("or", Special::Or),
    ("quasiquote", Special::Quasiquote),
    ("quote", Special::Quote),
    ("set!", Special::Set),
    ("syntax-error", Special::SyntaxError),
    ("syntax-rules", Special::SyntaxRules),
    ("_", Special::Underscore),
    ("unless", Special::Unless),
    ("unquote", Special::Unquote),
    ("unquote-splicing", Special::UnquoteSplicing),
    ("when", Special::When),
];

/// What an identifier is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Special(Special),
    Macro(u32),
    Global(u32),
    Local(Var),
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Bound(Binding),
    /// Nothing: the symbol, and the top-level scope where a definition would bind it.
    Free(Value, ScopeId),
}

/// One region of bindings.
#[derive(Debug)]
pub(crate) struct Scope {
    parent: Option<ScopeId>,
    /// Top-level scopes are large and live long.
    table: Option<HashMap<Value, Binding>>,
    list: Vec<(Value, Binding)>,
}

/// All scopes of a session.
#[derive(Debug)]
pub(crate) struct Scopes {
    all: Vec<Scope>,
}

impl Scopes {
    pub(crate) fn new() -> Self {
        let top = |parent| Scope {
            parent,
            table: Some(HashMap::new()),
            list: Vec::new(),
        };
        Self {
            all: vec![top(None), top(Some(SYSTEM))],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.all.truncate(length);
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit bounds scopes"
    )]
    fn add(&mut self, scope: Scope) -> ScopeId {
        self.all.push(scope);
        (self.all.len() - 1) as ScopeId
    }

    pub(crate) fn inner(&mut self, parent: ScopeId) -> ScopeId {
        self.add(Scope {
            parent: Some(parent),
            table: None,
            list: Vec::new(),
        })
    }

    pub(crate) fn library(&mut self) -> ScopeId {
        self.add(Scope {
            parent: Some(SYSTEM),
            table: Some(HashMap::new()),
            list: Vec::new(),
        })
    }

    pub(crate) fn is_top(&self, scope: ScopeId) -> bool {
        self.all[scope as usize].table.is_some()
    }

    pub(crate) fn bind(&mut self, scope: ScopeId, identifier: Value, binding: Binding) {
        let scope = &mut self.all[scope as usize];
        match &mut scope.table {
            Some(table) => {
                table.insert(identifier, binding);
            }
            None => scope.list.push((identifier, binding)),
        }
    }

    /// What this very scope binds an identifier to.
    pub(crate) fn own(&self, scope: ScopeId, identifier: Value) -> Option<Binding> {
        let scope = &self.all[scope as usize];
        match &scope.table {
            Some(table) => table.get(&identifier).copied(),
            // The latest wins, as a body may shadow what it inherited from a macro.
            None => scope
                .list
                .iter()
                .rev()
                .find(|(own, _)| *own == identifier)
                .map(|(_, b)| *b),
        }
    }

    pub(crate) fn lookup(&self, heap: &Heap, identifier: Value, scope: ScopeId) -> Meaning {
        let (mut identifier, mut scope) = (identifier, scope);
        loop {
            let mut top = None;
            let mut next = Some(scope);
            while let Some(id) = next {
                if let Some(binding) = self.own(id, identifier) {
                    return Meaning::Bound(binding);
                }
                if top.is_none() && self.is_top(id) {
                    top = Some(id);
                }
                next = self.all[id as usize].parent;
            }
            match heap.get(identifier) {
                Some(Object::Alias {
                    name,
                    scope: origin,
                }) => {
                    (identifier, scope) = (*name, *origin);
                }
                _ => return Meaning::Free(identifier, top.unwrap_or(USER)),
            }
        }
    }

    pub(crate) fn parent(&self, scope: ScopeId) -> Option<ScopeId> {
        self.all[scope as usize].parent
    }

    /// What one scope binds.
    pub(crate) fn bindings(&self, scope: ScopeId) -> impl Iterator<Item = (Value, Binding)> + '_ {
        let scope = &self.all[scope as usize];
        let table = scope.table.iter().flatten();
        table
            .map(|(&identifier, &binding)| (identifier, binding))
            .chain(scope.list.iter().copied())
    }

    /// Keeps the scopes that have a new number, and changes every binding.
    pub(crate) fn renumber(&mut self, numbers: &[Option<ScopeId>], change: impl Fn(&mut Binding)) {
        let mut index = 0;
        self.all.retain_mut(|scope| {
            let kept = numbers[index].is_some();
            index += 1;
            if kept {
                scope.parent = scope.parent.and_then(|parent| numbers[parent as usize]);
                let table = scope.table.iter_mut().flat_map(HashMap::values_mut);
                table.for_each(&change);
                let list = scope.list.iter_mut().map(|(_, binding)| binding);
                list.for_each(&change);
            }
            kept
        });
    }

    /// Every identifier that scopes refer to, for the collector.
    pub(crate) fn identifiers(&self) -> impl Iterator<Item = Value> + '_ {
        self.all.iter().flat_map(|scope| {
            let table = scope.table.iter().flat_map(|table| table.keys().copied());
            table.chain(scope.list.iter().map(|(identifier, _)| *identifier))
        })
    }
}

/// Says whether a value is a symbol or an alias.
pub(crate) fn is_identifier(heap: &Heap, value: Value) -> bool {
    value.as_symbol().is_some() || matches!(heap.get(value), Some(Object::Alias { .. }))
}

/// The symbol that an identifier was in the source text.
pub(crate) fn base_symbol(heap: &Heap, identifier: Value) -> Value {
    let mut identifier = identifier;
    while let Some(Object::Alias { name, .. }) = heap.get(identifier) {
        identifier = *name;
    }
    identifier
}
