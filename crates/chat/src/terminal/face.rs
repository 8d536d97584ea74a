//! A conversation drawn on a terminal.

use std::io::{self, Write};

use attache_view::safe_text;

use super::Paint;
use super::draw::{self, BOLD, FAINT, PLAIN, YELLOW};
use super::lines::Lines;
use super::live::{Live, Step};
use super::screen;
use crate::commands::meter;
use crate::events::{ChatEvent, Confirming, Face};

/// How much of an argument is shown with a call; an approval shows all of it.
const SHOWN_ARGUMENT: usize = 60;
/// How much of a result's first line is shown.
const SHOWN_RESULT: usize = 100;

/// Draws on standard output.
pub struct TerminalFace {
    paint: Paint,
    /// Thoughts stay instead of being folded.
    unfolded: bool,
    lines: Lines,
    state: State,
}

/// What is being written.
enum State {
    Nothing,
    Answer(Live),
    Thoughts(Live),
}

impl TerminalFace {
    /// A face that asks through these lines.
    pub fn new(paint: Paint, unfolded: bool, lines: Lines) -> Self {
        Self {
            paint,
            unfolded,
            lines,
            state: State::Nothing,
        }
    }

    /// Writes a text of our own below everything.
    pub fn say(&mut self, text: &str) {
        self.end_block();
        write(&format!("{}\n", text.trim_end()));
    }

    fn style(&self, style: &'static str) -> &'static str {
        match self.paint {
            Paint::Rich => style,
            Paint::Plain => "",
        }
    }

    fn line(&mut self, style: &'static str, text: &str) {
        self.end_block();
        let (begin, end) = (self.style(style), self.style(PLAIN));
        write(&format!("{begin}{text}{end}\n"));
    }

    fn text(&mut self, text: &str) {
        if !matches!(self.state, State::Answer(_)) {
            self.end_block();
            self.state = State::Answer(Live::new(screen::size()));
        }
        let text = safe_text::block(text);
        let paint = self.paint;
        if let State::Answer(live) = &mut self.state {
            live.push(&text, |step| apply(&step, paint));
        }
    }

    fn thinking(&mut self, text: &str) {
        if !matches!(self.state, State::Thoughts(_)) {
            self.end_block();
            self.state = State::Thoughts(Live::new(screen::size()));
        }
        let text = safe_text::block(text);
        let (begin, end) = (self.style(FAINT), self.style(PLAIN));
        if let State::Thoughts(live) = &mut self.state {
            live.keep(&text);
            write(&format!("{begin}{text}{end}"));
        }
    }

    /// Ends what is being written, so that the next thing begins at the left edge.
    fn end_block(&mut self) {
        let paint = self.paint;
        match std::mem::replace(&mut self.state, State::Nothing) {
            State::Nothing => {}
            State::Answer(mut live) => {
                if !live.is_at_edge() {
                    live.push("\n", |step| apply(&step, paint));
                }
                live.finish(|step| apply(&step, paint));
            }
            State::Thoughts(mut live) => {
                if !live.is_at_edge() {
                    live.keep("\n");
                    write("\n");
                }
                if paint == Paint::Plain || self.unfolded {
                    return;
                }
                live.finish(|step| {
                    if let Step::Replace { rows, block } = step {
                        let words = block.split_whitespace().count();
                        write(&format!(
                            "{}{FAINT}▸ thought, {words} words{PLAIN}\n",
                            erase(rows)
                        ));
                    }
                });
            }
        }
    }
}

impl Face for TerminalFace {
    fn show(&mut self, event: ChatEvent<'_>) {
        match event {
            ChatEvent::Text { text } => self.text(text),
            ChatEvent::Thinking { text } => self.thinking(text),
            ChatEvent::AnswerEnded => self.end_block(),
            ChatEvent::Calling {
                tool, arguments, ..
            } => {
                let tool = safe_text::one_line(tool);
                let (bold, plain) = (self.style(BOLD), self.style(PLAIN));
                let text = format!("→ {bold}{tool}{plain} {}", short_arguments(arguments));
                self.line("", &text);
            }
            ChatEvent::Called {
                tool,
                ending,
                after_ms,
                note,
                text,
                ..
            } => {
                let style = if ending == "done" { FAINT } else { YELLOW };
                let shown = match note.is_empty() {
                    true => folded(text),
                    false => safe_text::one_line(note).into_owned(),
                };
                let tool = safe_text::one_line(tool);
                self.line(style, &format!("← {tool} {ending} ({after_ms} ms) {shown}"));
            }
            ChatEvent::Attached { from, bytes, stale } => {
                let from = safe_text::one_line(from);
                let stale = stale.map_or_else(String::new, |why| {
                    format!(", outdated: {}", safe_text::one_line(&why))
                });
                self.line(FAINT, &format!("＋ {from} ({bytes} bytes{stale})"));
            }
            ChatEvent::Compacted(done) => {
                let text = format!(
                    "the conversation was shortened to fit: {} turns and {} results; {} tokens \
                     became {}",
                    done.turns, done.results, done.before, done.after
                );
                self.line(YELLOW, &text);
            }
            ChatEvent::Used {
                usage,
                context,
                window,
            } => {
                let output = usage
                    .output
                    .map_or_else(String::new, |tokens| format!("{tokens} tokens · "));
                self.line(FAINT, &format!("{output}{}", meter(context, window)));
            }
            ChatEvent::Note { text } => {
                self.line(YELLOW, &format!("note: {}", safe_text::one_line(text)));
            }
        }
    }

    fn confirm<'a>(&'a mut self, question: &'a str) -> Confirming<'a> {
        self.end_block();
        self.lines.forget();
        write(&format!("{} [y]es, [n]o: ", safe_text::one_line(question)));
        let lines = self.lines.clone();
        Box::pin(async move {
            let answer = lines.plain().await.unwrap_or_default();
            matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
        })
    }
}

fn apply(step: &Step<'_>, paint: Paint) {
    match (step, paint) {
        (Step::Write(text), _) => write(text),
        (Step::Replace { .. }, Paint::Plain) => {}
        (Step::Replace { rows, block }, Paint::Rich) => {
            let (columns, _) = screen::size();
            let mut drawn = draw::markdown(block, columns);
            if block.ends_with("\n\n") {
                drawn.push('\n');
            }
            write(&format!("{}{drawn}", erase(*rows)));
        }
    }
}

/// Goes back to the beginning of a block and clears everything from there.
fn erase(rows: usize) -> String {
    match rows {
        0 => "\r\x1b[J".to_owned(),
        rows => format!("\r\x1b[{rows}A\x1b[J"),
    }
}

/// Arguments as `key=value`, shortened.
fn short_arguments(arguments: &str) -> String {
    let object: Result<serde_json::Map<_, _>, _> = serde_json::from_str(arguments);
    let Ok(object) = object else {
        return safe_text::one_line(&crate::cut::beginning(arguments, SHOWN_ARGUMENT)).into_owned();
    };
    let pairs = object.iter().map(|(key, value)| {
        let value = match value {
            serde_json::Value::String(text)
                if !text.is_empty() && !text.contains(char::is_whitespace) =>
            {
                text.clone()
            }
            value => value.to_string(),
        };
        format!("{key}={}", crate::cut::beginning(&value, SHOWN_ARGUMENT))
    });
    let pairs: Vec<String> = pairs.collect();
    safe_text::one_line(&pairs.join(" ")).into_owned()
}

/// The first line of a result, and how much more there is.
fn folded(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = crate::cut::beginning(lines.next().unwrap_or_default(), SHOWN_RESULT);
    let first = safe_text::one_line(&first).into_owned();
    match lines.count() {
        0 => first,
        more => format!("{first} … {more} more lines"),
    }
}

fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    // A terminal that is gone ends the program by a signal.
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_shown_in_one_safe_line() {
        for (arguments, shown) in [
            (r#"{"query":"tea","limit":3}"#, "limit=3 query=tea"),
            (r#"{"q":"green tea","e":""}"#, r#"e="" q="green tea""#),
            ("{\"q\":\"a\\u001b[2Jb\"}", "q=a\\u{1b}[2Jb"),
            ("no json", "no json"),
        ] {
            assert_eq!(short_arguments(arguments), shown);
        }
        assert_eq!(folded("a\n\nb\nc"), "a … 2 more lines");
        assert_eq!(folded(""), "");
    }
}
