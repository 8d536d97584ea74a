//! Text to data.
//!
//! Owns the grammar of data and the positions of lists; works with its own stack, so that nesting
//! costs no Rust stack. Knows nothing of what a datum means.

mod tokens;

use std::collections::HashMap;

use crate::error::{ErrorKind, Fallible, Fault, Position};
use crate::value::Value;
use crate::world::World;

/// Where the lists of a source text begin, by their first pair.
pub(crate) type Positions = HashMap<Value, Position>;

/// A reader over characters.
pub(crate) struct Reader<'a> {
    text: &'a [char],
    next: usize,
    line: u32,
    column: u32,
    open: Vec<Open>,
    labels: HashMap<usize, Value>,
    fold_case: bool,
    /// The start of the datum last read.
    pub(crate) start: Position,
}

/// A datum that waits for its parts.
enum Open {
    List {
        items: Vec<Value>,
        tail: Option<Value>,
        dotted: bool,
        start: Position,
        close: char,
    },
    Vector(Vec<Value>, Position),
    Bytes(Vec<u8>, Position),
    Quote(&'static str, Position),
    Discard(Position),
    Label(usize, Value, Position),
}

impl Open {
    fn start(&self) -> Position {
        match self {
            Self::List { start, .. }
            | Self::Vector(_, start)
            | Self::Bytes(_, start)
            | Self::Quote(_, start)
            | Self::Discard(start)
            | Self::Label(_, _, start) => *start,
        }
    }
}

/// Says whether a character ends a line; a carriage return and a line feed end it together.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

enum Token {
    Datum(Value),
    Opened,
    Closed(char),
    Dot,
    End,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a [char]) -> Self {
        let start = Position { line: 1, column: 1 };
        Self {
            text,
            next: 0,
            line: 1,
            column: 1,
            open: Vec::new(),
            labels: HashMap::new(),
            fold_case: false,
            start,
        }
    }

    /// How many characters were consumed.
    pub(crate) fn consumed(&self) -> usize {
        self.next
    }

    /// Reads the next datum; `None` at the end of the text.
    pub(crate) fn read(
        &mut self,
        world: &mut World,
        positions: &mut Positions,
    ) -> Fallible<Option<Value>> {
        self.labels.clear();
        loop {
            if self.open.len() > world.limits.depth {
                return Err(Fault::limit(
                    ErrorKind::Depth,
                    format!("more than {} nested data", world.limits.depth),
                )
                .at(Some(self.position())));
            }
            let top = self.open.is_empty();
            match self.token(world)? {
                Token::Opened => {
                    if top && let Some(open) = self.open.first() {
                        self.start = open.start();
                    }
                }
                Token::Datum(value) => {
                    if let Some(value) = self.complete(world, positions, value)? {
                        return Ok(Some(value));
                    }
                }
                Token::Dot => self.dot()?,
                Token::Closed(close) => {
                    let value = self.close(world, positions, close)?;
                    if let Some(value) = self.complete(world, positions, value)? {
                        return Ok(Some(value));
                    }
                }
                Token::End => {
                    return match self.open.last() {
                        None => Ok(None),
                        Some(open) => Err(Fault::error(
                            ErrorKind::Read,
                            "the text ends inside a datum that begins here",
                        )
                        .at(Some(open.start()))),
                    };
                }
            }
        }
    }

    fn position(&self) -> Position {
        Position {
            line: self.line,
            column: self.column,
        }
    }

    #[cold]
    fn error(&self, message: impl Into<String>) -> Fault {
        Fault::error(ErrorKind::Read, message).at(Some(self.position()))
    }

    /// Hands a finished datum to whatever waits for it; answers it when nothing does.
    fn complete(
        &mut self,
        world: &mut World,
        positions: &mut Positions,
        value: Value,
    ) -> Fallible<Option<Value>> {
        let mut value = value;
        loop {
            let position = self.position();
            let error =
                |message: &str| Err(Fault::error(ErrorKind::Read, message).at(Some(position)));
            match self.open.last_mut() {
                None => return Ok(Some(value)),
                Some(Open::List { tail: Some(_), .. }) => {
                    return error("a list has one datum after its dot");
                }
                Some(Open::List {
                    tail, dotted: true, ..
                }) => {
                    *tail = Some(value);
                    return Ok(None);
                }
                Some(Open::List { items, .. } | Open::Vector(items, _)) => {
                    world.heap.reserve(items.len() * 24)?;
                    items.push(value);
                    return Ok(None);
                }
                Some(Open::Bytes(bytes, _)) => {
                    let Some(byte) = value.as_fixnum().and_then(|n| u8::try_from(n).ok()) else {
                        return error("a bytevector holds integers from 0 to 255");
                    };
                    bytes.push(byte);
                    return Ok(None);
                }
                Some(Open::Discard(_)) => {
                    self.open.pop();
                    return Ok(None);
                }
                Some(Open::Quote(name, start)) => {
                    let (name, start) = (*name, *start);
                    self.open.pop();
                    let symbol = world.heap.intern(name)?;
                    value = world.heap.list(&[symbol, value])?;
                    positions.insert(value, start);
                }
                Some(Open::Label(number, placeholder, _)) => {
                    let (number, placeholder) = (*number, *placeholder);
                    self.open.pop();
                    if value == placeholder {
                        return error("a datum label refers to itself");
                    }
                    self.labels.insert(number, value);
                    replace(world, value, placeholder)?;
                }
            }
        }
    }

    fn dot(&mut self) -> Fallible<()> {
        match self.open.last_mut() {
            Some(Open::List { items, dotted, .. }) if !items.is_empty() && !*dotted => {
                *dotted = true;
                Ok(())
            }
            _ => Err(self.error("a dot stands only before the last datum of a list")),
        }
    }

    fn close(
        &mut self,
        world: &mut World,
        positions: &mut Positions,
        closing: char,
    ) -> Fallible<Value> {
        let expected = match self.open.last() {
            Some(Open::List {
                close,
                dotted,
                tail,
                ..
            }) => {
                if *dotted && tail.is_none() {
                    return Err(self.error("a datum is missing after the dot"));
                }
                *close
            }
            _ => ')',
        };
        if expected != closing {
            return Err(self.error(format!("expected {expected} before {closing}")));
        }
        match self.open.pop() {
            Some(Open::List {
                items, tail, start, ..
            }) => {
                let list = world.heap.list_onto(&items, tail.unwrap_or(Value::NIL))?;
                if list.as_pair().is_some() {
                    positions.insert(list, start);
                }
                Ok(list)
            }
            Some(Open::Vector(items, _)) => world.heap.vector(items),
            Some(Open::Bytes(bytes, _)) => world.heap.bytes(bytes),
            Some(_) => Err(self.error("a datum is missing before the parenthesis")),
            None => Err(self.error("a parenthesis closes nothing")),
        }
    }
}

/// Puts a labelled datum wherever its label was referred to inside it.
fn replace(world: &mut World, datum: Value, placeholder: Value) -> Fallible<()> {
    let mut pending = vec![datum];
    let mut seen = std::collections::HashSet::new();
    while let Some(value) = pending.pop() {
        if !seen.insert(value) {
            continue;
        }
        world.charge(1)?;
        if let Some(index) = value.as_pair() {
            for part in world.heap.pairs.get_mut(index) {
                if *part == placeholder {
                    *part = datum;
                } else {
                    pending.push(*part);
                }
            }
        } else if let Some(crate::object::Object::Vector(items)) = world.heap.get_mut(value) {
            for part in items {
                if *part == placeholder {
                    *part = datum;
                } else {
                    pending.push(*part);
                }
            }
        }
    }
    Ok(())
}
