//! One tool in full: what it does, what it takes, what it gives, and a command that calls it.
//!
//! Made of the form model, so that what is shown here is what is checked. Everything in it is a
//! server's word.

use attache::protocol::{Json, Tool, ToolAnnotations};
use attache_view::Value;
use attache_view::form::{Field, Form, Kind, Picks, Range};
use serde::Serialize;

use super::listing;
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::output::text::width;
use crate::output::{Format, Output, Style, Text, json};

/// Names longer than this break their column.
const WIDEST_NAME: usize = 24;
/// How many values of a choice are spelled out.
const MOST_CHOICES: usize = 24;
/// How deep fields inside fields are shown, and how many in all.
const DEEPEST: usize = 3;
const MOST_FIELDS: usize = 200;

#[derive(Serialize)]
struct Document {
    tool: Json,
}

pub(super) async fn run(
    given: &str,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    let (server, tool) = listing::find::<Tool>(given, "tool", session, output).await?;
    match output.format {
        Format::Json => output.document(&json::write(&Document {
            tool: json::with_server(
                &Json::from_serialize(&tool).unwrap_or_default(),
                server.as_str(),
            ),
        })),
        Format::Human => output.text(&show(&tool, server.as_str())),
    }
}

fn show(tool: &Tool, server: &str) -> Text {
    let mut text = Text::new();
    text.add(Style::Name, &tool.name)
        .faint(" of ")
        .faint(server);
    if tool.display_name() != tool.name {
        text.plain("  ").hang().plain(tool.display_name());
    }
    text.end_line();
    if let Some(description) = &tool.description {
        text.end_line();
        paragraphs(description, "", &mut text);
    }
    let schema = Json::parse(&tool.schema()).unwrap_or_default();
    let form = Form::new(&schema);
    let field = form.field(None, &Picks::default());
    heading("Arguments", &mut text);
    fields(&form, &field, Direction::Taken, &mut text);
    if let Some(schema) = &tool.output_schema {
        let form = Form::new(schema);
        let field = form.field(None, &Picks::default());
        heading("Structured result", &mut text);
        fields(&form, &field, Direction::Given, &mut text);
    }
    let claims = tool.annotations.as_ref().map(claims).unwrap_or_default();
    if !claims.is_empty() {
        heading("Its server claims that it", &mut text);
        for claim in claims {
            text.plain("  ").plain(claim).end_line();
        }
    }
    heading("Example", &mut text);
    let mut words = vec![
        "attache call".to_owned(),
        quoted(&format!("{server}/{}", tool.name)),
    ];
    example(&form, &field, &mut words);
    text.plain("  ").command(&words.join(" ")).end_line();
    text
}

fn heading(words: &str, text: &mut Text) {
    text.end_line().add(Style::Name, words).end_line();
}

/// Text of several paragraphs, whose lines fold anew. Lines that are indented or begin a list stay
/// lines.
fn paragraphs(words: &str, indent: &str, text: &mut Text) {
    let mut open = String::new();
    let close = |open: &mut String, text: &mut Text| {
        if !open.is_empty() {
            text.plain(indent).plain(open).end_line();
            open.clear();
        }
    };
    for line in words.trim().lines() {
        let bare = line.trim();
        let stands_alone = line.starts_with([' ', '\t', '-', '*', '#', '|'])
            || bare.chars().next().is_some_and(|it| it.is_ascii_digit());
        if bare.is_empty() || stands_alone {
            close(&mut open, text);
        }
        if bare.is_empty() {
            text.end_line();
        } else if stands_alone {
            text.plain(indent).plain(line.trim_end()).end_line();
        } else {
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(bare);
        }
    }
    close(&mut open, text);
}

/// Whether fields are what a tool takes or what it gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Taken,
    Given,
}

/// The fields of an object, or the one thing that is not an object.
fn fields(form: &Form, root: &Field, direction: Direction, text: &mut Text) {
    let mut rows = Vec::new();
    for field in root.children() {
        collect(field, 1, &mut rows);
    }
    if rows.is_empty() {
        match &root.kind {
            Kind::Object(members) if members.fields.is_empty() => {
                text.plain("  ")
                    .faint(match direction {
                        Direction::Taken => "it takes none",
                        Direction::Given => "an object that it does not describe",
                    })
                    .end_line();
            }
            _ => {
                text.plain("  ").plain(&describe(form, root)).end_line();
            }
        }
        return;
    }
    let names: Vec<String> = rows.iter().map(|field| field.path.to_string()).collect();
    let column = width(names.iter().map(String::as_str), WIDEST_NAME);
    let indent = " ".repeat(column + 4);
    for (field, name) in rows.iter().zip(&names).take(MOST_FIELDS) {
        text.plain("  ")
            .column(Style::Name, name, column)
            .plain("  ")
            .hang()
            .plain(&match &field.kind {
                // What is inside follows.
                Kind::Object(members) if !members.fields.is_empty() => "object".to_owned(),
                _ => describe(form, field),
            });
        if field.required && direction == Direction::Taken {
            text.add(Style::Warning, ", required");
        }
        for (is_so, word) in [
            (field.nullable, ", or null"),
            (field.read_only, ", set by the server"),
            (field.deprecated, ", deprecated"),
        ] {
            if is_so {
                text.plain(word);
            }
        }
        if let Some(default) = &field.default {
            text.faint(&format!(", default {}", shortened(&default.plain())));
        }
        text.end_line();
        let title = field
            .title
            .as_deref()
            .filter(|it| !is_same_word(it, &field.name));
        let words = field.description.as_deref().or(title);
        if let Some(words) = words {
            let words: Vec<&str> = words.split_whitespace().collect();
            text.plain(&indent).faint(&words.join(" ")).end_line();
        }
    }
    if rows.len() > MOST_FIELDS {
        let more = format!("  and {} more; --json has all", rows.len() - MOST_FIELDS);
        text.faint(&more).end_line();
    }
}

/// Whether a title says no more than the name.
fn is_same_word(title: &str, name: &str) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|it| it.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    letters(title) == letters(name)
}

fn collect<'f>(field: &'f Field, depth: usize, rows: &mut Vec<&'f Field>) {
    rows.push(field);
    if depth < DEEPEST {
        for inner in field.children() {
            // A variant is the field itself, in one of its shapes.
            match inner.path == field.path {
                true => inner
                    .children()
                    .into_iter()
                    .for_each(|it| collect(it, depth + 1, rows)),
                false => collect(inner, depth + 1, rows),
            }
        }
    }
}

/// What kind of value a field takes.
fn describe(form: &Form, field: &Field) -> String {
    match &field.kind {
        Kind::Text {
            format,
            length,
            patterns,
            ..
        } => {
            let mut words = match format {
                Some(format) => format!("text ({format})"),
                None => "text".to_owned(),
            };
            if let Some(range) = range(length, "character") {
                words.push_str(&format!(", {range}"));
            }
            for pattern in patterns {
                words.push_str(&format!(", matching {}", shortened(pattern)));
            }
            words
        }
        Kind::Number {
            whole,
            minimum,
            maximum,
            above,
            below,
            step,
        } => {
            let mut words = match whole {
                true => "whole number".to_owned(),
                false => "number".to_owned(),
            };
            match (minimum, maximum) {
                (Some(least), Some(most)) => {
                    words.push_str(&format!(", {} to {}", least.as_str(), most.as_str()));
                }
                (Some(least), None) => words.push_str(&format!(", at least {}", least.as_str())),
                (None, Some(most)) => words.push_str(&format!(", at most {}", most.as_str())),
                (None, None) => {}
            }
            for (word, bound) in [("above", above), ("below", below), ("a multiple of", step)] {
                if let Some(bound) = bound {
                    words.push_str(&format!(", {word} {}", bound.as_str()));
                }
            }
            words
        }
        Kind::Boolean => "true or false".to_owned(),
        Kind::Choice { options } => match options.as_slice() {
            [only] => format!("always {}", only.label),
            _ => format!("one of {}", choices(options)),
        },
        Kind::MultiChoice { options, count, .. } => {
            let count = range(count, "value").map(|range| format!(", {range}"));
            format!("any of {}{}", choices(options), count.unwrap_or_default())
        }
        Kind::List {
            first,
            rest,
            count,
            unique,
            ..
        } => {
            let mut words = match first.first().or(rest.as_ref()) {
                Some(place) => {
                    let item = form.expand(place, &field.path.index(0), None, &Picks::default());
                    format!("list of: {}", describe(form, &item))
                }
                None => "list".to_owned(),
            };
            if let Some(range) = range(count, "item") {
                words.push_str(&format!("; {range}"));
            }
            if *unique {
                words.push_str(", none twice");
            }
            words
        }
        Kind::Object(members) => {
            let names: Vec<&str> = members.fields.iter().map(|it| it.name.as_str()).collect();
            match names.is_empty() {
                true => "object".to_owned(),
                false => format!("object with {}", names.join(", ")),
            }
        }
        Kind::Variants { options, .. } => {
            let titles: Vec<&str> = options.iter().map(|it| it.title.as_str()).collect();
            format!("one of these: {}", titles.join("; "))
        }
        Kind::Json { .. } => "any JSON".to_owned(),
        Kind::Deferred => "an object like the one it is in".to_owned(),
    }
}

fn choices(options: &[attache_view::form::Choice]) -> String {
    let labels = options.iter().take(MOST_CHOICES);
    let labels: Vec<&str> = labels.map(|option| option.label.as_str()).collect();
    let mut words = labels.join(", ");
    if options.len() > MOST_CHOICES {
        words.push_str(&format!(" and {} more", options.len() - MOST_CHOICES));
    }
    words
}

fn range(range: &Range, what: &str) -> Option<String> {
    match (range.min.filter(|least| *least > 0), range.max) {
        (Some(least), Some(most)) if least == most => Some(format!("{least} {what}s")),
        (Some(least), Some(most)) => Some(format!("{least} to {most} {what}s")),
        (Some(1), None) => Some(format!("at least 1 {what}")),
        (Some(least), None) => Some(format!("at least {least} {what}s")),
        (None, Some(most)) => Some(format!("at most {most} {what}s")),
        (None, None) => None,
    }
}

fn claims(annotations: &ToolAnnotations) -> Vec<&'static str> {
    let claims = [
        (
            annotations.read_only,
            "changes nothing",
            "changes something",
        ),
        (
            annotations.destructive,
            "may destroy something",
            "destroys nothing",
        ),
        (
            annotations.idempotent,
            "can be repeated without further effect",
            "has an effect each time it is called",
        ),
        (
            annotations.open_world,
            "reaches beyond its own data",
            "stays within its own data",
        ),
    ];
    let claims = claims.into_iter();
    claims
        .filter_map(|(claim, yes, no)| Some(if claim? { yes } else { no }))
        .collect()
}

/// Words that give each required argument a value, and if there is none the first optional one that
/// the server itself has a value for.
fn example(form: &Form, root: &Field, words: &mut Vec<String>) {
    let before = words.len();
    for field in root.children().into_iter().filter(|it| it.required) {
        required(form, field, words);
    }
    if words.len() == before {
        let optional = root.children().into_iter();
        let mut known = optional.filter_map(|it| Some((it, said_value(it)?)));
        if let Some((field, value)) = known.next() {
            words.push(word(field, &value));
        }
    }
}

fn required(form: &Form, field: &Field, words: &mut Vec<String>) {
    if let Kind::Object(members) = &field.kind
        && said_value(field).is_none()
        && members.fields.iter().any(|it| it.required)
    {
        for inner in members.fields.iter().filter(|it| it.required) {
            required(form, inner, words);
        }
        return;
    }
    words.push(match said_value(field) {
        Some(value) => word(field, &value),
        None => quoted(&format!("{}={}", field.path, placeholder(form, field))),
    });
}

/// A value that the schema has for a field.
fn said_value(field: &Field) -> Option<Value> {
    let said = field.examples.first().or(field.default.as_ref());
    let said = said.filter(|value| **value != Value::Null).cloned();
    said.or_else(|| match &field.kind {
        Kind::Choice { options } => options.first().map(|option| option.value.clone()),
        _ => None,
    })
    .or_else(|| {
        let description = field.description.as_deref()?;
        match field.kind {
            Kind::Text { .. } => quoted_in(description).map(Value::String),
            _ => None,
        }
    })
}

/// The first text that a description quotes after it says that an example follows.
fn quoted_in(description: &str) -> Option<String> {
    let starts = ["e.g.", "xample", "such as", "like"];
    let at = starts.iter().filter_map(|word| description.find(word));
    let rest = &description[at.min()?..];
    let (at, quote) = rest
        .char_indices()
        .find(|(_, it)| matches!(it, '\'' | '"' | '`'))?;
    let (value, _) = rest[at + 1..].split_once(quote)?;
    let is_short = (1..=60).contains(&value.len());
    is_short.then(|| value.to_owned())
}

/// A field with a value as it is typed.
fn word(field: &Field, value: &Value) -> String {
    let key = &field.path;
    quoted(&match value {
        Value::Array(_) | Value::Object(_) => format!("{key}:={value}"),
        // Text that could be read as something else is no text any more.
        _ => format!("{key}={}", value.plain()),
    })
}

/// What stands for a value where the schema has none.
fn placeholder(form: &Form, field: &Field) -> String {
    placeholder_of(form, field, &field.name.to_uppercase())
}

/// The same for a field that is known by another's name.
fn placeholder_of(form: &Form, field: &Field, name: &str) -> String {
    match &field.kind {
        Kind::Text { format, .. } => match format.as_deref() {
            Some("date") => "2026-01-31".to_owned(),
            Some("time") => "12:00:00Z".to_owned(),
            Some("date-time") => "2026-01-31T12:00:00Z".to_owned(),
            Some("email") => "ada@example.org".to_owned(),
            Some("uri" | "url") => "https://example.org".to_owned(),
            _ => name.to_owned(),
        },
        Kind::Number { minimum, .. } => {
            let least = minimum.as_ref().map(attache_view::Number::as_str);
            least.unwrap_or("1").to_owned()
        }
        Kind::Boolean => "true".to_owned(),
        Kind::MultiChoice { options, .. } => {
            let first = options.first().map(|option| option.label.clone());
            first.unwrap_or_default()
        }
        Kind::List { first, rest, .. } => match first.first().or(rest.as_ref()) {
            Some(place) => {
                let item = form.expand(place, &field.path.index(0), None, &Picks::default());
                match item.kind {
                    Kind::Object(_) | Kind::List { .. } | Kind::Variants { .. } => "[]".to_owned(),
                    _ => placeholder_of(form, &item, name),
                }
            }
            None => "[]".to_owned(),
        },
        Kind::Object(_) => "{}".to_owned(),
        _ => name.to_owned(),
    }
}

/// A word for a shell: what a server writes must not run (S25).
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "_-./:@%+,=".contains(it);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Colour;

    fn tool(json: &str) -> Tool {
        serde_json::from_str(json).unwrap()
    }

    const MANY: &str = r#"{
        "name": "book", "title": "Book a table",
        "description": "Books a table.\nWaits for an answer.\n\n- asks first\n- pays later",
        "inputSchema": {"type": "object", "required": ["guests", "place", "when", "note"],
            "properties": {
                "guests": {"type": "integer", "minimum": 1, "maximum": 12, "description": "How many come"},
                "place": {"type": "object", "required": ["city"], "properties": {
                    "city": {"type": "string", "examples": ["Wien"]},
                    "area": {"enum": ["inside", "outside"], "default": "inside"}}},
                "when": {"type": "string", "format": "date"},
                "note": {"type": "string", "maxLength": 20, "description": "A wish, e.g. 'it's late; $(id)'"},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3}
            }},
        "outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
        "annotations": {"readOnlyHint": false, "destructiveHint": false}
    }"#;

    #[test]
    fn a_tool_in_full() {
        let text = show(&tool(MANY), "tables");
        insta::assert_snapshot!(text.render_within(Colour::Off, 80));
        insta::assert_snapshot!(text.render_within(Colour::Off, 40));
    }

    #[test]
    fn s25_what_a_server_writes_is_quoted_in_the_example() {
        let hostile = tool(
            r#"{"name": "x; rm -rf ~", "inputSchema": {"type": "object", "required": ["$(id)"],
                "properties": {"$(id)": {"type": "string", "default": "`id`'"}}}}"#,
        );
        let shown = show(&hostile, "mine").render(Colour::Off);
        let last = shown.lines().last().unwrap();
        assert_eq!(last, r"  attache call 'mine/x; rm -rf ~' '$(id)=`id`'\'''");
    }

    #[test]
    fn a_tool_without_a_word_about_itself() {
        let shown = show(&tool(r#"{"name": "now"}"#), "clock").render(Colour::Off);
        insta::assert_snapshot!(shown, @r"
        now of clock

        Arguments
          it takes none

        Example
          attache call clock/now
        ");
    }
}
