//! Text to data.
//!
//! Owns the grammar of data and the positions of lists; works with its own stack, so that nesting
//! costs no Rust stack. Knows nothing of what a datum means.

use std::collections::HashMap;

use crate::error::{ErrorKind, Fallible, Fault, Position};
use crate::print::named_char;
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

    fn peek(&self) -> Option<char> {
        self.text.get(self.next).copied()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.next += 1;
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    /// Skips blanks and comments; an unfinished block comment is an error.
    fn skip_blanks(&mut self) -> Fallible<()> {
        while let Some(c) = self.peek() {
            match c {
                ';' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.advance();
                    }
                }
                '#' if self.text.get(self.next + 1) == Some(&'|') => self.skip_block()?,
                c if c.is_whitespace() => {
                    self.advance();
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_block(&mut self) -> Fallible<()> {
        let start = self.position();
        let mut depth = 0_usize;
        loop {
            match (self.advance(), self.peek()) {
                (Some('#'), Some('|')) => {
                    self.advance();
                    depth += 1;
                }
                (Some('|'), Some('#')) => {
                    self.advance();
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (None, _) => {
                    return Err(
                        Fault::error(ErrorKind::Read, "a comment is not closed").at(Some(start))
                    );
                }
                _ => {}
            }
        }
    }

    fn token(&mut self, world: &mut World) -> Fallible<Token> {
        self.skip_blanks()?;
        let start = self.position();
        if self.open.is_empty() {
            self.start = start;
        }
        let Some(c) = self.peek() else {
            return Ok(Token::End);
        };
        match c {
            '(' | '[' => {
                self.advance();
                let close = if c == '(' { ')' } else { ']' };
                self.open.push(Open::List {
                    items: Vec::new(),
                    tail: None,
                    dotted: false,
                    start,
                    close,
                });
                Ok(Token::Opened)
            }
            ')' | ']' => {
                self.advance();
                Ok(Token::Closed(c))
            }
            '\'' => Ok(self.quote("quote", 1)),
            '`' => Ok(self.quote("quasiquote", 1)),
            ',' if self.text.get(self.next + 1) == Some(&'@') => {
                Ok(self.quote("unquote-splicing", 2))
            }
            ',' => Ok(self.quote("unquote", 1)),
            '"' => {
                self.advance();
                let text = self.delimited('"')?;
                Ok(Token::Datum(world.heap.text(text)?))
            }
            '#' => self.hash(world),
            _ => self.atom(world),
        }
    }

    fn quote(&mut self, name: &'static str, length: usize) -> Token {
        let start = self.position();
        for _ in 0..length {
            self.advance();
        }
        self.open.push(Open::Quote(name, start));
        Token::Opened
    }

    /// Reads up to the closing delimiter of a string or symbol, with its escapes.
    fn delimited(&mut self, delimiter: char) -> Fallible<Vec<char>> {
        let start = self.position();
        let mut text = Vec::new();
        loop {
            match self.advance() {
                None => {
                    return Err(
                        Fault::error(ErrorKind::Read, "a string is not closed").at(Some(start))
                    );
                }
                Some(c) if c == delimiter => return Ok(text),
                Some('\\') => match self.advance() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('a') => text.push('\u{7}'),
                    Some('b') => text.push('\u{8}'),
                    Some('0') => text.push('\0'),
                    Some('x' | 'X') => text.push(self.hex_escape()?),
                    Some(c @ ('"' | '\\' | '|' | '\'')) => text.push(c),
                    Some(c) if c.is_whitespace() => self.skip_line_break(c)?,
                    _ => return Err(self.error("unknown escape")),
                },
                Some(c) => text.push(c),
            }
        }
    }

    fn hex_escape(&mut self) -> Fallible<char> {
        let mut digits = String::new();
        while let Some(c) = self.advance() {
            if c == ';' {
                return u32::from_str_radix(&digits, 16)
                    .ok()
                    .and_then(char::from_u32)
                    .ok_or_else(|| self.error("not the number of a character"));
            }
            if digits.len() > 8 {
                break;
            }
            digits.push(c);
        }
        Err(self.error("a character escape ends with a semicolon"))
    }

    /// A backslash before the end of a line joins it with the next.
    fn skip_line_break(&mut self, first: char) -> Fallible<()> {
        let mut c = Some(first);
        while let Some(blank) = c
            && blank != '\n'
        {
            if !blank.is_whitespace() {
                return Err(self.error("unknown escape"));
            }
            c = self.advance();
        }
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.advance();
        }
        Ok(())
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            if c.is_whitespace() || "()[]\";'`,|".contains(c) {
                break;
            }
            word.push(c);
            self.advance();
        }
        word
    }

    fn hash(&mut self, world: &mut World) -> Fallible<Token> {
        let start = self.position();
        match self.text.get(self.next + 1).copied() {
            Some('(') => {
                self.advance();
                self.advance();
                self.open.push(Open::Vector(Vec::new(), start));
                Ok(Token::Opened)
            }
            Some(';') => {
                self.advance();
                self.advance();
                self.open.push(Open::Discard(start));
                Ok(Token::Opened)
            }
            Some('\\') => {
                self.advance();
                self.advance();
                Ok(Token::Datum(self.character()?))
            }
            Some('!') => {
                match self.word().as_str() {
                    "#!fold-case" => self.fold_case = true,
                    "#!no-fold-case" => self.fold_case = false,
                    other => return Err(self.error(format!("unknown directive {other}"))),
                }
                self.token(world)
            }
            Some(c) if c.is_ascii_digit() => self.label(world),
            Some('u' | 'U') => {
                let word = self.word();
                if !word.eq_ignore_ascii_case("#u8") || self.peek() != Some('(') {
                    return Err(self.error(format!("unknown syntax {word}")));
                }
                self.advance();
                self.open.push(Open::Bytes(Vec::new(), start));
                Ok(Token::Opened)
            }
            _ => {
                let word = self.word();
                match word.as_str() {
                    "#t" | "#true" => Ok(Token::Datum(Value::TRUE)),
                    "#f" | "#false" => Ok(Token::Datum(Value::FALSE)),
                    _ => match world.parse_number(&word, 10)? {
                        Some(number) => Ok(Token::Datum(world.heap.store(number)?)),
                        None => Err(self.error(format!("unknown syntax {word}"))),
                    },
                }
            }
        }
    }

    fn label(&mut self, world: &mut World) -> Fallible<Token> {
        let start = self.position();
        self.advance();
        let mut digits = String::new();
        while let Some(c) = self.peek()
            && c.is_ascii_digit()
        {
            digits.push(c);
            self.advance();
        }
        let number = digits
            .parse()
            .map_err(|_| self.error("a label is too large"))?;
        match self.advance() {
            Some('=') => {
                let placeholder = world.heap.cell(Value::UNDEFINED)?;
                self.labels.insert(number, placeholder);
                self.open.push(Open::Label(number, placeholder, start));
                Ok(Token::Opened)
            }
            Some('#') => match self.labels.get(&number) {
                Some(&value) => Ok(Token::Datum(value)),
                None => Err(self.error(format!("unknown label #{number}#"))),
            },
            _ => Err(self.error("unknown syntax after #")),
        }
    }

    fn character(&mut self) -> Fallible<Value> {
        let Some(first) = self.advance() else {
            return Err(self.error("the text ends inside a character"));
        };
        let mut name = String::from(first);
        if first.is_alphanumeric() {
            name.push_str(&self.word());
        }
        if name.chars().nth(1).is_none() {
            return Ok(Value::char(first));
        }
        let by_number = || {
            name.strip_prefix(['x', 'X'])
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .and_then(char::from_u32)
        };
        named_char(&name.to_lowercase())
            .or_else(by_number)
            .map(Value::char)
            .ok_or_else(|| self.error(format!("unknown character #\\{name}")))
    }

    fn atom(&mut self, world: &mut World) -> Fallible<Token> {
        let mut name = String::new();
        let mut quoted = false;
        while let Some(c) = self.peek() {
            if c == '|' {
                quoted = true;
                self.advance();
                name.extend(self.delimited('|')?);
            } else {
                let word = self.word();
                if word.is_empty() {
                    break;
                }
                if self.fold_case {
                    name.push_str(&word.to_lowercase());
                } else {
                    name.push_str(&word);
                }
            }
        }
        if !quoted {
            if name == "." {
                return Ok(Token::Dot);
            }
            if let Some(number) = world.parse_number(&name, 10)? {
                return Ok(Token::Datum(world.heap.store(number)?));
            }
            if name.is_empty() {
                let c = self.advance().unwrap_or(' ');
                return Err(self.error(format!("unexpected {c}")));
            }
        }
        Ok(Token::Datum(world.heap.intern(&name)?))
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
