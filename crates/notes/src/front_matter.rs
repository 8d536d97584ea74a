//! What a note says about itself: its front matter, its title, and where its text begins.
//!
//! Front matter is read tolerantly: what cannot be read spoils itself only, and the note stays.

use saphyr_parser::{Event, Parser};

use crate::calendar;
use crate::identity::{ENDING, one_line};

/// How long front matter may be before it is taken for text.
const LONGEST: usize = 64 * 1024;
/// How long a title may be; the rest is cut off.
const LONGEST_TITLE: usize = 200;
/// How many tags or aliases of a note count.
const MOST_VALUES: usize = 100;

/// A note as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note<'a> {
    pub(crate) title: String,
    pub(crate) tags: Vec<String>,
    pub(crate) aliases: Vec<String>,
    /// The day it says it is of, since 1970.
    pub(crate) day: Option<i64>,
    /// The language it says it is in.
    pub(crate) language: Option<String>,
    /// The text behind the front matter.
    pub(crate) body: &'a str,
}

/// Reads a note. `path` gives the title of one that has none.
pub(crate) fn read<'a>(path: &str, text: &'a str) -> Note<'a> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (matter, body) = split(text);
    let matter = matter.map(parse).unwrap_or_default();
    let title = [matter.title, heading(body)]
        .into_iter()
        .flatten()
        .map(|it| cut(&one_line(&it)))
        .find(|it| !it.is_empty())
        .unwrap_or_else(|| file_title(path));
    Note {
        title,
        tags: matter.tags,
        aliases: matter.aliases,
        day: matter.date.as_deref().and_then(calendar::day),
        language: matter.language,
        body,
    }
}

/// The title that a file name stands for.
pub(crate) fn file_title(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let bare = name.len().checked_sub(ENDING.len());
    let bare = bare.and_then(|end| name.get(..end)).unwrap_or(name);
    cut(&one_line(bare))
}

fn cut(title: &str) -> String {
    title.chars().take(LONGEST_TITLE).collect()
}

/// Front matter, if there is any, and the rest.
fn split(text: &str) -> (Option<&str>, &str) {
    let whole = (None, text);
    let Some(first) = text.strip_prefix("---") else {
        return whole;
    };
    let Some(begin) = first
        .find('\n')
        .filter(|end| first[..*end].trim().is_empty())
    else {
        return whole;
    };
    let matter = &first[begin + 1..];
    let mut end = 0;
    for line in matter.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return (Some(&matter[..end]), &matter[end + line.len()..]);
        }
        end += line.len();
        if end > LONGEST {
            break;
        }
    }
    whole
}

/// The first heading of the first level, outside of code.
fn heading(body: &str) -> Option<String> {
    let mut fence = None;
    for line in body.lines() {
        let trimmed = line.trim_start();
        let marker = trimmed.get(..3).filter(|it| matches!(*it, "```" | "~~~"));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            (None, None) => {
                if let Some(title) = trimmed.strip_prefix("# ") {
                    return Some(title.trim_end_matches('#').to_owned());
                }
            }
            _ => {}
        }
    }
    None
}

#[derive(Debug, Default)]
struct Matter {
    title: Option<String>,
    date: Option<String>,
    language: Option<String>,
    tags: Vec<String>,
    aliases: Vec<String>,
}

/// What is known of front matter, up to its first mistake.
fn parse(text: &str) -> Matter {
    let mut matter = Matter::default();
    let mut depth = 0_usize;
    let mut key: Option<String> = None;
    for event in Parser::new_from_str(text) {
        let Ok((event, _)) = event else { break };
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                if depth <= 1 {
                    key = None;
                }
            }
            Event::Scalar(value, ..) if depth == 1 => match key.take() {
                None => key = Some(value.to_lowercase()),
                Some(key) => matter.put(&key, &value),
            },
            Event::Scalar(value, ..) if depth == 2 => {
                if let Some(key) = &key {
                    matter.put_item(key, &value);
                }
            }
            Event::Alias(_) if depth == 1 => key = None,
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    matter
}

impl Matter {
    fn put(&mut self, key: &str, value: &str) {
        let text = || Some(value.to_owned());
        match key {
            "title" => self.title = text(),
            "date" | "created" if self.date.is_none() => self.date = text(),
            "lang" | "language" => self.language = text(),
            // A list may be written in one line.
            "tags" | "tag" | "aliases" | "alias" => {
                let separators: &[char] = if key.starts_with("tag") {
                    &[',', ' ', '\t']
                } else {
                    &[',']
                };
                for item in value.split(separators) {
                    self.put_item(key, item);
                }
            }
            _ => {}
        }
    }

    fn put_item(&mut self, key: &str, value: &str) {
        let list = match key {
            "tags" | "tag" => &mut self.tags,
            "aliases" | "alias" => &mut self.aliases,
            _ => return,
        };
        let value = one_line(value.trim_start_matches('#'));
        if !value.is_empty() && list.len() < MOST_VALUES {
            list.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, title: &str, tags: &[&str], body: &str) {
        let note = read("sub/File Name.md", text);
        assert_eq!((note.title.as_str(), note.body), (title, body), "{text}");
        assert_eq!(note.tags, tags, "{text}");
    }

    #[test]
    fn titles_and_tags_are_found() {
        check("text", "File Name", &[], "text");
        check("# One\ntext", "One", &[], "# One\ntext");
        check("---\ntitle: Two\n---\n# One\n", "Two", &[], "# One\n");
        check("\u{feff}---\r\ntitle: Two\r\n---\r\nx", "Two", &[], "x");
        check(
            "```\n# code\n```\n# Real #\n",
            "Real",
            &[],
            "```\n# code\n```\n# Real #\n",
        );
        check("---\ntags: [a, b c]\n---\n", "File Name", &["a", "b c"], "");
        check(
            "---\ntags:\n  - a\n  - '#b'\n---\n",
            "File Name",
            &["a", "b"],
            "",
        );
        check("---\ntags: a, b #c\ntitle: T\n---\n", "T", &["a", "b"], "");
        check(
            "---\nnested: {title: no}\ntitle: yes\n---\n",
            "yes",
            &[],
            "",
        );
        check("---\nlist: [title, no]\ntitle: yes\n---\n", "yes", &[], "");
        check("---\nnot closed", "File Name", &[], "---\nnot closed");
        check("--- text\n---\n", "File Name", &[], "--- text\n---\n");
        check("---\ntitle: \"\\e[31m\\nred\"\n---\n", "[31m red", &[], "");
    }

    #[test]
    fn broken_front_matter_spoils_itself_only() {
        check(
            "---\ntitle: kept\ntags: [a\nb: : }\n---\n# H\n",
            "kept",
            &[],
            "# H\n",
        );
        check("---\n: : {[\n---\n# H\n", "H", &[], "# H\n");
        let deep = format!("---\na: {}\ntitle: x\n---\nbody", "[".repeat(20_000));
        assert_eq!(read("a.md", &deep).body, "body");
        let long = format!("---\n{}---\n", "a: b\n".repeat(20_000));
        assert_eq!(read("a.md", &long).body.len(), long.len());
    }

    #[test]
    fn dates_and_languages_are_read() {
        let note = read(
            "a.md",
            "---\ndate: 2024-12-01 10:00\nlang: de\naliases: x, y\n---\n",
        );
        assert_eq!(note.day, Some(20_058));
        assert_eq!(note.language.as_deref(), Some("de"));
        assert_eq!(note.aliases, ["x", "y"]);
        assert_eq!(read("a.md", "---\ndate: soon\n---\n").day, None);
    }
}
