//! Characters to tokens.
//!
//! Owns comments, words, strings, characters, and everything that begins with `#`; what encloses
//! them is for the parent.

use super::{Open, Reader, Token, is_line_end};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::prims::chars::fold;
use crate::print::named_char;
use crate::value::Value;
use crate::world::World;

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.next).copied()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.next += 1;
        // The line feed of a pair ends the line, so that the pair ends it once.
        if c == '\n' || (c == '\r' && self.peek() != Some('\n')) {
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
                    while self.peek().is_some_and(|c| !is_line_end(c)) {
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

    pub(super) fn token(&mut self, world: &mut World) -> Fallible<Token> {
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
                // A line end inside a string is a newline, however the source wrote it.
                Some('\r') => {
                    if self.peek() == Some('\n') {
                        self.advance();
                    }
                    text.push('\n');
                }
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
            && !is_line_end(blank)
        {
            if !blank.is_whitespace() {
                return Err(self.error("unknown escape"));
            }
            c = self.advance();
        }
        if c == Some('\r') && self.peek() == Some('\n') {
            self.advance();
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
                match self.word().to_ascii_lowercase().as_str() {
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
                match word.to_ascii_lowercase().as_str() {
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
                    name.extend(word.chars().flat_map(fold));
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
