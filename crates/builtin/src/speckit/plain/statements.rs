//! A description as statements, each of which may become a story and a requirement.

/// The most statements that are taken from a description.
const MOST: usize = 40;
/// Words that promise something without saying how much.
const VAGUE: [&str; 16] = [
    "fast",
    "quick",
    "quickly",
    "easy",
    "easily",
    "simple",
    "secure",
    "scalable",
    "robust",
    "intuitive",
    "modern",
    "efficient",
    "reliable",
    "responsive",
    "flexible",
    "friendly",
];
/// Words for who uses a thing.
const ACTORS: [&str; 20] = [
    "user",
    "users",
    "admin",
    "admins",
    "administrator",
    "administrators",
    "customer",
    "customers",
    "reader",
    "readers",
    "visitor",
    "visitors",
    "developer",
    "developers",
    "team",
    "operator",
    "operators",
    "person",
    "people",
    "member",
];
/// Words that say what has to be.
const MODALS: [&str; 6] = ["must", "shall", "should", "can", "will", "may"];

/// The sentences and items of a text, without their marks.
pub(super) fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line
            .trim()
            .trim_start_matches(['-', '*', '#', '>', '\u{2022}']);
        let digits = line
            .trim_start()
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let line = line.trim_start();
        let line = match line[digits..].strip_prefix(['.', ')']) {
            Some(rest) if digits > 0 => rest,
            _ => line,
        };
        for sentence in sentences(line) {
            let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
            let sentence = sentence.trim_end_matches(['.', ';', ',', ':', '!']).trim();
            if sentence.chars().any(char::is_alphanumeric) && found.len() < MOST {
                found.push(capitalised(sentence));
            }
        }
    }
    found
}

/// Splits at ends of sentences: a mark with a blank behind it, so that "v1.2" and "a.rs" stay.
fn sentences(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut before = None;
    for (at, character) in line.char_indices() {
        if character.is_whitespace() && matches!(before, Some('.' | ';' | '!' | '?')) {
            parts.push(&line[begin..at]);
            begin = at;
        }
        before = Some(character);
    }
    parts.push(&line[begin..]);
    parts
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .map(str::to_lowercase)
}

/// The first word that promises something without saying how much.
pub(super) fn vague_word(text: &str) -> Option<String> {
    let has_number = text.bytes().any(|it| it.is_ascii_digit());
    words(text).find(|it| !has_number && VAGUE.contains(&it.as_str()))
}

/// Whether a user of it is named.
pub(super) fn has_actor(text: &str) -> bool {
    text.to_lowercase().starts_with("as a") || words(text).any(|it| ACTORS.contains(&it.as_str()))
}

/// Whether it says what has to be, in the words of a requirement.
pub(super) fn has_modal(text: &str) -> bool {
    words(text).any(|it| MODALS.contains(&it.as_str()))
}

/// Whether it can be measured.
pub(super) fn is_measurable(text: &str) -> bool {
    text.bytes().any(|it| it.is_ascii_digit())
}

/// The first words, for a title.
pub(super) fn title(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let cut = words[..words.len().min(8)].join(" ");
    let cut: String = cut.chars().take(70).collect();
    cut.trim_end_matches([',', ':', ';']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_fall_into_statements() {
        for (text, expected) in [
            (
                "Users can search notes by tag. results load in 2 s; export to a.csv!",
                &[
                    "Users can search notes by tag",
                    "Results load in 2 s",
                    "Export to a.csv",
                ][..],
            ),
            (
                "- one\n2) two\n\n* three, v1.2\n---",
                &["One", "Two", "Three, v1.2"],
            ),
            ("  \n... \n", &[]),
        ] {
            assert_eq!(statements(text), expected, "{text}");
        }
        assert_eq!(statements(&"a. ".repeat(1000)).len(), MOST);
        assert_eq!(vague_word("It is fast").as_deref(), Some("fast"));
        assert_eq!(vague_word("It is fast: 20 ms"), None);
    }
}
