//! What was sent and what came, and the shell command that does the same again.
//!
//! Owns the evidence of one check. Refuses to know what it means.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::target::Target;

/// How much of one message is kept as evidence.
const MOST_SHOWN: usize = 2048;
/// How many messages of each direction are shown.
const MOST_MESSAGES: usize = 12;
/// Beyond this a command line is not one that anybody pastes.
const MOST_COMMAND: usize = 64 * 1024;
/// How long the reproducing command keeps the server's input open.
const KEEP_OPEN_SECONDS: u32 = 2;

/// The evidence of one check. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    steps: Vec<Step>,
    /// A command that was made by hand, where the steps do not make a good one.
    by_hand: Option<String>,
}

/// Something that happened on a connection.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) connection: usize,
    /// Whether it belongs to the opening that every check has.
    pub(crate) is_opening: bool,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Bytes(Vec<u8>),
    Request(Exchange),
    EndOfInput,
    Came(String),
}

/// An HTTP request as it was made, without the headers that the user configured.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) verb: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Trace {
    pub(crate) fn add(&self, connection: usize, is_opening: bool, what: What) {
        self.0.lock().steps.push(Step {
            connection,
            is_opening,
            what,
        });
    }

    pub(crate) fn came(&self, connection: usize, is_opening: bool, bytes: &[u8]) {
        let what = What::Came(shown(bytes));
        self.add(connection, is_opening, what);
    }

    /// The steps of a connection's opening, again for another check.
    pub(crate) fn add_all(&self, steps: &[Step]) {
        self.0.lock().steps.extend_from_slice(steps);
    }

    pub(crate) fn opening(&self, connection: usize) -> Vec<Step> {
        let kept = self.0.lock();
        let steps = kept.steps.iter();
        steps
            .filter(|step| step.is_opening && step.connection == connection)
            .cloned()
            .collect()
    }

    /// Says by hand what reproduces the check.
    pub(crate) fn reproduce_by(&self, command: String) {
        self.0.lock().by_hand = Some(command);
    }

    /// What was sent, without the opening unless there is nothing else.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.lines(|what| match what {
            What::Bytes(bytes) => Some(shown(bytes)),
            What::Request(exchange) => Some(exchange.shown()),
            What::EndOfInput => Some("(end of input)".to_owned()),
            What::Came(_) => None,
        })
    }

    pub(crate) fn received(&self) -> Vec<String> {
        self.lines(|what| match what {
            What::Came(text) => Some(text.clone()),
            _ => None,
        })
    }

    fn lines(&self, pick: impl Fn(&What) -> Option<String>) -> Vec<String> {
        let kept = self.0.lock();
        let has_more = kept.steps.iter().any(|step| !step.is_opening);
        let steps = kept.steps.iter();
        let steps = steps.filter(|step| !has_more || !step.is_opening);
        let mut lines: Vec<String> = steps.filter_map(|step| pick(&step.what)).collect();
        if lines.len() > MOST_MESSAGES {
            let left_out = lines.len() - MOST_MESSAGES;
            lines.truncate(MOST_MESSAGES);
            lines.push(format!("… and {left_out} more"));
        }
        lines
    }

    /// One line for a shell that does the same to the same server.
    pub(crate) fn reproduce(&self, target: &Target) -> String {
        let kept = self.0.lock();
        if let Some(command) = &kept.by_hand {
            return command.clone();
        }
        let sent = |step: &&Step| !matches!(step.what, What::Came(_));
        let own = kept
            .steps
            .iter()
            .filter(sent)
            .rfind(|step| !step.is_opening);
        let last = own.or_else(|| kept.steps.iter().rfind(sent));
        let Some(last) = last else {
            return match target {
                Target::Stdio(stdio) => stdio.command_line(),
                Target::Http(http) => format!("curl -sS -i {}", quoted(&http.url)),
                Target::Sse(http) => format!("curl -sS -i -N -m 5 {}", quoted(&http.url)),
            };
        };
        let steps = kept.steps.iter().filter(sent);
        let steps: Vec<&Step> = match target {
            Target::Stdio(_) | Target::Sse(_) => steps
                .filter(|step| step.connection == last.connection)
                .collect(),
            Target::Http(_) => steps.collect(),
        };
        let command = match target {
            Target::Stdio(stdio) => over_stdio(&steps, &stdio.command_line()),
            Target::Http(http) => over_http(&steps, http),
            Target::Sse(http) if is_post(last) => over_sse(&steps, http),
            Target::Sse(http) => over_http(&steps, http),
        };
        match command.len() > MOST_COMMAND {
            true => "what was sent is too long for a command line".to_owned(),
            false => command,
        }
    }
}

impl Exchange {
    fn shown(&self) -> String {
        let mut text = self.verb.to_owned();
        if let Some(body) = &self.body {
            text.push(' ');
            text.push_str(&shown(body));
        }
        let headers = self.headers.iter();
        let headers: Vec<String> = headers
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        format!("{text} ({})", headers.join("; "))
    }
}

fn over_stdio(steps: &[&Step], command: &str) -> String {
    let mut bytes = Vec::new();
    let mut ends = false;
    for step in steps {
        match &step.what {
            What::Bytes(sent) => bytes.extend_from_slice(sent),
            What::EndOfInput => ends = true,
            _ => {}
        }
    }
    let printed = printf(&bytes);
    match ends {
        true => format!("{printed} | {command}"),
        // A server that sees the end of its input leaves, perhaps before it has answered.
        false => format!("({printed}; sleep {KEEP_OPEN_SECONDS}) | {command}"),
    }
}

fn over_http(steps: &[&Step], http: &crate::target::HttpTarget) -> String {
    let mut commands = Vec::new();
    let mut has_session = false;
    for step in steps {
        let What::Request(exchange) = &step.what else {
            continue;
        };
        let mut command = format!(
            "curl -sS -i -m 5 -X {} {}",
            exchange.verb,
            quoted(&http.url)
        );
        for name in http.headers.keys() {
            command.push_str(&format!(" -H '{name}: …'"));
        }
        for (name, value) in &exchange.headers {
            if name.eq_ignore_ascii_case("mcp-session-id") && has_session && step.is_own_session() {
                command.push_str(" -H \"Mcp-Session-Id: $S\"");
            } else {
                command.push_str(&format!(" -H {}", quoted(&format!("{name}: {value}"))));
            }
        }
        if let Some(body) = &exchange.body {
            let body = String::from_utf8_lossy(body);
            command.push_str(&format!(" --data-binary {}", quoted(body.trim_end())));
        }
        let is_initialize = exchange
            .body
            .as_deref()
            .is_some_and(|body| String::from_utf8_lossy(body).contains("\"initialize\""));
        if step.is_opening && is_initialize {
            has_session = true;
            commands.push(format!(
                "S=$({command} | tr -d '\\r' | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')"
            ));
        } else {
            commands.push(command);
        }
    }
    commands.join("; ")
}

fn is_post(step: &Step) -> bool {
    matches!(&step.what, What::Request(exchange) if exchange.verb == "POST")
}

/// The stream is read until it names an address, to which everything is sent while it goes on.
fn over_sse(steps: &[&Step], http: &crate::target::HttpTarget) -> String {
    let headers: String = http
        .headers
        .keys()
        .map(|name| format!(" -H '{name}: …'"))
        .collect();
    let url = quoted(&http.url);
    let origin = url::Url::parse(&http.url)
        .map(|url| url.origin().ascii_serialization())
        .unwrap_or_default();
    let bodies = steps.iter().filter_map(|step| match &step.what {
        What::Request(exchange) => exchange.body.as_deref(),
        _ => None,
    });
    let bodies: Vec<String> = bodies
        .map(|body| quoted(String::from_utf8_lossy(body).trim_end()))
        .collect();
    format!(
        "curl -sS -N -m 5{headers} {url} | {{ while read -r E; do case \"$E\" in data:*) break;; \
         esac; done; E=$(printf %s \"${{E#data:}}\" | tr -d ' \\r'); case \"$E\" in /*) \
         E={origin}$E;; esac; for B in {}; do curl -sS{headers} -H 'Content-Type: \
         application/json' --data-binary \"$B\" \"$E\"; echo; done; cat; }}",
        bodies.join(" ")
    )
}

impl Step {
    /// Whether the session it names is the one of the opening.
    fn is_own_session(&self) -> bool {
        match &self.what {
            What::Request(exchange) => !exchange.headers.iter().any(|(name, value)| {
                name.eq_ignore_ascii_case("mcp-session-id") && value == crate::http::NO_SUCH_SESSION
            }),
            _ => true,
        }
    }
}

/// The shell command that prints these bytes.
fn printf(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok();
    let is_plain = |text: &&str| {
        let printable = |character: char| character == '\n' || !character.is_control();
        text.ends_with('\n') && text.chars().all(printable)
    };
    if let Some(text) = text.filter(is_plain) {
        let lines: Vec<String> = text.lines().map(quoted).collect();
        return format!("printf '%s\\n' {}", lines.join(" "));
    }
    let mut format = String::new();
    for byte in bytes {
        match byte {
            b'\n' => format.push_str("\\n"),
            b'%' => format.push_str("%%"),
            b'\\' => format.push_str("\\\\"),
            b'\'' => format.push_str("'\\''"),
            0x20..=0x7e => format.push(char::from(*byte)),
            other => format.push_str(&format!("\\{other:03o}")),
        }
    }
    format!("printf '{format}'")
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./:@=+,".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_SHOWN)]);
    let text = text.trim_end_matches(['\r', '\n']);
    match bytes.len() > MOST_SHOWN {
        true => format!("{text}… ({} bytes)", bytes.len()),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_a_command_that_prints_them() {
        for (bytes, command) in [
            (&b"{\"a\":1}\n"[..], "printf '%s\\n' '{\"a\":1}'"),
            (b"it's\nb\n", "printf '%s\\n' 'it'\\''s' b"),
            (b"\xff\0\n", "printf '\\377\\000\\n'"),
            (b"50%\\", "printf '50%%\\\\'"),
        ] {
            assert_eq!(printf(bytes), command);
        }
    }
}
