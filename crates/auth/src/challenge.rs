//! Reads `WWW-Authenticate` (RFC 9110 section 11.6.1).
//!
//! Owns the grammar and nothing else: it knows neither schemes nor HTTP types, so that the fuzzer
//! can include this one file. It never fails: what it cannot read it skips, because a server that
//! misspells one challenge may spell the next one well.

/// How much of one header is read. Real challenges have a few hundred bytes.
pub(crate) const MAX_HEADER_LENGTH: usize = 8 * 1024;

/// How many challenges one header may bring.
pub(crate) const MAX_CHALLENGES: usize = 16;

/// How many parameters one challenge may have.
pub(crate) const MAX_PARAMETERS: usize = 32;

/// One way the server offers to be convinced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SchemeChallenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl SchemeChallenge {
    /// Whether this is that scheme; case does not count.
    pub(crate) fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// A parameter by its lower-case name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// All challenges of one header, in order.
pub(crate) fn parse(header: &str) -> Vec<SchemeChallenge> {
    let mut reader = Reader::new(header);
    let mut challenges: Vec<SchemeChallenge> = Vec::new();
    while let Some(word) = reader.next_word() {
        if reader.peek_after_blanks() == Some('=') {
            // A parameter without a scheme belongs to nobody.
            let value = reader.value();
            if let Some(challenge) = challenges.last_mut() {
                challenge.add(word, value);
            }
            continue;
        }
        if challenges.len() == MAX_CHALLENGES {
            break;
        }
        reader.skip_token68();
        challenges.push(SchemeChallenge {
            scheme: word.to_owned(),
            parameters: Vec::new(),
        });
    }
    challenges
}

impl SchemeChallenge {
    /// The first value of a repeated parameter counts, so that nothing appended changes it.
    fn add(&mut self, name: &str, value: String) {
        let name = name.to_ascii_lowercase();
        if self.parameters.len() < MAX_PARAMETERS && self.parameter(&name).is_none() {
            self.parameters.push((name, value));
        }
    }
}

/// A position in the header.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn new(header: &'a str) -> Self {
        let mut end = header.len().min(MAX_HEADER_LENGTH);
        while !header.is_char_boundary(end) {
            end -= 1;
        }
        Self {
            rest: &header[..end],
        }
    }

    /// The next token; whatever cannot begin one is passed over.
    fn next_word(&mut self) -> Option<&'a str> {
        let start = self.rest.find(is_token_char)?;
        // A quoted text that belongs to nothing is passed over whole: it may hold commas.
        if let Some(quote) = self.rest[..start].find('"') {
            self.rest = &self.rest[quote..];
            self.quoted();
            return self.next_word_bounded();
        }
        self.rest = &self.rest[start..];
        Some(self.take_while(is_token_char))
    }

    /// Goes on after a stray quoted text without growing the stack.
    fn next_word_bounded(&mut self) -> Option<&'a str> {
        loop {
            let start = self.rest.find(|c| is_token_char(c) || c == '"')?;
            self.rest = &self.rest[start..];
            if self.rest.starts_with('"') {
                self.quoted();
            } else {
                return Some(self.take_while(is_token_char));
            }
        }
    }

    fn peek_after_blanks(&self) -> Option<char> {
        self.rest.trim_start_matches(is_blank).chars().next()
    }

    /// The value after `=`: a quoted text, or anything up to the next comma or blank. The latter is
    /// wider than the grammar, because servers forget the quotes around addresses.
    fn value(&mut self) -> String {
        self.take_while(is_blank);
        self.rest = self.rest.strip_prefix('=').unwrap_or(self.rest);
        self.take_while(is_blank);
        if self.rest.starts_with('"') {
            self.quoted()
        } else {
            self.take_while(|c| c != ',' && !is_blank(c)).to_owned()
        }
    }

    /// Reads a quoted text from its opening quote; one that never closes goes to the end.
    fn quoted(&mut self) -> String {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return text;
                }
                '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
                other => text.push(other),
            }
        }
        self.rest = "";
        text
    }

    /// Passes over the single value that some schemes have instead of parameters.
    fn skip_token68(&mut self) {
        let after_blanks = self.rest.trim_start_matches(is_blank);
        if after_blanks.len() == self.rest.len() {
            return;
        }
        let after_value = after_blanks
            .trim_start_matches(is_token68_char)
            .trim_start_matches('=');
        let after = after_value.trim_start_matches(is_blank);
        if after_value.len() < after_blanks.len() && (after.is_empty() || after.starts_with(',')) {
            self.rest = after;
        }
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

fn is_token_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}

fn is_token68_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._~+/".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes challenges as `scheme(name=value;name=value)`.
    fn check(header: &str, expected: &str) {
        let found: Vec<String> = parse(header)
            .iter()
            .map(|challenge| {
                let parameters: Vec<String> = challenge
                    .parameters
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                format!("{}({})", challenge.scheme, parameters.join(";"))
            })
            .collect();
        assert_eq!(found.join(" "), expected, "{header}");
    }

    #[test]
    fn challenges_are_read_as_servers_write_them() {
        check("", "");
        check("Bearer", "Bearer()");
        check("Bearer realm=\"x\"", "Bearer(realm=x)");
        check(
            "Bearer resource_metadata=\"https://a.b/c?d=e,f\", scope=\"a b\"",
            "Bearer(resource_metadata=https://a.b/c?d=e,f;scope=a b)",
        );
        check(
            "Bearer Error=\"invalid_token\" , SCOPE = a",
            "Bearer(error=invalid_token;scope=a)",
        );
        check(
            "Basic realm=\"a\", DPoP algs=\"ES256\", error=\"use_dpop_nonce\"",
            "Basic(realm=a) DPoP(algs=ES256;error=use_dpop_nonce)",
        );
        check("Negotiate, Bearer a=1", "Negotiate() Bearer(a=1)");
        check("Negotiate YWJj==, Bearer a=1", "Negotiate() Bearer(a=1)");
        check("NTLM abc/+=", "NTLM()");
    }

    #[test]
    fn misspelt_challenges_spoil_themselves_only() {
        check(
            "Bearer resource_metadata=https://a.b/c, scope=x",
            "Bearer(resource_metadata=https://a.b/c;scope=x)",
        );
        check("Bearer error=\"a b", "Bearer(error=a b)");
        check("Bearer e=\"a\\\"b\\\\\"", "Bearer(e=a\"b\\)");
        check("Bearer e=\"a\\", "Bearer(e=a)");
        check("Bearer scope=\"a\" error=\"b\"", "Bearer(scope=a;error=b)");
        check("Bearer scope=a, scope=b", "Bearer(scope=a)");
        check(",, ,Bearer a=1,,", "Bearer(a=1)");
        check("= \"x, Basic y=1\" Bearer a=1", "Bearer(a=1)");
        check("scope=\"x\", Bearer a=1", "Bearer(a=1)");
        check("Bearer a=\"ü\", b=ä", "Bearer(a=ü;b=ä)");
    }

    #[test]
    fn limits_hold() {
        let many = "A, ".repeat(MAX_CHALLENGES + 1);
        assert_eq!(parse(&many).len(), MAX_CHALLENGES);

        let names: Vec<String> = (0..=MAX_PARAMETERS).map(|n| format!("p{n}=1")).collect();
        let parsed = parse(&format!("Bearer {}", names.join(",")));
        assert_eq!(parsed[0].parameters.len(), MAX_PARAMETERS);

        let long = format!("Bearer a=\"{}\"", "ä".repeat(MAX_HEADER_LENGTH));
        let parsed = parse(&long);
        assert!(parsed[0].parameter("a").unwrap().len() <= MAX_HEADER_LENGTH);
        assert_eq!(parse(&"\"".repeat(MAX_HEADER_LENGTH)), []);
    }
}
