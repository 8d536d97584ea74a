//! Ports over strings and bytevectors, and the output of an evaluation.
//!
//! There are no files. The standard input is empty.

use super::bytes::byte;
use super::{Primitive, plain};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::object::{InPort, Object, OutPort, PortSink, PortSource};
use crate::print::{self, Style};
use crate::reader::{Positions, Reader, is_line_end};
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("write", 1, 2, |w, a| write(w, a, Style::Write)),
    plain("display", 1, 2, |w, a| write(w, a, Style::Display)),
    plain("write-shared", 1, 2, |w, a| write(w, a, Style::WriteShared)),
    plain("write-simple", 1, 2, |w, a| write(w, a, Style::WriteSimple)),
    plain("newline", 0, 1, |w, a| emit(w, a.first(), "\n")),
    plain("write-char", 1, 2, |w, a| {
        let c = w.char("write-char", a[0])?;
        emit(w, a.get(1), c.encode_utf8(&mut [0; 4]))
    }),
    plain("write-string", 1, 4, write_string),
    plain("write-u8", 1, 2, |w, a| {
        let byte = byte(w, "write-u8", a[0])?;
        write_bytes(w, "write-u8", a.get(1), &[byte])
    }),
    plain("write-bytevector", 1, 4, |w, a| {
        let name = "write-bytevector";
        let length = w.bytevector(name, a[0])?.len();
        let (start, end) = w.range(name, length, a.get(2..).unwrap_or(&[]))?;
        w.charge((end - start) / 64)?;
        w.heap.reserve(end - start)?;
        let bytes = w.bytevector(name, a[0])?[start..end].to_vec();
        write_bytes(w, name, a.get(1), &bytes)
    }),
    plain("flush-output-port", 0, 1, |_, _| Ok(Value::UNSPECIFIED)),
    plain("open-input-string", 1, 1, |w, a| {
        let length = w.text("open-input-string", a[0])?.len();
        w.heap.reserve(length * 4)?;
        let text = w.text("open-input-string", a[0])?.clone();
        open_input(w, PortSource::Text(text))
    }),
    plain("open-input-bytevector", 1, 1, |w, a| {
        let length = w.bytevector("open-input-bytevector", a[0])?.len();
        w.heap.reserve(length)?;
        let bytes = w.bytevector("open-input-bytevector", a[0])?.clone();
        open_input(w, PortSource::Bytes(bytes))
    }),
    plain("open-output-string", 0, 0, |w, _| {
        open_output(w, PortSink::Text(String::new()))
    }),
    plain("open-output-bytevector", 0, 0, |w, _| {
        open_output(w, PortSink::Bytes(Vec::new()))
    }),
    plain("get-output-string", 1, 1, |w, a| match w.heap.sink(a[0]) {
        Some(PortSink::Text(text)) => {
            let text: Vec<char> = text.chars().collect();
            w.heap.reserve(text.len() * 4)?;
            w.heap.text(text)
        }
        _ => Err(w.wrong_type("get-output-string", "a string port", a[0])),
    }),
    plain("get-output-bytevector", 1, 1, |w, a| {
        match w.heap.sink(a[0]) {
            Some(PortSink::Bytes(bytes)) => {
                let bytes = bytes.clone();
                w.heap.bytes(bytes)
            }
            _ => Err(w.wrong_type("get-output-bytevector", "a bytevector port", a[0])),
        }
    }),
    plain("read", 0, 1, read),
    plain("read-char", 0, 1, |w, a| {
        next_char(w, "read-char", a, Consume::Yes)
    }),
    plain("peek-char", 0, 1, |w, a| {
        next_char(w, "peek-char", a, Consume::No)
    }),
    plain("char-ready?", 0, 1, |w, a| {
        next_char(w, "char-ready?", a, Consume::No).map(|_| Value::TRUE)
    }),
    plain("read-line", 0, 1, read_line),
    plain("read-string", 1, 2, read_string),
    plain("read-u8", 0, 1, |w, a| {
        next_byte(w, "read-u8", a, Consume::Yes)
    }),
    plain("peek-u8", 0, 1, |w, a| {
        next_byte(w, "peek-u8", a, Consume::No)
    }),
    plain("u8-ready?", 0, 1, |w, a| {
        next_byte(w, "u8-ready?", a, Consume::No).map(|_| Value::TRUE)
    }),
    plain("read-bytevector", 1, 2, read_bytevector),
    plain("read-bytevector!", 1, 4, read_into_bytevector),
    plain("eof-object", 0, 0, |_, _| Ok(Value::EOF)),
    plain("eof-object?", 1, 1, |_, a| {
        Ok(Value::boolean(a[0] == Value::EOF))
    }),
    plain("port?", 1, 1, |w, a| {
        Ok(Value::boolean(is_input(w, a[0]) || is_output(w, a[0])))
    }),
    plain("input-port?", 1, 1, |w, a| {
        Ok(Value::boolean(is_input(w, a[0])))
    }),
    plain("output-port?", 1, 1, |w, a| {
        Ok(Value::boolean(is_output(w, a[0])))
    }),
    plain("textual-port?", 1, 1, |w, a| {
        Ok(Value::boolean(is_textual(w, a[0])))
    }),
    plain("binary-port?", 1, 1, |w, a| {
        let port = is_input(w, a[0]) || is_output(w, a[0]);
        Ok(Value::boolean(port && !is_textual(w, a[0])))
    }),
    plain("input-port-open?", 1, 1, |w, a| match w.heap.get(a[0]) {
        Some(Object::InPort(port)) => Ok(Value::boolean(port.open)),
        _ if is_output(w, a[0]) => Ok(Value::FALSE),
        _ => Err(w.wrong_type("input-port-open?", "a port", a[0])),
    }),
    plain("output-port-open?", 1, 1, |w, a| match w.heap.get(a[0]) {
        Some(Object::OutPort(port)) => Ok(Value::boolean(port.open)),
        Some(Object::InPort(_)) => Ok(Value::FALSE),
        _ if a[0] == Value::CONSOLE => Ok(Value::TRUE),
        _ => Err(w.wrong_type("output-port-open?", "a port", a[0])),
    }),
    plain("close-port", 1, 1, close),
    plain("close-input-port", 1, 1, |w, a| {
        if !is_input(w, a[0]) {
            return Err(w.wrong_type("close-input-port", "an input port", a[0]));
        }
        close(w, a)
    }),
    plain("close-output-port", 1, 1, |w, a| {
        if !is_output(w, a[0]) {
            return Err(w.wrong_type("close-output-port", "an output port", a[0]));
        }
        close(w, a)
    }),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Consume {
    Yes,
    No,
}

fn is_input(w: &World, value: Value) -> bool {
    matches!(w.heap.get(value), Some(Object::InPort(_)))
}

fn is_output(w: &World, value: Value) -> bool {
    value == Value::CONSOLE || matches!(w.heap.get(value), Some(Object::OutPort(_)))
}

fn is_textual(w: &World, value: Value) -> bool {
    value == Value::CONSOLE
        || match w.heap.get(value) {
            Some(Object::InPort(port)) => matches!(port.source, PortSource::Text(_)),
            Some(Object::OutPort(port)) => matches!(port.sink, PortSink::Text(_)),
            _ => false,
        }
}

/// The port given, or the current output.
fn output(w: &World, port: Option<&Value>) -> Value {
    match (port, w.heap.get(w.output_parameter)) {
        (Some(&port), _) => port,
        (None, Some(Object::Parameter { value, .. })) => *value,
        _ => Value::CONSOLE,
    }
}

fn emit(w: &mut World, port: Option<&Value>, text: &str) -> Fallible<Value> {
    let port = output(w, port);
    w.write_to(port, text)?;
    Ok(Value::UNSPECIFIED)
}

fn write(w: &mut World, a: &[Value], style: Style) -> Fallible<Value> {
    let port = output(w, a.get(1));
    let console = port == Value::CONSOLE;
    let cap = if console {
        w.limits.output.saturating_sub(w.output.len())
    } else {
        // Labels and text are built beside the heap, so they may take a part of its room only.
        w.heap.limit.saturating_sub(w.heap.used) / 32
    };
    match print::render(&w.heap, a[0], style, cap) {
        Ok(text) => {
            w.charge(text.len() / 16)?;
            emit(w, Some(&port), &text)
        }
        Err(print::TooLong) if console => Err(w.out_of_output()),
        Err(print::TooLong) => Err(Fault::full()),
    }
}

fn write_string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.text("write-string", a[0])?.len();
    let (start, end) = w.range("write-string", length, a.get(2..).unwrap_or(&[]))?;
    w.charge((end - start) / 32)?;
    w.heap.reserve((end - start) * 4)?;
    let text: String = w.text("write-string", a[0])?[start..end].iter().collect();
    emit(w, a.get(1), &text)
}

fn write_bytes(w: &mut World, name: &str, port: Option<&Value>, bytes: &[u8]) -> Fallible<Value> {
    let port = output(w, port);
    match w.heap.as_out_port(port) {
        Some(OutPort {
            sink: PortSink::Bytes(_),
            open: true,
        }) => {}
        _ => return Err(w.wrong_type(name, "an open binary output port", port)),
    }
    w.heap.charge(bytes.len() * 2)?;
    if let Some(PortSink::Bytes(buffer)) = w.heap.sink(port) {
        buffer.extend_from_slice(bytes);
    }
    Ok(Value::UNSPECIFIED)
}

fn open_input(w: &mut World, source: PortSource) -> Fallible<Value> {
    w.heap.object(Object::InPort(Box::new(InPort {
        source,
        next: 0,
        open: true,
    })))
}

fn open_output(w: &mut World, sink: PortSink) -> Fallible<Value> {
    w.heap
        .object(Object::OutPort(Box::new(OutPort { sink, open: true })))
}

/// The port given, or the current input; it is open.
fn input<'a>(w: &'a mut World, name: &str, port: Option<&Value>) -> Fallible<&'a mut InPort> {
    let port = match (port, w.heap.get(w.input_parameter)) {
        (Some(&port), _) => port,
        (None, Some(Object::Parameter { value, .. })) => *value,
        _ => Value::FALSE,
    };
    let closed = || Fault::error(ErrorKind::Type, format!("{name}: the port is closed"));
    if !is_input(w, port) {
        return Err(w.wrong_type(name, "an input port", port));
    }
    let open = w.heap.as_in_port(port).filter(|port| port.open);
    open.ok_or_else(closed)
}

fn mismatch(name: &str, expected: &str) -> Fault {
    Fault::error(
        ErrorKind::Type,
        format!("{name}: the port is not {expected}"),
    )
}

fn next_char(w: &mut World, name: &str, a: &[Value], consume: Consume) -> Fallible<Value> {
    let port = input(w, name, a.first())?;
    let PortSource::Text(text) = &port.source else {
        return Err(mismatch(name, "textual"));
    };
    let Some(&c) = text.get(port.next) else {
        return Ok(Value::EOF);
    };
    if consume == Consume::Yes {
        port.next += 1;
    }
    Ok(Value::char(c))
}

fn next_byte(w: &mut World, name: &str, a: &[Value], consume: Consume) -> Fallible<Value> {
    let port = input(w, name, a.first())?;
    let PortSource::Bytes(bytes) = &port.source else {
        return Err(mismatch(name, "binary"));
    };
    let Some(&byte) = bytes.get(port.next) else {
        return Ok(Value::EOF);
    };
    if consume == Consume::Yes {
        port.next += 1;
    }
    Ok(Value::fixnum(i64::from(byte)))
}

/// Takes text from a port: `end` says how much of it to answer and how much to consume, or that
/// there is none left. Nothing is consumed unless it fits the heap.
fn take_text(
    w: &mut World,
    name: &str,
    port: Option<&Value>,
    end: impl Fn(&[char]) -> Option<(usize, usize)>,
) -> Fallible<Value> {
    let found = input(w, name, port)?;
    let PortSource::Text(text) = &found.source else {
        return Err(mismatch(name, "textual"));
    };
    let rest = &text[found.next..];
    let Some((taken, consumed)) = end(rest) else {
        return Ok(Value::EOF);
    };
    let taken = rest[..taken].to_vec();
    w.charge(taken.len() / 32)?;
    let result = w.heap.text(taken)?;
    input(w, name, port)?.next += consumed;
    Ok(result)
}

fn read_line(w: &mut World, a: &[Value]) -> Fallible<Value> {
    take_text(w, "read-line", a.first(), |rest| {
        let end = rest.iter().position(|&c| is_line_end(c));
        match end {
            Some(end) if rest[end..].starts_with(&['\r', '\n']) => Some((end, end + 2)),
            Some(end) => Some((end, end + 1)),
            None => (!rest.is_empty()).then_some((rest.len(), rest.len())),
        }
    })
}

fn read_string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let count = w.index("read-string", a[0])?;
    take_text(w, "read-string", a.get(1), |rest| {
        let taken = count.min(rest.len());
        (taken > 0 || count == 0).then_some((taken, taken))
    })
}

fn read_bytevector(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "read-bytevector";
    let count = w.index(name, a[0])?;
    let port = input(w, name, a.get(1))?;
    let PortSource::Bytes(bytes) = &port.source else {
        return Err(mismatch(name, "binary"));
    };
    let rest = &bytes[port.next..];
    if rest.is_empty() && count > 0 {
        return Ok(Value::EOF);
    }
    let taken = rest[..count.min(rest.len())].to_vec();
    let consumed = taken.len();
    let result = w.heap.bytes(taken)?;
    input(w, name, a.get(1))?.next += consumed;
    Ok(result)
}

/// `(read-bytevector! bytevector [port [start [end]]])`: answers how many bytes it stored.
fn read_into_bytevector(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "read-bytevector!";
    let length = w.bytevector(name, a[0])?.len();
    let (start, end) = w.range(name, length, a.get(2..).unwrap_or(&[]))?;
    w.charge((end - start) / 64)?;
    w.heap.reserve(end - start)?;
    let port = input(w, name, a.get(1))?;
    let PortSource::Bytes(bytes) = &port.source else {
        return Err(mismatch(name, "binary"));
    };
    let rest = &bytes[port.next..];
    if rest.is_empty() && end > start {
        return Ok(Value::EOF);
    }
    let taken = rest[..rest.len().min(end - start)].to_vec();
    port.next += taken.len();
    if let Some(Object::Bytes(bytes)) = w.heap.get_mut(a[0]) {
        bytes[start..start + taken.len()].copy_from_slice(&taken);
    }
    Ok(Value::fixnum(i64::try_from(taken.len()).unwrap_or(0)))
}

fn read(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let port = input(w, "read", a.first())?;
    let PortSource::Text(text) = &port.source else {
        return Err(mismatch("read", "textual"));
    };
    let rest = text[port.next..].to_vec();
    w.charge(rest.len() / 32)?;
    let mut reader = Reader::new(&rest);
    let datum = reader.read(w, &mut Positions::new())?;
    let consumed = reader.consumed();
    input(w, "read", a.first())?.next += consumed;
    Ok(datum.unwrap_or(Value::EOF))
}

fn close(w: &mut World, a: &[Value]) -> Fallible<Value> {
    match w.heap.get_mut(a[0]) {
        Some(Object::InPort(port)) => port.open = false,
        Some(Object::OutPort(port)) => port.open = false,
        _ if a[0] == Value::CONSOLE => {}
        _ => return Err(w.wrong_type("close-port", "a port", a[0])),
    }
    Ok(Value::UNSPECIFIED)
}
