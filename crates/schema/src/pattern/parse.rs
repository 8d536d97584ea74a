//! Reads the text of a pattern.

/// How deep groups nest.
const MOST_DEPTH: usize = 50;
/// The greatest count of a repetition.
const MOST_REPEATS: u32 = 10_000;

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Node {
    Char(char),
    Any,
    Class(Class),
    Start,
    End,
    Boundary(bool),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Group(usize, Box<Node>),
    Again(usize),
    Look {
        wanted: bool,
        inner: Box<Node>,
    },
    Repeat {
        inner: Box<Node>,
        least: u32,
        most: Option<u32>,
        greedy: bool,
    },
}

/// A set of characters by name.
type Set = fn(char) -> bool;

/// A set of characters.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    excludes: bool,
    ranges: Vec<(char, char)>,
    /// Sets by name, each as it is or all but it.
    sets: Vec<(Set, bool)>,
}

impl Class {
    pub(super) fn has(&self, it: char) -> bool {
        let in_range = self
            .ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&it));
        let in_set = || self.sets.iter().any(|(is_in, wanted)| is_in(it) == *wanted);
        (in_range || in_set()) != self.excludes
    }

    fn of(set: (Set, bool)) -> Self {
        Self {
            sets: vec![set],
            ..Self::default()
        }
    }
}

/// A pattern that was read.
pub(super) struct Parsed {
    pub(super) node: Node,
    pub(super) groups: usize,
    /// Some group is repeated back.
    pub(super) repeats_groups: bool,
}

pub(super) fn parse(text: &str) -> Option<Parsed> {
    let mut reader = Reader {
        rest: text,
        depth: 0,
        names: Vec::new(),
        called: Vec::new(),
        highest: None,
    };
    let mut node = reader.alternatives()?;
    if !reader.rest.is_empty() {
        return None;
    }
    let groups = reader.names.len();
    let called = std::mem::take(&mut reader.called);
    let numbers: Option<Vec<usize>> = called
        .iter()
        .map(|name| {
            let is_named = |known: &Option<String>| known.as_deref() == Some(name);
            reader.names.iter().position(is_named)
        })
        .collect();
    name_references(&mut node, &numbers?);
    if reader.highest.is_some_and(|highest| highest >= groups) {
        return None;
    }
    Some(Parsed {
        node,
        groups,
        repeats_groups: reader.highest.is_some() || !called.is_empty(),
    })
}

/// References by name come before their group may be known; they hold the place of the name
/// among all names that are referred to, counted from the greatest number down.
fn name_references(node: &mut Node, numbers: &[usize]) {
    match node {
        Node::Again(number) => {
            if let Some(found) = numbers.get(usize::MAX - *number) {
                *number = *found;
            }
        }
        Node::Sequence(nodes) | Node::Alternatives(nodes) => {
            for node in nodes {
                name_references(node, numbers);
            }
        }
        Node::Group(_, inner) | Node::Look { inner, .. } | Node::Repeat { inner, .. } => {
            name_references(inner, numbers)
        }
        _ => {}
    }
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
    /// The groups so far, with their names.
    names: Vec<Option<String>>,
    /// The names that were referred to.
    called: Vec<String>,
    /// The highest group that was referred to by number.
    highest: Option<usize>,
}

/// What an escape means.
enum Escaped {
    Char(char),
    Set(Set, bool),
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn alternatives(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        let mut nodes = vec![self.sequence()?];
        while self.take("|") {
            nodes.push(self.sequence()?);
        }
        self.depth -= 1;
        match nodes.len() {
            1 => nodes.pop(),
            _ => Some(Node::Alternatives(nodes)),
        }
    }

    fn sequence(&mut self) -> Option<Node> {
        let mut nodes = Vec::new();
        while self.peek().is_some_and(|it| !matches!(it, '|' | ')')) {
            let (node, can_repeat) = self.atom()?;
            nodes.push(match self.counts()? {
                None => node,
                Some(_) if !can_repeat => return None,
                Some((least, most)) => Node::Repeat {
                    inner: Box::new(node),
                    least,
                    most,
                    greedy: !self.take("?"),
                },
            });
        }
        Some(Node::Sequence(nodes))
    }

    /// How often what comes before is repeated: the outer `None` is a mistake, the inner means once.
    fn counts(&mut self) -> Option<Option<(u32, Option<u32>)>> {
        let counts = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.braces(),
            _ => return Some(None),
        };
        self.next();
        Some(Some(counts))
    }

    fn braces(&mut self) -> Option<Option<(u32, Option<u32>)>> {
        // Braces that are no counts are text, as browsers have it.
        let Some((inside, after)) = self.rest[1..].split_once('}') else {
            return Some(None);
        };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let is_count = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if !is_count(least) || !(most.is_empty() || is_count(most)) {
            return Some(None);
        }
        let count = |text: &str| text.parse().ok().filter(|count| *count <= MOST_REPEATS);
        let least: u32 = count(least)?;
        let most: Option<u32> = match most {
            "" => None,
            most => Some(count(most)?),
        };
        self.rest = after;
        match most {
            Some(most) if most < least => None,
            most => Some(Some((least, most))),
        }
    }

    /// One part, and whether it may be repeated.
    fn atom(&mut self) -> Option<(Node, bool)> {
        if self.peek() == Some('{') && self.braces()?.is_some() {
            return None;
        }
        Some(match self.next()? {
            '^' => (Node::Start, false),
            '$' => (Node::End, false),
            '.' => (Node::Any, true),
            '[' => (Node::Class(self.class()?), true),
            '(' => return self.group(),
            '\\' => return self.escape(),
            '*' | '+' | '?' => return None,
            it => (Node::Char(it), true),
        })
    }

    fn group(&mut self) -> Option<(Node, bool)> {
        let look = if self.take("?=") {
            Some(true)
        } else if self.take("?!") {
            Some(false)
        } else {
            None
        };
        let node = match look {
            Some(wanted) => {
                let inner = Box::new(self.alternatives()?);
                Node::Look { wanted, inner }
            }
            None if self.take("?:") => self.alternatives()?,
            None => {
                let name = match self.take("?") {
                    true => Some(self.name()?),
                    false => None,
                };
                let number = self.names.len();
                self.names.push(name);
                Node::Group(number, Box::new(self.alternatives()?))
            }
        };
        self.take(")").then_some((node, look.is_none()))
    }

    /// The name of a group, as in `<name>`; anything else after `?` is not known here.
    fn name(&mut self) -> Option<String> {
        let (name, after) = self.rest.strip_prefix('<')?.split_once('>')?;
        let begins = name.starts_with(|it: char| it.is_alphabetic() || matches!(it, '_' | '$'));
        let is_name = |it: char| it.is_alphanumeric() || matches!(it, '_' | '$');
        (begins && name.chars().all(is_name)).then(|| {
            self.rest = after;
            name.to_owned()
        })
    }

    fn escape(&mut self) -> Option<(Node, bool)> {
        match self.peek()? {
            'b' | 'B' => Some((Node::Boundary(self.next() == Some('b')), false)),
            'k' => {
                self.next();
                let name = self.name()?;
                self.called.push(name);
                Some((Node::Again(usize::MAX - (self.called.len() - 1)), true))
            }
            '1'..='9' => {
                let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
                let number: usize = self.rest[..digits].parse().ok()?;
                self.rest = &self.rest[digits..];
                self.highest = self.highest.max(Some(number - 1));
                Some((Node::Again(number - 1), true))
            }
            _ => Some(match self.escaped()? {
                Escaped::Char(it) => (Node::Char(it), true),
                Escaped::Set(set, wanted) => (Node::Class(Class::of((set, wanted))), true),
            }),
        }
    }

    /// What stands for one character or for a set, inside brackets and outside.
    fn escaped(&mut self) -> Option<Escaped> {
        Some(Escaped::Char(match self.next()? {
            'd' => return Some(Escaped::Set(is_digit, true)),
            'D' => return Some(Escaped::Set(is_digit, false)),
            'w' => return Some(Escaped::Set(is_word, true)),
            'W' => return Some(Escaped::Set(is_word, false)),
            's' => return Some(Escaped::Set(is_space, true)),
            'S' => return Some(Escaped::Set(is_space, false)),
            'p' => return Some(Escaped::Set(self.property()?, true)),
            'P' => return Some(Escaped::Set(self.property()?, false)),
            't' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            '0' if !self.peek().is_some_and(|it| it.is_ascii_digit()) => '\0',
            'c' => {
                let letter = self.next().filter(char::is_ascii_alphabetic)?;
                char::from(letter as u8 % 32)
            }
            'x' => char::from_u32(self.digits(2)?)?,
            'u' if self.take("{") => {
                let (digits, after) = self.rest.split_once('}')?;
                self.rest = after;
                let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
                let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
                char::from_u32(number)?
            }
            'u' => {
                let first = self.digits(4)?;
                match first {
                    0xd800..=0xdbff if self.take("\\u") => {
                        let second = self.digits(4)?.checked_sub(0xdc00)?;
                        char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)?
                    }
                    _ => char::from_u32(first)?,
                }
            }
            // Letters and digits that mean nothing are mistakes; signs stand for themselves.
            it if it.is_ascii_alphanumeric() => return None,
            it => it,
        }))
    }

    /// A number of so many hexadecimal digits.
    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest.get(..count)?;
        let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        self.rest = &self.rest[count..];
        Some(number)
    }

    /// The properties of characters that the standard library knows exactly.
    fn property(&mut self) -> Option<Set> {
        let (name, after) = self.rest.strip_prefix('{')?.split_once('}')?;
        self.rest = after;
        Some(match name {
            "Any" => |_| true,
            "ASCII" => |it| it.is_ascii(),
            "Alphabetic" | "Alpha" => char::is_alphabetic,
            "Lowercase" | "Lower" => char::is_lowercase,
            "Uppercase" | "Upper" => char::is_uppercase,
            "White_Space" | "space" => char::is_whitespace,
            "Cc" | "Control" | "General_Category=Control" => char::is_control,
            _ => return None,
        })
    }

    fn class(&mut self) -> Option<Class> {
        let mut class = Class {
            excludes: self.take("^"),
            ..Class::default()
        };
        loop {
            if self.take("]") {
                return Some(class);
            }
            let Some(from) = self.member(&mut class)? else {
                continue;
            };
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            if !is_range {
                class.ranges.push((from, from));
                continue;
            }
            self.next();
            match self.member(&mut class)? {
                Some(to) if from <= to => class.ranges.push((from, to)),
                Some(_) => return None,
                // A range to a set is its two ends and the sign between them.
                None => class.ranges.extend([(from, from), ('-', '-')]),
            }
        }
    }

    /// One member of a class: a character, or a set, which is added at once.
    fn member(&mut self, class: &mut Class) -> Option<Option<char>> {
        match self.next()? {
            '\\' if self.take("b") => Some(Some('\u{8}')),
            '\\' => match self.escaped()? {
                Escaped::Char(it) => Some(Some(it)),
                Escaped::Set(set, wanted) => {
                    class.sets.push((set, wanted));
                    Some(None)
                }
            },
            it => Some(Some(it)),
        }
    }
}

fn is_digit(it: char) -> bool {
    it.is_ascii_digit()
}

pub(super) fn is_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// White space and line ends as ECMA-262 has them.
fn is_space(it: char) -> bool {
    matches!(it, '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}
