//! Which line of a program's stderr says what is wrong.
//!
//! Owns the choice only. The last line is seldom the one: runtimes end with a version, a frame of a
//! stack, the edge of a box or a usage line. What is not known here is passed over by shape: a line
//! counts by how clearly it reads like an error, and among equals the first one counts, because
//! what follows is mostly its consequence. Python says it the other way round, with the error at the
//! end of its traceback.

/// How many of the last lines are looked at. A stack of the usual depth fits several times; a
/// complaint from long before the end is not taken for its cause.
pub(crate) const LINES_LOOKED_AT: usize = 64;

/// The longest line that is quoted, in characters.
const LONGEST_QUOTE: usize = 300;

/// How clearly a line reads like an error, most last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Clarity {
    /// Text, nothing more.
    Text,
    /// It speaks of something that went wrong.
    Trouble,
    /// It is labelled as an error.
    Error,
    /// It is what a program says when it dies of it.
    Crash,
}

/// The line that says what is wrong: of all lines, oldest first, the first of those that read most
/// like an error; if none does, the last that says anything. A line that ends with a colon is joined
/// with what it announces.
pub fn telling_line<S: AsRef<str>>(lines: &[S]) -> Option<String> {
    chosen(lines).map(|(_, line)| line)
}

/// The same, if it reads like an error.
pub fn complaint<S: AsRef<str>>(lines: &[S]) -> Option<String> {
    let (clarity, line) = chosen(lines)?;
    (clarity > Clarity::Text).then_some(line)
}

fn chosen<S: AsRef<str>>(lines: &[S]) -> Option<(Clarity, String)> {
    let skipped = lines.len().saturating_sub(LINES_LOOKED_AT);
    let lines: Vec<String> = lines[skipped..]
        .iter()
        .map(|line| plain(line.as_ref()))
        .collect();
    let mut best: Option<(Clarity, usize)> = None;
    // The indentation of a traceback of Python whose error has not come yet.
    let mut traceback: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        let text = unframed(line);
        if text.ends_with("Traceback (most recent call last):") {
            traceback = Some(indentation(line, text));
            continue;
        }
        if let Some(indented) = traceback {
            if text.is_empty() || indentation(line, text) > indented {
                continue;
            }
            // The error ends its traceback, and a later traceback says more than an earlier one.
            traceback = None;
            best = Some((Clarity::Crash, at));
            continue;
        }
        if is_noise(line, text) || is_quoted_code(&lines, at) {
            continue;
        }
        let clarity = clarity(line, text);
        let better = match best {
            None => true,
            Some((Clarity::Text, _)) => true,
            Some((former, _)) => clarity > former,
        };
        if better {
            best = Some((clarity, at));
        }
    }
    let (clarity, at) = best?;
    let mut told = unframed(&lines[at]).to_owned();
    if told.ends_with(':') {
        let announced = lines[at + 1..].iter().map(|line| unframed(line));
        if let Some(next) = announced.into_iter().find(|line| !line.is_empty()) {
            told.push(' ');
            told.push_str(next);
        }
    }
    if told.chars().count() > LONGEST_QUOTE {
        told = told.chars().take(LONGEST_QUOTE).collect();
        told.push('…');
    }
    Some((clarity, told))
}

/// The line without colours and other escape sequences.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            text.push(character);
            continue;
        }
        if characters.next() == Some('[') {
            let _ = characters.find(char::is_ascii_alphabetic);
        }
    }
    text
}

/// The line without what draws a box or a tree around it.
fn unframed(line: &str) -> &str {
    let text = line.trim_matches(is_frame);
    // The bar that Python draws before the errors of a group, and its edges.
    let text = text.strip_prefix("| ").unwrap_or(text);
    let text = text.strip_prefix("+ ").unwrap_or(text);
    text.trim_matches(is_frame)
}

fn is_frame(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{2500}'..='\u{257f}' | '×' | '▶' | '❯')
}

fn indentation(line: &str, text: &str) -> usize {
    line.find(text).unwrap_or(0)
}

/// What surrounds an error and never is one.
fn is_noise(line: &str, text: &str) -> bool {
    let is_edge = !text.chars().any(char::is_alphabetic);
    let is_title = line.trim_start().starts_with(['╭', '┌']);
    let lower = text.to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    let is_frame_of_a_stack = begins(&["at "]) && line.starts_with(char::is_whitespace)
        || begins(&["file \"", "goroutine ", "created by ", "stack backtrace:"])
        || is_place(text)
        || text.starts_with('^');
    is_edge
        || is_title
        || is_frame_of_a_stack
        || begins(&[
            "node.js v",
            "usage:",
            "usage of ",
            "try '",
            "for more information",
            "note: run with",
            "exit status",
            "[signal ",
            "see 'docker",
            "npm error code",
            "npm err! code",
            "npm error errno",
            "npm err! errno",
            "npm error syscall",
            "npm err! syscall",
            "npm error a complete log",
            "npm err! a complete log",
            "(use `node",
            "during handling of the above",
            "the above exception was",
            "requirestack:",
            "file name:",
        ])
        || is_header_of_log_entry(text)
}

/// Whether the line only names a place in a file: `/srv/index.js:3`, `main.go:8 +0x18`.
fn is_place(text: &str) -> bool {
    let place = text.split(" +0x").next().unwrap_or(text);
    match place.rsplit_once(':') {
        Some((file, line)) => {
            !line.is_empty()
                && line.bytes().all(|byte| byte.is_ascii_digit())
                && !file.contains(char::is_whitespace)
                && file.contains(['/', '.', '\\', ':'])
        }
        None => false,
    }
}

/// The first line of an entry in the log of .NET, whose text is on the next line.
fn is_header_of_log_entry(text: &str) -> bool {
    let levels = ["trce: ", "dbug: ", "info: ", "warn: ", "fail: ", "crit: "];
    levels.iter().any(|level| text.starts_with(level)) && text.ends_with(']')
}

/// Whether a runtime shows the line as source, with a mark under it. It may well say "Error".
fn is_quoted_code(lines: &[String], at: usize) -> bool {
    let under = lines.get(at + 1).map(|line| line.trim());
    under.is_some_and(|under| !under.is_empty() && under.chars().all(|mark| "^~".contains(mark)))
}

fn clarity(line: &str, text: &str) -> Clarity {
    const CRASHES: [&str; 7] = [
        "panic: ",
        "fatal error: ",
        "unhandled exception",
        "uncaught ",
        "exception in thread ",
        "segmentation fault",
        "terminate called",
    ];
    const LABELS: [&str; 13] = [
        "error:",
        "error[",
        "error]",
        "exception:",
        "fatal:",
        "fatal ",
        "critical:",
        "npm error",
        "npm err!",
        "level=error",
        "level=fatal",
        "\"level\":\"error\"",
        "error response from daemon",
    ];
    const TROUBLES: [&str; 26] = [
        "error",
        "fail",
        "cannot",
        "can't",
        "could not",
        "couldn't",
        "unable",
        "not found",
        "no such",
        "no module",
        "not defined",
        "not set",
        "not possible",
        "not provided",
        "no solution",
        "missing",
        "required",
        "must ",
        "invalid",
        "unknown",
        "unrecognized",
        "unexpected",
        "denied",
        "refused",
        "already in use",
        "exception",
    ];
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    // Warnings and news may speak of errors, and are none.
    let levels = ["warn", "info", "debug", "trace", "notice"];
    let first_words = lower.split(|character: char| !character.is_alphanumeric());
    let mut first_words = first_words.filter(|word| !word.is_empty()).take(8);
    let labelled_error = ["error", "fatal", "critical", "err"];
    let level = first_words.find_map(|word| {
        let is_less =
            levels.iter().any(|level| word.starts_with(level)) || word.ends_with("warning");
        let is_error = labelled_error.contains(&word);
        (is_less || is_error).then_some(is_error)
    });
    if level == Some(false) {
        return Clarity::Text;
    }
    let is_whole = !line.starts_with(char::is_whitespace);
    let is_panic = lower.starts_with("thread '") && lower.contains(" panicked at ");
    if is_whole && (is_panic || CRASHES.iter().any(|crash| lower.starts_with(crash))) {
        return Clarity::Crash;
    }
    if level == Some(true) || has(&LABELS) {
        return Clarity::Error;
    }
    match has(&TROUBLES) {
        true => Clarity::Trouble,
        false => Clarity::Text,
    }
}

#[cfg(test)]
#[path = "telling_line_tests.rs"]
mod tests;
