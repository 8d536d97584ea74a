//! How a dialog looks: what is asked above, how it is answered below.

use attache::host::questions::QuestionKind;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Answering, QuestionDialog, Typing, diff, said};
use crate::component::Component as _;
use crate::measure::{fit, width};
use crate::theme::{Role, Theme};

/// How wide a dialog is; one with two columns is wider.
const COLUMNS: u16 = 92;
const WIDE_COLUMNS: u16 = 150;
/// How many rows a form or a text has at least, if there is room.
const LEAST_ROWS: u16 = 12;

pub(super) fn size(dialog: &QuestionDialog, screen: Rect) -> (u16, u16) {
    let is_drift = matches!(dialog.question.kind, QuestionKind::Drift(_));
    let most = if is_drift { WIDE_COLUMNS } else { COLUMNS };
    let columns = screen.width.saturating_sub(4).min(most).max(1);
    let rows = u16::try_from(measured(dialog, usize::from(columns))).unwrap_or(u16::MAX);
    let below = match &dialog.answering {
        Answering::Choices { choices, .. } => u16::try_from(choices.len()).unwrap_or(u16::MAX),
        Answering::Form(_) => screen.height / 2,
        Answering::Words { .. } => LEAST_ROWS,
        Answering::Reason(..) => 2,
    };
    let rows = rows.saturating_add(below).saturating_add(2);
    (columns, rows.min(screen.height.saturating_sub(2)).max(1))
}

/// How many rows the text has in so many columns. It is asked for each frame and may be long.
fn measured(dialog: &QuestionDialog, columns: usize) -> usize {
    match dialog.measured.get() {
        Some((made_for, json_as, rows)) if (made_for, json_as) == (columns, dialog.json_as) => rows,
        _ => {
            let theme = Theme::new(Default::default(), true);
            let rows = made(dialog, columns, &theme).len();
            dialog.measured.set(Some((columns, dialog.json_as, rows)));
            rows
        }
    }
}

/// The rows of what is said.
fn made(dialog: &QuestionDialog, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let said = said::of(&dialog.question, &dialog.claims, dialog.json_as);
    let mut rows = said::rows(&said, columns, theme);
    if let QuestionKind::Drift(drift) = &dialog.question.kind {
        rows.extend(diff::rows(&drift.lines, columns, theme));
    }
    rows
}

pub(super) fn draw(dialog: &mut QuestionDialog, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let area = area.intersection(frame.area());
    dialog.drawn.clear();
    if area.is_empty() {
        return;
    }
    let columns = usize::from(area.width);
    let made_for = (columns, dialog.json_as, *theme);
    if dialog.made_for != Some(made_for) {
        dialog.rows = made(dialog, columns, theme);
        dialog.made_for = Some(made_for);
    }
    let said = u16::try_from(dialog.rows.len()).unwrap_or(u16::MAX);
    // The line between shows what is wrong, or how much text is below.
    let below = below_height(dialog, area.height.saturating_sub(1), said);
    let above = area.height.saturating_sub(below + 1).min(said);
    dialog.height = usize::from(above);
    let last = dialog.rows.len().saturating_sub(dialog.height);
    dialog.offset = dialog.offset.min(last);
    let shown = dialog.rows.iter().skip(dialog.offset).take(dialog.height);
    for (line, y) in shown.zip(area.y..) {
        frame.render_widget(
            line.clone(),
            Rect {
                y,
                height: 1,
                ..area
            },
        );
    }
    let between = Rect {
        y: area.y + above,
        height: 1.min(area.height - above),
        ..area
    };
    if !between.is_empty() {
        frame.render_widget(divider(dialog, columns, theme), between);
    }
    let rest = Rect {
        y: between.bottom(),
        height: area.bottom().saturating_sub(between.bottom()),
        ..area
    };
    draw_answering(dialog, frame, rest, theme);
}

/// How many rows the answer has, of so many.
fn below_height(dialog: &QuestionDialog, height: u16, said: u16) -> u16 {
    match &dialog.answering {
        Answering::Choices { choices, .. } => {
            let wanted = u16::try_from(choices.len()).unwrap_or(u16::MAX);
            // Both are in view even where there is little room.
            wanted.min(height - (height / 3).min(said))
        }
        Answering::Form(_) | Answering::Words { .. } => height - (height / 2).min(said),
        Answering::Reason(..) => 2.min(height),
    }
}

fn divider(dialog: &QuestionDialog, columns: usize, theme: &Theme) -> Line<'static> {
    let glyphs = theme.glyphs();
    let hidden = dialog
        .rows
        .len()
        .saturating_sub(dialog.offset + dialog.height);
    let (text, role) = match (&dialog.problem, hidden) {
        (Some(problem), _) => (problem.clone(), Role::Warning),
        (None, 0) => (String::new(), Role::Border),
        (None, hidden) => (format!("{hidden} more lines below"), Role::Warning),
    };
    if text.is_empty() {
        return Line::styled(glyphs.rule.repeat(columns), theme.style(Role::Border));
    }
    let text = fit(&text, columns.saturating_sub(4), glyphs.ellipsis).into_owned();
    let rest = columns.saturating_sub(width(&text) + 4);
    Line::from(vec![
        Span::styled(format!("{0}{0} ", glyphs.rule), theme.style(Role::Border)),
        Span::styled(text, theme.style(role)),
        Span::styled(
            format!(" {}", glyphs.rule.repeat(rest)),
            theme.style(Role::Border),
        ),
    ])
}

fn draw_answering(dialog: &mut QuestionDialog, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    if area.is_empty() {
        return;
    }
    let is_elicitation = dialog.is_elicitation();
    match &mut dialog.answering {
        Answering::Choices { choices, selected } => {
            let height = usize::from(area.height);
            let top = selected.map_or(0, |at| (at + 1).saturating_sub(height));
            let window = choices.iter().enumerate().skip(top).take(height);
            for ((at, choice), y) in window.zip(area.y..) {
                let is_selected = Some(at) == *selected;
                let cursor = if is_selected {
                    theme.glyphs().cursor
                } else {
                    "  "
                };
                let label = if is_selected {
                    Role::Selected
                } else {
                    Role::Text
                };
                let line = Line::from(vec![
                    Span::styled(cursor, theme.style(Role::Accent)),
                    Span::styled(choice.key.to_string(), theme.style(Role::Key)),
                    Span::raw("  "),
                    Span::styled(choice.label.clone(), theme.style(label)),
                ]);
                let row = Rect {
                    y,
                    height: 1,
                    ..area
                };
                frame.render_widget(line, row);
                dialog.drawn.push((row, at));
            }
        }
        Answering::Form(editor) => {
            let help = u16::from(area.height > 4);
            let form = Rect {
                height: area.height - help,
                ..area
            };
            editor.draw(frame, form, theme);
            let words = match is_elicitation {
                true => &[("n", "decline"), ("c", "cancel: neither yes nor no")][..],
                false => &[("n", "refuse with a reason")],
            };
            if help > 0 {
                let line = Rect {
                    y: form.bottom(),
                    height: 1,
                    ..area
                };
                frame.render_widget(keys(words, theme), line);
            }
        }
        Answering::Words { words, typing } => {
            let help = u16::from(area.height > 2);
            let text = Rect {
                height: area.height - help,
                ..area
            };
            let is_empty = words.text().is_empty();
            if *typing == Typing::Off && is_empty {
                let hint = "There is no model here: answer in its place, or refuse.";
                frame.render_widget(Span::styled(hint, theme.style(Role::Placeholder)), text);
            } else {
                frame.render_widget(words.widget(theme.style(Role::Text)), text);
            }
            if help > 0 {
                let offered = match typing {
                    Typing::On => &[("f2", "send"), ("esc", "stop writing")][..],
                    Typing::Off => &[
                        ("e", "write the answer"),
                        ("f2", "send"),
                        ("n", "refuse with a reason"),
                    ],
                };
                let line = Rect {
                    y: text.bottom(),
                    height: 1,
                    ..area
                };
                frame.render_widget(keys(offered, theme), line);
            }
        }
        Answering::Reason(reason, _) => {
            let label = "Refuse because: ";
            let wide = u16::try_from(label.len()).unwrap_or(0).min(area.width);
            let line = Rect { height: 1, ..area };
            frame.render_widget(Span::styled(label, theme.style(Role::Name)), line);
            let text = Rect {
                x: line.x + wide,
                width: line.width - wide,
                ..line
            };
            if !text.is_empty() {
                frame.render_widget(reason.widget(theme.style(Role::Input)), text);
            }
            if area.height > 1 {
                let line = Rect {
                    y: area.y + 1,
                    ..line
                };
                frame.render_widget(keys(&[("enter", "refuse"), ("esc", "back")], theme), line);
            }
        }
    }
}

fn keys<'l>(offered: &[(&'static str, &'static str)], theme: &Theme) -> Line<'l> {
    let mut line = Line::default();
    for (key, does) in offered {
        line.push_span(Span::styled(*key, theme.style(Role::Key)));
        line.push_span(Span::styled(
            format!(" {does}   "),
            theme.style(Role::Secondary),
        ));
    }
    line
}
