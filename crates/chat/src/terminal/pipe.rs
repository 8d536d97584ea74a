//! A conversation in a pipe: the answer on one stream, everything else on another.

use std::io::Write;

use attache_view::safe_text;

use crate::events::{ChatEvent, Confirming, Face};

/// Writes the answer as it comes.
pub struct PipeFace<O, E> {
    answer: O,
    aside: E,
    /// The answer goes to a terminal after all.
    is_terminal: bool,
    is_at_edge: bool,
    /// The reader of the answer is gone.
    pub reader_left: bool,
}

impl<O: Write + Send, E: Write + Send> PipeFace<O, E> {
    /// The answer goes to one writer, notes to the other.
    pub fn new(answer: O, aside: E, is_terminal: bool) -> Self {
        Self {
            answer,
            aside,
            is_terminal,
            is_at_edge: true,
            reader_left: false,
        }
    }

    fn write(&mut self, text: &str) {
        let text = match self.is_terminal {
            true => safe_text::block(text),
            false => text.into(),
        };
        if !text.is_empty() {
            self.is_at_edge = text.ends_with('\n');
        }
        let written = self.answer.write_all(text.as_bytes());
        self.reader_left |= written.and_then(|()| self.answer.flush()).is_err();
    }

    fn aside(&mut self, text: &str) {
        let _ = writeln!(self.aside, "{}", safe_text::one_line(text));
    }
}

impl<O: Write + Send, E: Write + Send> Face for PipeFace<O, E> {
    fn show(&mut self, event: ChatEvent<'_>) {
        match event {
            ChatEvent::Text { text } => self.write(text),
            ChatEvent::AnswerEnded if !self.is_at_edge => self.write("\n"),
            ChatEvent::AnswerEnded | ChatEvent::Thinking { .. } | ChatEvent::Used { .. } => {}
            ChatEvent::Calling {
                tool, arguments, ..
            } => {
                self.aside(&format!("calling {tool} {arguments}"));
            }
            ChatEvent::Called {
                tool,
                ending,
                after_ms,
                note,
                ..
            } => self.aside(&format!("{tool}: {ending} after {after_ms} ms {note}")),
            ChatEvent::Attached { from, bytes, stale } => {
                let stale = stale.map_or_else(String::new, |why| format!(", outdated: {why}"));
                self.aside(&format!("attached {from} ({bytes} bytes{stale})"));
            }
            ChatEvent::Compacted(done) => self.aside(&format!(
                "shortened to fit: {} turns, {} results",
                done.turns, done.results
            )),
            ChatEvent::Note { text } => self.aside(&format!("note: {text}")),
        }
    }

    fn confirm<'a>(&'a mut self, question: &'a str) -> Confirming<'a> {
        self.aside(&format!("{question} there is nobody to ask, so no"));
        Box::pin(std::future::ready(false))
    }
}

/// Writes every event as a line of JSON.
pub struct JsonFace<O> {
    output: O,
    is_terminal: bool,
    /// The reader of the events is gone.
    pub reader_left: bool,
}

impl<O: Write + Send> JsonFace<O> {
    /// Events go to this writer.
    pub fn new(output: O, is_terminal: bool) -> Self {
        Self {
            output,
            is_terminal,
            reader_left: false,
        }
    }
}

impl<O: Write + Send> Face for JsonFace<O> {
    fn show(&mut self, event: ChatEvent<'_>) {
        let Ok(line) = serde_json::to_string(&event) else {
            return;
        };
        let line = match self.is_terminal {
            true => safe_text::json(&line),
            false => line.into(),
        };
        let written = writeln!(self.output, "{line}");
        self.reader_left |= written.and_then(|()| self.output.flush()).is_err();
    }

    fn confirm<'a>(&'a mut self, _: &'a str) -> Confirming<'a> {
        Box::pin(std::future::ready(false))
    }
}
