//! What stands below a form: what is known of the selected field, and the JSON view.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line as Text;

use super::draw::{Columns, shown_problems, without_subject};
use super::rows::{Line, Part};
use super::{FormEditor, Mode, words};
use crate::measure::{width, wrapped};
use crate::theme::{Role, Theme};

/// How many characters of a description are shown.
const MOST_DESCRIPTION: usize = 2_000;

/// What is known of the selected field, the most important first.
pub(super) fn details<'l>(editor: &FormEditor, columns: usize, theme: &Theme) -> Vec<Text<'l>> {
    let glyphs = theme.glyphs();
    let total = u16::try_from(columns).unwrap_or(u16::MAX);
    let mut lines = vec![Text::styled(
        glyphs.rule.repeat(columns),
        theme.style(Role::Border),
    )];
    let mut add = |text: &str, role: Role| {
        for line in wrapped(text, columns) {
            lines.push(Text::styled(line, theme.style(role)));
        }
    };
    if let Some(note) = &editor.note {
        add(note, Role::Warning);
    }
    let Some((row, field)) = editor.row().zip(editor.field()) else {
        return lines;
    };
    match row.id.line {
        Line::Field(_) => {}
        Line::AddItem | Line::AddMember => {
            let sheet = editor.sheet(row.id.part);
            add(&words::rules(sheet.form(), field), Role::Secondary);
            return lines;
        }
        Line::OptionsHead => {
            add(
                "What is said about this call beside its arguments.",
                Role::Secondary,
            );
            return lines;
        }
        Line::Submit => {
            let problems = editor.sheet(Part::Value).report().problems.iter();
            for problem in problems.take(8) {
                add(&problem.message, Role::Bad);
            }
            for left in &editor.value.report().unchecked {
                add(&format!("left to the server: {left}"), Role::Secondary);
            }
            return lines;
        }
    }
    if let Mode::Field(input) = &editor.mode
        && input.is_coded()
    {
        add(
            "It holds characters that cannot be shown, so it is typed as JSON writes it.",
            Role::Warning,
        );
    }
    // A problem that does not fit below its field is told here in full.
    let room = columns.saturating_sub(Columns::of(editor, Rect::new(0, 0, total, 1)).labels + 2);
    for problem in shown_problems(editor, row) {
        if width(without_subject(&problem)) > room {
            add(&problem.message, Role::Bad);
        }
    }
    if let Some(description) = &field.description {
        let start: String = description.chars().take(MOST_DESCRIPTION).collect();
        add(&start, Role::Text);
    }
    let sheet = editor.sheet(row.id.part);
    let named = match field.key() {
        Some(_) if field.title.is_some() => format!("{}: ", field.name),
        _ => String::new(),
    };
    add(
        &format!("{named}{}", words::rules(sheet.form(), field)),
        Role::Secondary,
    );
    if let Some(default) = field.default.as_ref().filter(|_| !field.is_masked()) {
        add(
            &format!("default: {}", words::json_line(default)),
            Role::Secondary,
        );
    }
    if !field.examples.is_empty() && !field.is_masked() {
        let examples: Vec<String> = field
            .examples
            .iter()
            .take(8)
            .map(words::json_line)
            .collect();
        add(
            &format!("examples: {}", examples.join(", ")),
            Role::Secondary,
        );
    }
    lines
}

pub(super) fn draw_json(editor: &mut FormEditor, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let note = editor.note.clone();
    let problems = editor.value.report().problems.clone();
    let Mode::Json(json) = &mut editor.mode else {
        return;
    };
    let (line, column) = json.input.cursor();
    let mut lines = Vec::new();
    let mut add = |text: String, role: Role| {
        for line in wrapped(&text, usize::from(area.width)) {
            lines.push(Text::styled(line, theme.style(role)));
        }
    };
    if let Some(note) = note {
        add(note, Role::Warning);
    }
    match (&json.problem, problems.first()) {
        (Some(problem), _) => add(format!("not JSON: {problem}"), Role::Bad),
        (None, Some(problem)) => {
            let more = match problems.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            add(format!("{}{more}", problem.message), Role::Bad);
        }
        (None, None) => add("It fits.".to_owned(), Role::Good),
    }
    add(
        format!("line {}, column {}", line + 1, column + 1),
        Role::Secondary,
    );
    let room = match area.height {
        0..=2 => 0,
        height => u16::try_from(lines.len())
            .unwrap_or(u16::MAX)
            .min(height / 3 + 1),
    };
    let text = Rect {
        height: area.height - room,
        ..area
    };
    frame.render_widget(json.input.widget(theme.style(Role::Text)), text);
    for (line, y) in lines.into_iter().zip(text.bottom()..area.bottom()) {
        frame.render_widget(
            line,
            Rect {
                y,
                height: 1,
                ..area
            },
        );
    }
}
