//! Secrets hidden in text that is kept or shown: log lines, messages, command lines (S12).
//!
//! Two things are hidden: the values that are known to be secret because a server's configuration
//! has them, and what looks like a secret by its name, its neighbour or its shape. A line is looked
//! at once from left to right for its looks and once for each known value, so the work grows with
//! the text and not with its cunning.
//!
//! Hiding too much costs a look at the file; hiding too little costs a secret. Where in doubt, hide.

use std::borrow::Cow;
use std::ops::Range;

use attache_client::protocol::Json;

use crate::config::ServerConfig;

/// What stands where a secret was.
pub const HIDDEN: &str = "***";
/// Known values shorter than this are not hidden: `1` or `yes` would shred every line.
const SHORTEST_KNOWN: usize = 6;
/// A word after `Bearer` or behind a secret's name is hidden from this length on.
const SHORTEST_GUESS: usize = 4;
/// How much of an unfinished line a [`RedactedLines`] holds.
pub const LONGEST_LINE: usize = 64 * 1024;
/// How much of a cut line is held back, so that a secret at the cut is seen whole.
const HELD_BACK: usize = 4 * 1024;

/// Between a name and its value stand a mark, quotes and spaces, such as `": "` or ` => '`: at most
/// so many.
const FARTHEST: usize = 8;

/// Parts of names that make their values secret, in lower case without marks.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authorization",
    "cookie",
    "sessionid",
    "signature",
    "bearer",
];
/// Whole names, or last parts of names, that make their values secret.
const SECRET_ENDINGS: &[&str] = &["key", "pass", "pwd", "auth", "pat", "dsn"];
/// Names that only look secret.
const HARMLESS_NAMES: &[&str] = &[
    "progresstoken",
    "maxtokens",
    "tokens",
    "tokencount",
    "totaltokens",
    "inputtokens",
    "outputtokens",
    "nexttoken",
    "tokenizer",
    "keyid",
    "publickey",
];
/// How well-known secrets begin.
const SECRET_BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "hf_",
    "pypi-",
    "eyJ",
];
/// Well-known secrets are at least this long.
const SHORTEST_SHAPE: usize = 16;

/// Hides secrets.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// The longest first, so that a value which contains another is hidden whole.
    known: Vec<crate::config::Secret>,
}

impl Redactor {
    /// Hides what looks like a secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hides also the secret values in the configuration of some servers: those with a secret's
    /// name or shape, all headers that carry credentials, client secrets and tokens.
    pub fn for_servers<'a>(servers: impl IntoIterator<Item = &'a ServerConfig>) -> Self {
        let mut redactor = Self::new();
        for server in servers {
            for (name, value) in server.server.transport().values() {
                redactor.hide_if_secret(&name, &value);
            }
            for value in server.auth.client_secret.iter().chain(&server.auth.token) {
                redactor.hide(value.expose());
            }
        }
        redactor
    }

    /// Hides a value wherever it appears, also as it is written in a JSON string. A value of several
    /// words, such as `Bearer xyz`, is hidden word by word too.
    pub fn hide(&mut self, value: &str) {
        let quoted = serde_json::Value::from(value).to_string();
        let in_json = &quoted[1..quoted.len() - 1];
        let parts = [value, in_json].into_iter().chain(value.split_whitespace());
        for part in parts {
            let known = self.known.iter().any(|known| known.expose() == part);
            if part.len() >= SHORTEST_KNOWN && !known && !is_scheme(part) {
                self.known.push(part.into());
            }
        }
        self.known
            .sort_by_key(|known| std::cmp::Reverse(known.expose().len()));
    }

    /// Hides also what another redactor hides.
    pub(crate) fn hide_all_of(&mut self, other: &Self) {
        for value in &other.known {
            self.hide(value.expose());
        }
    }

    fn hide_if_secret(&mut self, name: &str, value: &str) {
        let looks = !spans_of_looks(value).is_empty();
        if is_secret_name(name) || looks || has_secret_shape(value) {
            self.hide(value);
        }
    }

    /// The text with its secrets hidden.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(hidden(text, &spans))
    }

    /// A JSON value with its secrets hidden. One that is no JSON any more, because a secret stood
    /// outside of a string, becomes a string.
    pub fn redact_json(&self, json: &Json) -> Json {
        match self.redact(json.as_str()) {
            Cow::Borrowed(_) => json.clone(),
            Cow::Owned(text) => {
                Json::parse(&text).unwrap_or_else(|_| serde_json::Value::from(text).into())
            }
        }
    }

    /// Where secrets are, in order and apart from each other.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = spans_of_looks(text);
        for known in &self.known {
            let found = text.match_indices(known.expose());
            spans.extend(found.map(|(at, part)| at..at + part.len()));
        }
        if spans.is_empty() {
            return spans;
        }
        spans.sort_by_key(|span| span.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(spans.len());
        for span in spans {
            match apart.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => apart.push(span),
            }
        }
        apart
    }
}

fn hidden(text: &str, spans: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        shown.push_str(&text[at..span.start]);
        shown.push_str(HIDDEN);
        at = span.end;
    }
    shown.push_str(&text[at..]);
    shown
}

/// Text that arrives in pieces, redacted line by line.
///
/// A line that is too long is given out in parts, cut between words; the end of each part is held
/// back so that no secret is cut in two. A single word that is too long is left out.
#[derive(Debug, Default)]
pub struct RedactedLines {
    redactor: Redactor,
    held: String,
    skipping: bool,
}

impl RedactedLines {
    /// Lines redacted by a redactor.
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            ..Self::default()
        }
    }

    /// Takes a piece, and adds what is ready to `ready`, line ends included.
    pub fn push(&mut self, piece: &str, ready: &mut String) {
        for part in piece.split_inclusive('\n') {
            self.push_part(part, ready);
            if part.ends_with('\n') {
                self.finish(ready);
            }
        }
    }

    /// Gives out what is held, at the end of the text.
    pub fn finish(&mut self, ready: &mut String) {
        ready.push_str(&self.redactor.redact(&self.held));
        self.held.clear();
        self.skipping = false;
    }

    fn push_part(&mut self, mut part: &str, ready: &mut String) {
        while !part.is_empty() {
            if self.skipping {
                match part.find(char::is_whitespace) {
                    Some(at) => part = &part[at..],
                    None => return,
                }
                self.skipping = false;
            }
            let mut room = LONGEST_LINE.saturating_sub(self.held.len()).min(part.len());
            while !part.is_char_boundary(room) {
                room -= 1;
            }
            self.held.push_str(&part[..room]);
            part = &part[room..];
            if !part.is_empty() {
                self.cut(ready);
            }
        }
    }

    fn cut(&mut self, ready: &mut String) {
        let spans = self.redactor.spans(&self.held);
        let mut limit = self.held.len().saturating_sub(HELD_BACK);
        while !self.held.is_char_boundary(limit) {
            limit -= 1;
        }
        let mut at = self.held[..limit].rfind(char::is_whitespace).unwrap_or(0);
        if at > 0 {
            // A secret that the cut would part from itself or from its name goes with the first
            // part.
            for span in &spans {
                if span.end > at && span.start <= at + FARTHEST {
                    at = span.end;
                }
            }
        }
        if at == 0 || at == self.held.len() {
            // The word goes on, and nothing but its beginning could tell what it is.
            let (shown, rest) = match at {
                0 => (String::new(), "[a very long word was left out]"),
                _ => (hidden(&self.held, &spans), ""),
            };
            ready.push_str(&shown);
            ready.push_str(rest);
            self.held.clear();
            self.skipping = true;
            return;
        }
        let before: Vec<_> = spans.into_iter().filter(|span| span.end <= at).collect();
        ready.push_str(&hidden(&self.held[..at], &before));
        self.held.drain(..at);
    }
}

/// Whether a name says that its value is secret: `API_KEY`, `x-auth-token`, `DB_PASSWORD`.
///
/// Every key of every message that is kept is looked at here: nothing is allocated, and most names
/// are ruled out by the letters that they do not have.
pub fn is_secret_name(name: &str) -> bool {
    const LONGEST_NAME: usize = 128;
    if name.len() > LONGEST_NAME {
        return false;
    }
    let letters = letters(name.as_bytes());
    let fits = |needed: &u32| letters & needed == *needed;
    if !SECRET_LETTERS.iter().chain(&ENDING_LETTERS).any(fits) {
        return false;
    }
    let mut plain = [0; LONGEST_NAME];
    let (mut length, mut last) = (0, 0);
    for byte in name.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => {
                plain[length] = byte.to_ascii_lowercase();
                length += 1;
            }
            // The last part begins behind the last mark.
            false => last = length,
        }
    }
    let (plain, last) = (&plain[..length], &plain[last..length]);
    let contains = |(part, needed): (&&str, &u32)| {
        let mut windows = plain.windows(part.len());
        fits(needed) && windows.any(|window| window == part.as_bytes())
    };
    let is_secret = SECRET_NAMES.iter().zip(&SECRET_LETTERS).any(contains)
        || SECRET_ENDINGS.iter().any(|it| it.as_bytes() == last);
    is_secret && !HARMLESS_NAMES.iter().any(|it| it.as_bytes() == plain)
}

/// The letters that a part of a name needs, for each of [`SECRET_NAMES`] and [`SECRET_ENDINGS`].
const SECRET_LETTERS: [u32; SECRET_NAMES.len()] = letters_of_each(SECRET_NAMES);
const ENDING_LETTERS: [u32; SECRET_ENDINGS.len()] = letters_of_each(SECRET_ENDINGS);

const fn letters_of_each<const COUNT: usize>(parts: &[&str]) -> [u32; COUNT] {
    let mut all = [0; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = letters(parts[at].as_bytes());
        at += 1;
    }
    all
}

/// Which letters a text has, large or small, a bit for each.
const fn letters(text: &[u8]) -> u32 {
    let (mut found, mut at) = (0, 0);
    while at < text.len() {
        let letter = text[at].to_ascii_lowercase().wrapping_sub(b'a');
        found |= (letter < 26) as u32 * (1 << (letter & 31));
        at += 1;
    }
    found
}

fn has_secret_shape(word: &str) -> bool {
    word.len() >= SHORTEST_SHAPE
        && SECRET_BEGINNINGS
            .iter()
            .any(|beginning| word.starts_with(beginning))
        && word.bytes().all(is_word_byte)
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "digest"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// What words and secrets are made of. All letters beyond ASCII count, so that words begin and end
/// between characters.
fn is_word_byte(byte: u8) -> bool {
    // Every byte of every line is looked up here.
    const WORD_BYTES: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = match byte as u8 {
                b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'%' => true,
                byte => byte.is_ascii_alphanumeric() || !byte.is_ascii(),
            };
            byte += 1;
        }
        table
    };
    WORD_BYTES[usize::from(byte)]
}

/// Where text looks secret: one pass over its words, each with the one before it.
fn spans_of_looks(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    if bytes.len() < SHORTEST_SHAPE && bytes.iter().all(|byte| is_word_byte(*byte)) {
        // A short word by itself, as most keys are, has no name before it and no shape.
        return spans;
    }
    let mut before = 0..0;
    let mut at = 0;
    while at < bytes.len() {
        if !is_word_byte(bytes[at]) {
            if bytes[at..].starts_with(b"://") {
                let end = end_of_credentials(bytes, at + 3);
                if end > at + 3 {
                    spans.push(at + 3..end);
                }
                at = end.max(at + 3);
                before = at..at;
            } else {
                at += 1;
            }
            continue;
        }
        let start = at;
        while at < bytes.len() && is_word_byte(bytes[at]) {
            at += 1;
        }
        // The padding of base64 belongs to the word before it.
        let mut end = at;
        while end < bytes.len() && bytes[end] == b'=' && end - at < 2 {
            end += 1;
        }
        let between = &bytes[before.end..start];
        let follows = Follows::of(&text[before.clone()], between);
        match follows {
            // `Authorization: Bearer …`: the value is behind the scheme.
            Follows::Name if is_scheme(&text[start..at]) => {}
            Follows::Name => {
                let end = end_of_value(bytes, start, between);
                if end - start >= SHORTEST_GUESS {
                    spans.push(start..end);
                    // Going on behind the value keeps this a single pass.
                    at = at.max(end);
                }
            }
            Follows::Scheme if end - start >= SHORTEST_GUESS => {
                spans.push(start..end);
                at = end;
            }
            Follows::Scheme | Follows::Nothing => {
                if has_secret_shape(&text[start..at]) {
                    spans.push(start..end);
                    at = end;
                }
            }
        }
        before = start..at;
    }
    spans
}

/// What a word follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// The name of a secret and `=` or `:`.
    Name,
    /// `Bearer`, `Basic`.
    Scheme,
    Nothing,
}

impl Follows {
    fn of(before: &str, between: &[u8]) -> Self {
        if before.is_empty() || between.is_empty() || between.len() > FARTHEST {
            return Self::Nothing;
        }
        let only = |allowed: &[u8]| between.iter().all(|byte| allowed.contains(byte));
        if is_scheme(before) && only(b" \t") {
            return Self::Scheme;
        }
        let assigned = between.iter().any(|byte| b"=:".contains(byte));
        // An option such as `--api-key VALUE` has a space only.
        let option = before.starts_with("--") && only(b" ");
        if (assigned && only(b"=:>\"'\\ \t") || option) && is_secret_name(before) {
            return Self::Name;
        }
        Self::Nothing
    }
}

/// Where the value ends that begins at `start`: at the closing quote if it was opened by one, else
/// where a list, a line or a word ends. In JSON inside of JSON the quotes themselves are escaped.
fn end_of_value(bytes: &[u8], start: usize, between: &[u8]) -> usize {
    let quote = between.last().copied().filter(|byte| b"\"'".contains(byte));
    let escaped_quote = between.ends_with(b"\\\"");
    let mut end = start;
    while let Some(&byte) = bytes.get(end) {
        let next = bytes.get(end + 1).copied();
        let ends = match quote {
            Some(quote) if escaped_quote => byte == b'\\' && next == Some(quote),
            Some(quote) => byte == quote,
            None => byte.is_ascii_whitespace() || b"\"',;&)}]".contains(&byte),
        };
        if ends || byte == b'\n' {
            break;
        }
        // An escaped character cannot end it.
        let escapes = byte == b'\\' && next.is_some_and(|next| next.is_ascii());
        end += if escapes { 2 } else { 1 };
    }
    looked_ahead(end - start);
    end
}

/// Where the credentials of a URL end, the `@` not included; `start` if it has none.
fn end_of_credentials(bytes: &[u8], start: usize) -> usize {
    let mut credentials = start;
    let mut looked_at = 0;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        looked_at += 1;
        match byte {
            b'@' => credentials = at,
            b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' => break,
            byte if byte.is_ascii_whitespace() => break,
            _ => {}
        }
    }
    looked_ahead(looked_at);
    credentials
}

/// Hears of every byte that is looked at ahead of the single pass; a test counts them.
fn looked_ahead(_bytes: usize) {
    #[cfg(test)]
    tests::LOOKED_AHEAD.set(tests::LOOKED_AHEAD.get() + _bytes);
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
