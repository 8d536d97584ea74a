//! Values as text.
//!
//! Owns external representations and datum labels; works with its own stack and under a cap, so
//! that neither depth nor cycles nor size can hurt. No address and no hash order is ever shown.

use std::collections::HashMap;

use crate::heap::Heap;
use crate::number::parse::decimal;
use crate::number::print::to_text;
use crate::object::Object;
use crate::value::{Kind, Value};

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// For people: strings and characters as they are.
    Display,
    /// For the reader, with labels where there is a cycle.
    Write,
    /// For the reader, with labels wherever structure is shared.
    WriteShared,
    /// For the reader, without labels.
    WriteSimple,
}

/// The text would be longer than its cap.
#[derive(Debug)]
pub(crate) struct TooLong;

/// Writes a value of at most `cap` bytes.
pub(crate) fn render(
    heap: &Heap,
    value: Value,
    style: Style,
    cap: usize,
) -> Result<String, TooLong> {
    let mut printer = Printer::new(heap, style, cap);
    if style != Style::WriteSimple && is_compound(heap, value) {
        printer.labels = find_labels(heap, value, style, cap)?;
    }
    match printer.run(value) {
        Ok(()) => Ok(printer.text),
        Err(TooLong) => Err(TooLong),
    }
}

/// Writes the beginning of a value for a message.
pub(crate) fn excerpt(heap: &Heap, value: Value, style: Style, cap: usize) -> String {
    if let Ok(text) = render(heap, value, style, cap) {
        return text;
    }
    let mut printer = Printer::new(heap, style, cap);
    if printer.run(value).is_err() {
        printer.text.push('…');
    }
    printer.text
}

fn is_compound(heap: &Heap, value: Value) -> bool {
    value.as_pair().is_some() || heap.as_vector(value).is_some()
}

enum Task {
    Datum(Value),
    Tail(Value),
    Items(Value, usize),
    Close,
    Break,
}

struct Printer<'a> {
    heap: &'a Heap,
    style: Style,
    cap: usize,
    text: String,
    tasks: Vec<Task>,
    /// Values that need a label: `None` until it is given.
    labels: HashMap<Value, Option<usize>>,
    given: usize,
}

impl<'a> Printer<'a> {
    fn new(heap: &'a Heap, style: Style, cap: usize) -> Self {
        Self {
            heap,
            style,
            cap,
            text: String::new(),
            tasks: Vec::new(),
            labels: HashMap::new(),
            given: 0,
        }
    }

    fn run(&mut self, value: Value) -> Result<(), TooLong> {
        self.tasks.push(Task::Datum(value));
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Datum(value) => self.datum(value)?,
                Task::Tail(value) => self.tail(value)?,
                Task::Items(vector, next) => self.items(vector, next),
                Task::Close => self.text.push(')'),
                Task::Break => self.text.push('\n'),
            }
            if self.text.len() > self.cap {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    /// Writes a label or a reference to one; answers whether the datum itself is still due.
    fn label(&mut self, value: Value) -> bool {
        let next = self.given;
        match self.labels.get_mut(&value) {
            None => true,
            Some(Some(number)) => {
                self.text.push_str(&format!("#{number}#"));
                false
            }
            Some(unlabelled) => {
                *unlabelled = Some(next);
                self.given += 1;
                self.text.push_str(&format!("#{next}="));
                true
            }
        }
    }

    fn datum(&mut self, value: Value) -> Result<(), TooLong> {
        match value.kind() {
            Kind::Fixnum(number) => self.text.push_str(&number.to_string()),
            Kind::Pair(_) => {
                if self.label(value) {
                    self.pair(value);
                }
            }
            Kind::Char(c) => self.character(c),
            Kind::Symbol(_) => self.symbol(value),
            Kind::Flonum(_) => self.number(value)?,
            Kind::Primitive(_) => self.text.push_str("#<procedure>"),
            Kind::Cell(_) => self.text.push_str("#<variable>"),
            Kind::Constant => self.text.push_str(constant_name(value)),
            Kind::Object(_) => self.object(value)?,
        }
        Ok(())
    }

    fn pair(&mut self, value: Value) {
        let Some([car, cdr]) = self.heap.pair(value) else {
            return;
        };
        if let Some(prefix) = self.abbreviation(car)
            && let Some([quoted, Value::NIL]) = self.heap.pair(cdr)
            && !self.labels.contains_key(&cdr)
        {
            self.text.push_str(prefix);
            self.tasks.push(Task::Datum(quoted));
            return;
        }
        self.text.push('(');
        self.tasks.push(Task::Tail(cdr));
        self.tasks.push(Task::Datum(car));
    }

    fn abbreviation(&self, car: Value) -> Option<&'static str> {
        car.as_symbol()?;
        match &*self.heap.symbols.name(car) {
            "quote" => Some("'"),
            "quasiquote" => Some("`"),
            "unquote" => Some(","),
            "unquote-splicing" => Some(",@"),
            _ => None,
        }
    }

    fn tail(&mut self, value: Value) -> Result<(), TooLong> {
        if value == Value::NIL {
            self.text.push(')');
        } else if let Some([car, cdr]) = self.heap.pair(value)
            && !self.labels.contains_key(&value)
        {
            self.text.push(' ');
            self.tasks.push(Task::Tail(cdr));
            self.tasks.push(Task::Datum(car));
        } else {
            self.text.push_str(" . ");
            self.tasks.push(Task::Close);
            self.tasks.push(Task::Datum(value));
        }
        Ok(())
    }

    fn vector(&mut self, value: Value) {
        if self.label(value) {
            self.text.push_str("#(");
            self.tasks.push(Task::Items(value, 0));
        }
    }

    fn items(&mut self, vector: Value, next: usize) {
        let Some(&item) = self
            .heap
            .as_vector(vector)
            .and_then(|items| items.get(next))
        else {
            self.text.push(')');
            return;
        };
        if next > 0 {
            self.text.push(' ');
        }
        self.tasks.push(Task::Items(vector, next + 1));
        self.tasks.push(Task::Datum(item));
    }

    fn number(&mut self, value: Value) -> Result<(), TooLong> {
        let Some(number) = self.heap.number(value) else {
            return Ok(());
        };
        // Three bits and a third make a digit: a number that cannot fit is not converted at all.
        if usize::try_from(number.bits() / 4).unwrap_or(usize::MAX) > self.cap {
            return Err(TooLong);
        }
        self.text.push_str(&to_text(number, 10));
        Ok(())
    }

    fn object(&mut self, value: Value) -> Result<(), TooLong> {
        match self.heap.get(value) {
            Some(Object::Text(text)) => self.string(text)?,
            Some(Object::Vector(_)) => self.vector(value),
            Some(Object::Bytes(bytes)) => {
                if bytes.len() > self.cap {
                    return Err(TooLong);
                }
                let items: Vec<String> = bytes.iter().map(u8::to_string).collect();
                self.text.push_str(&format!("#u8({})", items.join(" ")));
            }
            Some(Object::Big(_) | Object::Ratio(_)) => self.number(value)?,
            Some(Object::Record { kind, .. }) => {
                let name = match self.heap.get(*kind) {
                    Some(Object::RecordType(kind)) => kind.name.as_str(),
                    _ => "record",
                };
                self.text.push_str(&format!("#<{name}>"));
            }
            Some(Object::Alias { name, .. }) => self.tasks.push(Task::Datum(*name)),
            Some(Object::Condition(condition)) => {
                self.text.push_str("#<error ");
                self.text.push_str(condition.kind.name());
                self.text.push_str(": ");
                if let Some(message) = self.heap.as_text(condition.message) {
                    self.text.extend(message.iter().take(self.cap));
                }
                self.text.push('>');
            }
            Some(Object::Values(items)) => {
                for (index, &item) in items.iter().enumerate().rev() {
                    self.tasks.push(Task::Datum(item));
                    if index > 0 {
                        self.tasks.push(Task::Break);
                    }
                }
            }
            Some(other) => self.text.push_str(opaque_name(other)),
            None => {}
        }
        Ok(())
    }

    fn string(&mut self, text: &[char]) -> Result<(), TooLong> {
        if text.len() > self.cap {
            return Err(TooLong);
        }
        if self.style == Style::Display {
            self.text.extend(text);
            return Ok(());
        }
        self.text.push('"');
        for &c in text {
            match c {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\t' => self.text.push_str("\\t"),
                '\r' => self.text.push_str("\\r"),
                '\u{7}' => self.text.push_str("\\a"),
                '\u{8}' => self.text.push_str("\\b"),
                c if c.is_control() => self.text.push_str(&format!("\\x{:x};", u32::from(c))),
                c => self.text.push(c),
            }
        }
        self.text.push('"');
        Ok(())
    }

    fn character(&mut self, c: char) {
        if self.style == Style::Display {
            self.text.push(c);
            return;
        }
        self.text.push_str("#\\");
        match char_name(c) {
            Some(name) => self.text.push_str(name),
            None if c.is_control() => self.text.push_str(&format!("x{:x}", u32::from(c))),
            None => self.text.push(c),
        }
    }

    fn symbol(&mut self, value: Value) {
        let name = self.heap.symbols.name(value);
        if self.style == Style::Display || !needs_bars(&name) {
            self.text.push_str(&name);
            return;
        }
        self.text.push('|');
        for c in name.chars() {
            match c {
                '|' => self.text.push_str("\\|"),
                '\\' => self.text.push_str("\\\\"),
                c if c.is_control() => self.text.push_str(&format!("\\x{:x};", u32::from(c))),
                c => self.text.push(c),
            }
        }
        self.text.push('|');
    }
}

const CHAR_NAMES: [(char, &str); 9] = [
    ('\u{7}', "alarm"),
    ('\u{8}', "backspace"),
    ('\u{7f}', "delete"),
    ('\u{1b}', "escape"),
    ('\n', "newline"),
    ('\0', "null"),
    ('\r', "return"),
    (' ', "space"),
    ('\t', "tab"),
];

fn char_name(c: char) -> Option<&'static str> {
    CHAR_NAMES
        .iter()
        .find(|(named, _)| *named == c)
        .map(|(_, name)| *name)
}

/// The character that a name of R7RS stands for.
pub(crate) fn named_char(name: &str) -> Option<char> {
    CHAR_NAMES
        .iter()
        .find(|(_, known)| *known == name)
        .map(|(c, _)| *c)
}

/// Says whether a symbol of this name can only be read back between bars.
fn needs_bars(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "()\"';`,|\\[]{}".contains(c);
    let first = name.chars().next().unwrap_or('|');
    name.is_empty() || name.chars().any(odd) || first == '#' || name == "." || reads_as_number(name)
}

fn reads_as_number(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if matches!(lower.as_str(), "+inf.0" | "-inf.0" | "+nan.0" | "-nan.0") {
        return true;
    }
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let unsigned = name.strip_prefix(['+', '-']).unwrap_or(name);
    let ratio = unsigned
        .split_once('/')
        .is_some_and(|(a, b)| digits(a) && digits(b));
    ratio || decimal(name).is_some()
}

fn constant_name(value: Value) -> &'static str {
    match value {
        Value::FALSE => "#f",
        Value::TRUE => "#t",
        Value::NIL => "()",
        Value::EOF => "#<eof>",
        Value::CONSOLE => "#<port>",
        Value::ENVIRONMENT => "#<environment>",
        _ => "#<unspecified>",
    }
}

fn opaque_name(object: &Object) -> &'static str {
    match object {
        Object::Promise(_) => "#<promise>",
        Object::RecordType(_) => "#<record-type>",
        Object::Parameter { .. } => "#<parameter>",
        Object::InPort(_) | Object::OutPort(_) => "#<port>",
        Object::Continuation(_)
        | Object::Segment(_)
        | Object::Storage(_)
        | Object::DynamicState(_) => "#<continuation>",
        _ => "#<procedure>",
    }
}

/// Finds the values that need a label: those on a cycle, or all that are met twice.
fn find_labels(
    heap: &Heap,
    value: Value,
    style: Style,
    cap: usize,
) -> Result<HashMap<Value, Option<usize>>, TooLong> {
    enum Visit {
        Enter(Value),
        Leave(Value),
    }
    let mut labels = HashMap::new();
    // True while the walk is beneath the value.
    let mut seen: HashMap<Value, bool> = HashMap::new();
    let mut visits = vec![Visit::Enter(value)];
    while let Some(visit) = visits.pop() {
        match visit {
            Visit::Leave(value) => {
                seen.insert(value, false);
            }
            Visit::Enter(value) => {
                if !is_compound(heap, value) {
                    continue;
                }
                if let Some(&beneath) = seen.get(&value) {
                    if beneath || style == Style::WriteShared {
                        labels.insert(value, None);
                    }
                    continue;
                }
                // Every compound value takes at least one byte of text.
                if seen.len() > cap {
                    return Err(TooLong);
                }
                seen.insert(value, true);
                visits.push(Visit::Leave(value));
                if let Some([car, cdr]) = heap.pair(value) {
                    visits.push(Visit::Enter(cdr));
                    visits.push(Visit::Enter(car));
                } else if let Some(items) = heap.as_vector(value) {
                    if items.len() > cap {
                        return Err(TooLong);
                    }
                    visits.extend(items.iter().rev().map(|&item| Visit::Enter(item)));
                }
            }
        }
    }
    Ok(labels)
}
