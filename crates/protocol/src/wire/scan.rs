//! Checks that a text is one JSON value without decoding it.
//!
//! The result of a call is checked when its envelope is read and decoded later by its type, or
//! never. The parser that decodes costs several times as much to check the same short text. This
//! scanner gives up beyond a fixed depth; whoever asks then lets the parser decide.

/// Whether `text` is exactly one well-formed JSON value, as far as this scanner can tell.
pub(crate) fn is_one_value(text: &str) -> bool {
    let mut scanner = Scanner {
        text: text.as_bytes(),
        at: 0,
        depth: 0,
        objects: 0,
    };
    scanner.value().is_some() && scanner.at == text.len()
}

/// How far it is to the next byte that means something in a string: a quote, a backslash, or a
/// control character, which may not stand there.
pub(crate) fn end_of_run(text: &[u8]) -> Option<usize> {
    /// Text with line breaks has one every few words, so the first words are looked at without the
    /// set-up that a search over long runs needs.
    const LOOKED_AT: usize = 64;
    let mut at = 0;
    while at < LOOKED_AT {
        let Some(eight) = text.get(at..at + 8) else {
            break;
        };
        let found = marked(u64::from_le_bytes(eight.try_into().ok()?));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    // Whole blocks without such a byte are passed at the speed of vector instructions.
    while let Some(block) = text.get(at..at + 32) {
        if block
            .iter()
            .fold(false, |found, byte| found | ends_run(*byte))
        {
            break;
        }
        at += 32;
    }
    let found = text[at..].iter().position(|byte| ends_run(*byte))?;
    Some(at + found)
}

fn ends_run(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < b' '
}

/// Marks the bytes of a word that end a run. Marks above the lowest may be false alarms, the lowest
/// is not.
pub(crate) fn marked(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 0xff;
    let below = |word: u64, bound: u8| word.wrapping_sub(EACH * u64::from(bound)) & !word;
    let quotes = below(word ^ (EACH * u64::from(b'"')), 1);
    let backslashes = below(word ^ (EACH * u64::from(b'\\')), 1);
    let controls = below(word, b' ');
    (quotes | backslashes | controls) & (EACH << 7)
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// How many arrays and objects are open, and which of them are objects, the innermost lowest.
    depth: u32,
    objects: u128,
}

impl Scanner<'_> {
    /// One value with the blanks around it. Nesting takes no recursion.
    fn value(&mut self) -> Option<()> {
        loop {
            match self.next_byte()? {
                b'"' => self.string()?,
                b'{' => {
                    self.open(1)?;
                    if self.peek()? != b'}' {
                        self.name()?;
                        continue;
                    }
                }
                b'[' => {
                    self.open(0)?;
                    if self.peek()? != b']' {
                        continue;
                    }
                }
                b't' => self.literal(b"rue")?,
                b'f' => self.literal(b"alse")?,
                b'n' => self.literal(b"ull")?,
                b'-' => self.digit().and_then(|first| self.number(first))?,
                first => self.number(first)?,
            }
            if self.after_value()? == Next::End {
                return Some(());
            }
        }
    }

    /// Closes what ends here, up to the next value or the end of the outermost one.
    fn after_value(&mut self) -> Option<Next> {
        while self.depth > 0 {
            let in_object = self.objects & 1 == 1;
            match self.next_byte()? {
                b',' if in_object => {
                    self.name()?;
                    return Some(Next::Value);
                }
                b',' => return Some(Next::Value),
                b'}' if in_object => {}
                b']' if !in_object => {}
                _ => return None,
            }
            self.depth -= 1;
            self.objects >>= 1;
        }
        self.blank();
        Some(Next::End)
    }

    fn open(&mut self, object: u128) -> Option<()> {
        self.depth += 1;
        self.objects = self.objects << 1 | object;
        (self.depth <= u128::BITS).then_some(())
    }

    fn name(&mut self) -> Option<()> {
        (self.next_byte()? == b'"').then_some(())?;
        self.string()?;
        (self.next_byte()? == b':').then_some(())
    }

    /// The rest of a string whose opening quote was read.
    fn string(&mut self) -> Option<()> {
        loop {
            self.at += end_of_run(&self.text[self.at..])?;
            match self.text[self.at..] {
                [b'"', ..] => {
                    self.at += 1;
                    return Some(());
                }
                [
                    b'\\',
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                    ..,
                ] => self.at += 2,
                [b'\\', b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(u8::is_ascii_hexdigit) => {
                    self.at += 6;
                }
                _ => return None,
            }
        }
    }

    /// The rest of a number that begins with the digit `first`.
    fn number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digit()?;
            self.digits();
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digit()?;
            self.digits();
        }
        Some(())
    }

    fn digit(&mut self) -> Option<u8> {
        let digit = self.text.get(self.at).filter(|it| it.is_ascii_digit())?;
        self.at += 1;
        Some(*digit)
    }

    fn digits(&mut self) {
        while self.digit().is_some() {}
    }

    fn literal(&mut self, rest: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(rest).then_some(())?;
        self.at += rest.len();
        Some(())
    }

    fn next_byte(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.text.get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }
}

/// What follows a value.
#[derive(PartialEq, Eq)]
enum Next {
    Value,
    End,
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    /// The scanner says what the parser says.
    fn check(text: &str) {
        let parsed = serde_json::from_str::<IgnoredAny>(text).is_ok();
        assert_eq!(is_one_value(text), parsed, "{text}");
    }

    #[test]
    fn the_scanner_agrees_with_the_parser() {
        let pieces = [
            "",
            " ",
            "\t\r\n ",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"\"",
            "\"\\n\\u00e4\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\ud800\"",
            "\"\n\"",
            "\"\u{1}\"",
            "\"ä\u{7f}\"",
            "\"",
            "\\",
            "0",
            "-0",
            "-",
            "01",
            "10",
            "1.",
            "1.5",
            ".5",
            "1e5",
            "1E+05",
            "1e-",
            "1e",
            "true",
            "false",
            "null",
            "nul",
            "truex",
            "NaN",
        ];
        for first in pieces {
            check(first);
            for second in pieces {
                check(&format!("{first}{second}"));
                for (open, close) in [("[", "]"), ("{\"k\":", "}"), ("[[", "]]"), ("{", "}")] {
                    check(&format!("{open}{first}{second}{close}"));
                    check(&format!("{open}{first},{second}{close}"));
                    check(&format!("{open}{first}:{second}{close}"));
                    check(&format!("{open}{first},\"m\":{second}{close} "));
                }
            }
        }
    }

    #[test]
    fn a_value_cut_anywhere_is_none() {
        let text = r#"{"a":[1,-2.5e+3,{"b":"c\"d\\é\u00e9"},[],{}],"e":true,"f":null}"#;
        check(text);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(!is_one_value(&text[..end]), "{end}");
        }
    }

    #[test]
    fn beyond_its_depth_the_scanner_gives_up() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_one_value(&nested(128)));
        assert!(!is_one_value(&nested(129)));
    }

    #[test]
    fn the_end_of_a_run_is_found_wherever_it_is() {
        for length in 0..200 {
            for end in ["\"", "\\", "\n", "\u{0}"] {
                let run: String = "ä!#[]^\u{7f}".chars().cycle().take(length).collect();
                let text = format!("{run}{end}\\\"ä!#[]");
                assert_eq!(end_of_run(text.as_bytes()), Some(run.len()), "{text}");
            }
        }
        assert_eq!(end_of_run(b"no end"), None);
        assert_eq!(end_of_run(&[b'x'; 1000]), None);
    }
}
