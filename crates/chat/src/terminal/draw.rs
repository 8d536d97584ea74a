//! A block of Markdown as lines for a terminal.

use attache_view::document::{Inline, ListItem, Markdown, MarkdownBlock};
use attache_view::safe_text;
use unicode_width::UnicodeWidthStr as _;

pub(super) const BOLD: &str = "\x1b[1m";
pub(super) const FAINT: &str = "\x1b[2m";
pub(super) const YELLOW: &str = "\x1b[33m";
pub(super) const CYAN: &str = "\x1b[36m";
pub(super) const PLAIN: &str = "\x1b[0m";
const ITALIC: &str = "\x1b[3m";
const UNDERLINE: &str = "\x1b[4m";
const STRUCK: &str = "\x1b[9m";

/// A text of Markdown, drawn; its own end of line is the last character.
pub(super) fn markdown(text: &str, columns: usize) -> String {
    let Some(markdown) = Markdown::parse(text) else {
        return safe_text::block(text).into_owned();
    };
    let mut drawn = String::new();
    for (at, part) in markdown.parts.iter().enumerate() {
        if at > 0 {
            drawn.push('\n');
        }
        block(part, "", columns, &mut drawn);
    }
    drawn
}

fn block(part: &MarkdownBlock, indent: &str, columns: usize, drawn: &mut String) {
    match part {
        MarkdownBlock::Heading { level, words } => {
            let marks = "#".repeat(usize::from(*level));
            let text = format!("{BOLD}{marks} {}{PLAIN}", inlines(words));
            lines(&text, indent, drawn);
        }
        MarkdownBlock::Paragraph { words } => lines(&inlines(words), indent, drawn),
        MarkdownBlock::Code { text, .. } => {
            for line in text.trim_end_matches('\n').split('\n') {
                drawn.push_str(&format!("{indent}  {CYAN}{line}{PLAIN}\n"));
            }
        }
        MarkdownBlock::Quote { parts } => {
            let indent = format!("{indent}{FAINT}│{PLAIN} ");
            for part in parts {
                block(part, &indent, columns, drawn);
            }
        }
        MarkdownBlock::List { start, items } => {
            for (at, item) in items.iter().enumerate() {
                let mark = match start {
                    Some(start) => format!("{}.", start.saturating_add(at as u64)),
                    None => "•".to_owned(),
                };
                list_item(item, &mark, indent, columns, drawn);
            }
        }
        MarkdownBlock::Table { rows, .. } => table(rows, indent, drawn),
        MarkdownBlock::Rule => {
            let rule = "─".repeat(columns.saturating_sub(indent.width()).min(40));
            drawn.push_str(&format!("{indent}{FAINT}{rule}{PLAIN}\n"));
        }
    }
}

fn list_item(item: &ListItem, mark: &str, indent: &str, columns: usize, drawn: &mut String) {
    let done = match item.done {
        Some(true) => "[x] ",
        Some(false) => "[ ] ",
        None => "",
    };
    let below = format!("{indent}{}", " ".repeat(mark.width() + 1));
    let mut text = String::new();
    for part in &item.parts {
        block(part, &below, columns, &mut text);
    }
    let text = text.strip_prefix(&below).unwrap_or(&text);
    drawn.push_str(&format!("{indent}{mark} {done}{text}"));
    if !drawn.ends_with('\n') {
        drawn.push('\n');
    }
}

fn table(rows: &[Vec<Vec<Inline>>], indent: &str, drawn: &mut String) {
    let cells: Vec<Vec<(String, usize)>> = rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| (inlines(cell), plain(cell).width()))
                .collect()
        })
        .collect();
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |column: usize| {
        let in_column = cells.iter().filter_map(|row| row.get(column));
        in_column.map(|(_, width)| *width).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width_of).collect();
    for (at, row) in cells.iter().enumerate() {
        drawn.push_str(indent);
        for ((text, width), wide) in row.iter().zip(&widths) {
            let blank = " ".repeat(wide - width + 2);
            match at {
                0 => drawn.push_str(&format!("{BOLD}{text}{PLAIN}{blank}")),
                _ => drawn.push_str(&format!("{text}{blank}")),
            }
        }
        drawn.push('\n');
    }
}

fn lines(text: &str, indent: &str, drawn: &mut String) {
    for line in text.split('\n') {
        drawn.push_str(indent);
        drawn.push_str(line);
        drawn.push('\n');
    }
}

fn inlines(words: &[Inline]) -> String {
    words.iter().map(inline).collect()
}

fn inline(word: &Inline) -> String {
    let styled = |style: &str, words: &[Inline]| format!("{style}{}{PLAIN}", inlines(words));
    match word {
        Inline::Text { text } => text.clone(),
        Inline::Code { text } => format!("{CYAN}{text}{PLAIN}"),
        Inline::Emphasis { words } => styled(ITALIC, words),
        Inline::Strong { words } => styled(BOLD, words),
        Inline::Strikethrough { words } => styled(STRUCK, words),
        Inline::Link { url, words, .. } => {
            let text = plain(words);
            match text == *url || text.is_empty() {
                true => format!("{UNDERLINE}{url}{PLAIN}"),
                // Where it leads is always to be seen.
                false => format!("{UNDERLINE}{text}{PLAIN} {FAINT}({url}){PLAIN}"),
            }
        }
        Inline::Break => "\n".to_owned(),
    }
}

fn plain(words: &[Inline]) -> String {
    let text = |word: &Inline| match word {
        Inline::Text { text } | Inline::Code { text } => text.clone(),
        Inline::Emphasis { words }
        | Inline::Strong { words }
        | Inline::Strikethrough { words }
        | Inline::Link { words, .. } => plain(words),
        Inline::Break => " ".to_owned(),
    };
    words.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the colours.
    fn drawn(text: &str) -> String {
        let drawn = markdown(text, 80);
        let mut plain = String::new();
        let mut rest = drawn.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        plain + rest
    }

    #[test]
    fn blocks_are_drawn() {
        for (text, expected) in [
            ("# Tea\n", "# Tea\n"),
            ("a *b* **c** `d`", "a b c d\n"),
            ("```rust\nlet x;\n```", "  let x;\n"),
            ("- a\n- b", "• a\n• b\n"),
            ("3. a\n4. b", "3. a\n4. b\n"),
            ("> q", "│ q\n"),
            ("[x](https://a.example)", "x (https://a.example)\n"),
            ("|a|bb|\n|-|-|\n|ccc|d|", "a    bb  \nccc  d   \n"),
        ] {
            assert_eq!(drawn(text), expected, "{text}");
        }
    }

    #[test]
    fn s13_a_model_cannot_command_the_terminal() {
        for text in [
            "a\u{1b}]0;owned\u{7}b",
            "`\u{1b}[2J`",
            "```\n\u{9b}2J\n```",
            "[x](\u{1b}[1A)",
        ] {
            let drawn = markdown(text, 80);
            assert!(
                !drawn.contains("\u{1b}]") && !drawn.contains("\u{1b}[2J"),
                "{drawn:?}"
            );
            assert!(
                !drawn.contains(['\u{9b}', '\u{7}']) && !drawn.contains("[1A\u{1b}"),
                "{drawn:?}"
            );
        }
    }
}
