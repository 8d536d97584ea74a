//! How a form looks.
//!
//! One line for each field: its name, its value, and below it what is wrong. Only the lines in view
//! are made. What is known of the selected field stands at the bottom.

use attache_view::form::Problem;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Block, Clear};

use super::details::{details, draw_json};
use super::line::{label, row_line};
use super::rows::{Line, Row};
use super::{FormEditor, Mode};
use crate::measure::{fit, padded, width};
use crate::theme::{Role, Theme};

/// Columns before the label: the cursor and the mark of a section.
const MARGIN: usize = 4;
/// How wide the labels are at least.
const LEAST_LABELS: usize = 12;
/// How many lines of a text are shown while it is typed.
const MOST_TYPED_LINES: usize = 12;
/// How many completions are shown at once.
const MOST_OFFERS: usize = 6;

pub(super) fn draw(editor: &mut FormEditor, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let area = area.intersection(frame.area());
    editor.drawn.clear();
    if area.is_empty() {
        return;
    }
    if matches!(editor.mode, Mode::Json(_)) {
        draw_json(editor, frame, area, theme);
        return;
    }
    let details = details(editor, usize::from(area.width), theme);
    let room = details_height(area.height).min(u16::try_from(details.len()).unwrap_or(u16::MAX));
    let form = Rect {
        height: area.height - room,
        ..area
    };
    for (line, y) in details.into_iter().zip(form.bottom()..area.bottom()) {
        frame.render_widget(
            line,
            Rect {
                y,
                height: 1,
                ..area
            },
        );
    }
    draw_rows(editor, frame, form, theme);
}

/// How many lines of an area explain the selected field.
fn details_height(height: u16) -> u16 {
    match height {
        0..=4 => 0,
        5..=9 => 2,
        10..=17 => 4,
        18..=29 => 6,
        _ => 8,
    }
}

/// What the columns are used for.
pub(super) struct Columns {
    pub(super) area: Rect,
    /// How wide the labels are, margin included.
    pub(super) labels: usize,
}

impl Columns {
    pub(super) fn of(editor: &FormEditor, area: Rect) -> Self {
        let columns = usize::from(area.width);
        let label = |row: &Row| {
            let field = editor.row_field(row)?;
            let is_field = matches!(row.id.line, Line::Field(_));
            is_field.then(|| MARGIN + row.depth * 2 + width(&label(row, field)) + 3)
        };
        let widest = editor.rows.iter().filter_map(label).max().unwrap_or(0);
        let most = (columns * 9 / 20).max(LEAST_LABELS);
        Self {
            area,
            labels: widest.clamp(LEAST_LABELS, most).min(columns),
        }
    }

    /// The part of a line in which the value stands.
    fn value(&self, y: u16) -> Rect {
        let labels = u16::try_from(self.labels).unwrap_or(u16::MAX);
        let left = self.area.x.saturating_add(labels).min(self.area.right());
        Rect {
            x: left,
            y,
            width: self.area.right() - left,
            height: 1,
        }
    }
}

fn draw_rows(editor: &mut FormEditor, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    if area.is_empty() {
        return;
    }
    let columns = Columns::of(editor, area);
    scroll(editor, usize::from(area.height));
    let mut y = area.y;
    let mut selected_at = None;
    for at in editor.top..editor.rows.len() {
        if y >= area.bottom() {
            break;
        }
        let is_selected = at == editor.selected;
        if is_selected {
            selected_at = Some(y);
        }
        let line = Rect {
            y,
            height: 1,
            ..area
        };
        editor.drawn.push((line, at));
        let row = editor.rows[at].clone();
        let shown = row_line(editor, &row, is_selected, &columns, theme);
        frame.render_widget(shown, line);
        y += 1;
        if is_selected {
            y = draw_typed(editor, frame, &columns, y, theme);
        }
        for problem in shown_problems(editor, &row) {
            if y >= area.bottom() {
                break;
            }
            let area = columns.value(y);
            let text = format!("{} {}", theme.glyphs().failed, without_subject(&problem));
            let text = fit(&text, usize::from(area.width), theme.glyphs().ellipsis).into_owned();
            frame.render_widget(Span::styled(text, theme.style(Role::Bad)), area);
            y += 1;
        }
    }
    if let Some(y) = selected_at {
        draw_popup(editor, frame, &columns, y, theme);
    }
}

/// Scrolls so that all of the selected line is in view.
fn scroll(editor: &mut FormEditor, height: usize) {
    editor.top = editor.top.min(editor.selected);
    let mut used = 0;
    let mut at = editor.selected;
    loop {
        used += row_height(editor, at, height);
        if used > height {
            // The first line that is wholly in view, but never one below the selected.
            editor.top = editor.top.max((at + 1).min(editor.selected));
            break;
        }
        if at == editor.top {
            break;
        }
        at -= 1;
    }
}

fn row_height(editor: &FormEditor, at: usize, height: usize) -> usize {
    let Some(row) = editor.rows.get(at) else {
        return 0;
    };
    let typed = match at == editor.selected {
        true => typed_height(editor, height),
        false => 0,
    };
    1 + typed + shown_problems(editor, row).len()
}

/// How many lines below its own the text takes that is being typed.
fn typed_height(editor: &FormEditor, height: usize) -> usize {
    match &editor.mode {
        Mode::Field(input) if input.has_lines() => {
            let most = (height / 2).clamp(1, MOST_TYPED_LINES);
            (input.line_count() + 1)
                .clamp(2, MOST_TYPED_LINES)
                .min(most)
        }
        _ => 0,
    }
}

/// What is wrong with a line, as far as it is told already.
pub(super) fn shown_problems(editor: &FormEditor, row: &Row) -> Vec<Problem> {
    // The problems of a path stand once, below its last line.
    if !matches!(row.id.line, Line::Field(_)) {
        return Vec::new();
    }
    let is_told = editor.was_tried || editor.touched.contains(&row.id);
    let problems = editor.sheet(row.id.part).problems(&row.id.path);
    let told = problems.filter(|problem| is_told || problem.rule != "required");
    told.take(3).cloned().collect()
}

/// A problem below its field need not name it.
pub(super) fn without_subject(problem: &Problem) -> &str {
    let subject = problem.path.subject();
    let rest = problem.message.strip_prefix(&subject);
    rest.map_or(problem.message.as_str(), str::trim_start)
}

/// Draws the text that is being typed; tells the line below it.
fn draw_typed(
    editor: &mut FormEditor,
    frame: &mut Frame<'_>,
    columns: &Columns,
    below: u16,
    theme: &Theme,
) -> u16 {
    let area = columns.area;
    let height = typed_height(editor, usize::from(area.height));
    let style = theme.style(Role::Input);
    match &mut editor.mode {
        Mode::Field(input) if input.has_lines() => {
            let indent = 4.min(area.width);
            let rest = area.bottom().saturating_sub(below);
            let height = u16::try_from(height).unwrap_or(u16::MAX).min(rest);
            let typed = Rect {
                x: area.x + indent,
                y: below,
                width: area.width - indent,
                height,
            };
            if !typed.is_empty() {
                let plain = theme.style(Role::Text);
                frame.render_widget(input.widget(plain), typed);
                let bar = Span::styled(theme.glyphs().bar, theme.style(Role::BorderFocused));
                for y in typed.y..typed.bottom() {
                    let bar_area = Rect {
                        x: typed.x.saturating_sub(2),
                        y,
                        width: 1,
                        height: 1,
                    };
                    frame.render_widget(bar.clone(), bar_area.intersection(area));
                }
            }
            below + height
        }
        Mode::Field(input) | Mode::Name(input) => {
            let typed = columns.value(below - 1);
            if !typed.is_empty() {
                frame.render_widget(input.widget(style), typed);
            }
            below
        }
        _ => below,
    }
}

/// Draws what stands over the form: the list to choose from, or the completions.
fn draw_popup(
    editor: &mut FormEditor,
    frame: &mut Frame<'_>,
    columns: &Columns,
    row: u16,
    theme: &Theme,
) {
    let area = columns.area;
    let title = editor.field().map(|field| field.display_name().to_owned());
    let title = title.filter(|title| !title.is_empty());
    match &mut editor.mode {
        Mode::Pick(picker, _) => {
            let place = popup(area, columns.value(row).x, row, picker.size());
            picker.draw(frame, place, title.as_deref().unwrap_or("choose"), theme);
        }
        Mode::Field(_) if editor.offers.is_shown() => {
            let lines = editor.offers.window(MOST_OFFERS);
            let widest = lines.iter().map(|(text, _)| width(text)).max().unwrap_or(0);
            let size = (widest.max(12) + 2, lines.len() + 2);
            let place = popup(area, columns.value(row).x, row, size);
            frame.render_widget(Clear, place);
            let count = format!(" {} ", editor.offers.count());
            let block = Block::bordered()
                .border_set(theme.border())
                .border_style(theme.style(Role::Border))
                .title_bottom(Text::styled(count, theme.style(Role::Secondary)).right_aligned());
            let inside = block.inner(place);
            frame.render_widget(block, place);
            for ((text, is_chosen), y) in lines.into_iter().zip(inside.y..inside.bottom()) {
                let role = if is_chosen {
                    Role::Selected
                } else {
                    Role::Text
                };
                let room = usize::from(inside.width);
                let text = padded(&text, room, theme.glyphs().ellipsis);
                let line = Rect {
                    y,
                    height: 1,
                    ..inside
                };
                frame.render_widget(Span::styled(text, theme.style(role)), line);
            }
        }
        _ => {}
    }
}

/// Where a box of this size stands: below its line if there is room, else as low as it can.
fn popup(area: Rect, left: u16, row: u16, size: (usize, usize)) -> Rect {
    let most = |wanted: usize, room: u16| u16::try_from(wanted).unwrap_or(u16::MAX).min(room);
    let (width, height) = (most(size.0, area.width), most(size.1, area.height));
    Rect {
        x: left.min(area.right() - width),
        y: (row + 1).min(area.bottom() - height),
        width,
        height,
    }
}
