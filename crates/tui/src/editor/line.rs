//! The line of a field: its name, its value and what it may be.

use attache_view::form::{Field, Kind, Step};
use ratatui::text::{Line as Text, Span};

use super::draw::Columns;
use super::rows::{Line, Row};
use super::{FormEditor, Mode, words};
use crate::measure::{fit, padded, width};
use crate::theme::{Role, Theme};

/// How many characters of a name are looked at.
const MOST_LABEL: usize = 200;

/// A name, as far as a line can be.
pub(super) fn label(row: &Row, field: &Field) -> String {
    let name: String = field.display_name().chars().take(MOST_LABEL).collect();
    match field.path.0.last() {
        _ if matches!(row.id.line, Line::Field(level) if level > 0) => "value".to_owned(),
        None if name.is_empty() => "value".to_owned(),
        None => name,
        Some(Step::Index(at)) if field.title.is_some() => format!("{}. {name}", at + 1),
        Some(Step::Index(at)) => format!("{}.", at + 1),
        Some(_) if name.is_empty() => "\"\"".to_owned(),
        Some(_) => name,
    }
}

/// The line of a row: its label and its value.
pub(super) fn row_line<'l>(
    editor: &FormEditor,
    row: &Row,
    is_selected: bool,
    columns: &Columns,
    theme: &Theme,
) -> Text<'l> {
    let glyphs = theme.glyphs();
    let total = usize::from(columns.area.width);
    let cursor = if is_selected { glyphs.cursor } else { "  " };
    let mark = match row.is_open {
        Some(true) => glyphs.open,
        Some(false) => glyphs.closed,
        None => " ",
    };
    let indent = " ".repeat(row.depth * 2);
    let lead = format!("{cursor}{indent}{mark} ");
    let whole = |text: String, role: Role| {
        let text = fit(&format!("{lead}{text}"), total, glyphs.ellipsis).into_owned();
        let role = if is_selected { Role::Selected } else { role };
        Text::styled(text, theme.style(role))
    };
    match row.id.line {
        Line::AddItem => return whole("+ add an item".to_owned(), Role::Accent),
        Line::AddMember if is_selected && matches!(editor.mode, Mode::Name(_)) => {
            let name = padded(&format!("{lead}+ name:"), columns.labels, glyphs.ellipsis);
            return Text::styled(name, theme.style(Role::Selected));
        }
        Line::AddMember => return whole("+ add a member".to_owned(), Role::Accent),
        Line::OptionsHead => {
            return whole(
                "call options: time-out, task, metadata".to_owned(),
                Role::Secondary,
            );
        }
        Line::Submit => return submit_line(editor, is_selected, theme),
        Line::Field(_) => {}
    }
    let Some(field) = editor.row_field(row) else {
        return Text::default();
    };
    let star = if field.required && !is_item(field) {
        "*"
    } else {
        ""
    };
    let room = columns.labels.saturating_sub(width(star) + 1);
    let name = fit(
        &format!("{lead}{}", label(row, field)),
        room,
        glyphs.ellipsis,
    )
    .into_owned();
    let filling = columns.labels.saturating_sub(width(&name) + width(star));
    let style = match is_selected {
        true => theme.style(Role::Selected),
        false if field.deprecated || field.undescribed => theme.style(Role::Secondary),
        false => theme.style(Role::Name),
    };
    let mut line = Text::from(vec![Span::styled(name, style)]);
    line.push_span(Span::styled(
        star,
        if is_selected {
            style
        } else {
            theme.style(Role::Warning)
        },
    ));
    line.push_span(Span::styled(" ".repeat(filling.saturating_sub(1)), style));
    line.push_span(" ");
    let is_typed = is_selected && matches!(editor.mode, Mode::Field(_));
    if !is_typed {
        push_value(
            editor,
            row,
            field,
            total.saturating_sub(columns.labels),
            &mut line,
            theme,
        );
    }
    line
}

fn is_item(field: &Field) -> bool {
    matches!(field.path.0.last(), Some(Step::Index(_)))
}

fn push_value(
    editor: &FormEditor,
    row: &Row,
    field: &Field,
    room: usize,
    line: &mut Text<'_>,
    theme: &Theme,
) {
    let glyphs = theme.glyphs();
    let sheet = editor.sheet(row.id.part);
    let value = sheet.state().get(&field.path);
    let draft = sheet.state().draft(&field.path);
    let (text, role) = match (&field.kind, value) {
        (
            Kind::Variants {
                options, chosen, ..
            },
            value,
        ) => {
            let title = chosen.and_then(|chosen| options.get(chosen));
            let title = title.map_or("choose a shape", |option| option.title.as_str());
            match value {
                Some(attache_view::Value::Null) if field.nullable => {
                    ("null".to_owned(), Role::Number)
                }
                None => (format!("{title} {}", glyphs.open), Role::Placeholder),
                Some(_) => (format!("{title} {}", glyphs.open), Role::Text),
            }
        }
        (Kind::Choice { .. } | Kind::MultiChoice { .. }, value) => {
            let (text, role) = words::value(field, value, draft, glyphs);
            (format!("{text} {}", glyphs.open), role)
        }
        (_, value) => words::value(field, value, draft, glyphs),
    };
    let marks = words::marks(field).join(", ");
    let marks = if marks.is_empty() {
        marks
    } else {
        format!("  {marks}")
    };
    let inside = sheet.problems_below(&field.path);
    let closed = row.is_open == Some(false) && inside > 0;
    let inside = match closed {
        true => format!(
            "  {} {} inside",
            glyphs.failed,
            words::count(inside, "problem")
        ),
        false => String::new(),
    };
    let aside = width(&marks) + width(&inside);
    let text = fit(
        &text,
        room.saturating_sub(aside).max(room.min(8)),
        glyphs.ellipsis,
    );
    line.push_span(Span::styled(text.into_owned(), theme.style(role)));
    line.push_span(Span::styled(inside, theme.style(Role::Bad)));
    line.push_span(Span::styled(marks, theme.style(Role::Warning)));
}

fn submit_line<'l>(editor: &FormEditor, is_selected: bool, theme: &Theme) -> Text<'l> {
    let verb = match editor.settings.verb {
        "" => "send",
        verb => verb,
    };
    let cursor = if is_selected {
        theme.glyphs().cursor
    } else {
        "  "
    };
    let role = if is_selected {
        Role::Selected
    } else {
        Role::Accent
    };
    let mut line = Text::from(vec![
        Span::raw(cursor),
        Span::styled(format!("[ {verb} ]"), theme.style(role)),
    ]);
    let drafts = editor.value.state().drafts().count();
    let problems = editor.value.report().problems.len();
    let unchecked = !editor.value.report().unchecked.is_empty();
    let words = match problems {
        0 if unchecked => ("the server checks the rest".to_owned(), Role::Secondary),
        0 => return line,
        _ if drafts > 0 => (words::count(problems, "problem"), Role::Bad),
        _ => (
            format!("{} left", words::count(problems, "problem")),
            Role::Secondary,
        ),
    };
    line.push_span(Span::styled(format!("  {}", words.0), theme.style(words.1)));
    line
}
