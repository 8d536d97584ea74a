//! Pieces that panes are drawn with.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Padding};

use crate::cursor::Cursor;
use crate::filter::Filter;
use crate::measure;
use crate::text;
use crate::theme::{Role, Theme};

/// A box with a title, drawn; the room inside.
pub(crate) fn boxed(
    frame: &mut Frame<'_>,
    area: Rect,
    title: Line<'_>,
    is_focused: bool,
    theme: &Theme,
) -> Rect {
    let role = if is_focused {
        Role::BorderFocused
    } else {
        Role::Border
    };
    let block = Block::bordered()
        .border_set(theme.border())
        .border_style(theme.style(role))
        .title(title);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

/// A box over everything else, in the middle; the room inside.
pub(crate) fn popup(
    frame: &mut Frame<'_>,
    screen: Rect,
    (width, height): (u16, u16),
    title: &str,
    theme: &Theme,
) -> Rect {
    let width = width.min(screen.width.saturating_sub(2)).max(4);
    let height = height.min(screen.height.saturating_sub(2)).max(3);
    let area = Rect {
        x: screen.x + (screen.width.saturating_sub(width)) / 2,
        y: screen.y + (screen.height.saturating_sub(height)) / 3,
        width: width.min(screen.width),
        height: height.min(screen.height),
    };
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .border_set(theme.border())
        .border_style(theme.style(Role::BorderFocused))
        .padding(Padding::horizontal(1))
        .title(Line::styled(
            format!(" {title} "),
            theme.style(Role::TitleFocused),
        ));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

/// One line at a place, cut to the room there.
pub(crate) fn line(buffer: &mut Buffer, x: u16, y: u16, width: u16, line: &Line<'_>) {
    buffer.set_line(x, y, line, width);
}

/// The rows of a list: only those in the window are made. A scroll bar stands at the right if there
/// are more.
pub(crate) fn rows<'a>(
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &mut Cursor,
    count: usize,
    is_focused: bool,
    theme: &Theme,
    mut row: impl FnMut(usize, u16) -> Line<'a>,
) {
    let window = cursor.window(count, area.height.into());
    let has_more = count > usize::from(area.height);
    let width = area.width.saturating_sub(u16::from(has_more));
    let buffer = frame.buffer_mut();
    for (y, index) in (area.y..).zip(window.clone()) {
        let is_selected = index == cursor.at;
        let content = row(index, width.saturating_sub(2));
        if is_selected {
            let role = if is_focused {
                Role::Accent
            } else {
                Role::Secondary
            };
            buffer.set_string(area.x, y, theme.glyphs().cursor, theme.style(role));
        }
        buffer.set_line(area.x + 2, y, &content, width.saturating_sub(2));
        if is_selected && is_focused {
            let place = Rect::new(area.x + 2, y, width.saturating_sub(2), 1);
            buffer.set_style(place, theme.style(Role::Selected));
        }
    }
    if has_more {
        scroll_bar(buffer, area, window.start, count, theme);
    }
}

/// Where the window is in the whole.
pub(crate) fn scroll_bar(
    buffer: &mut Buffer,
    area: Rect,
    start: usize,
    count: usize,
    theme: &Theme,
) {
    let height = usize::from(area.height);
    if height == 0 || count <= height {
        return;
    }
    let thumb = (height * height / count).clamp(1, height);
    let room = height - thumb;
    let top = room * start / (count - height).max(1);
    let x = area.right().saturating_sub(1);
    for row in 0..height {
        let is_thumb = (top..top + thumb).contains(&row);
        if is_thumb {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "less than the height of a screen"
            )]
            let y = area.y + row as u16;
            buffer.set_string(x, y, theme.glyphs().thumb, theme.style(Role::Secondary));
        }
    }
}

/// Text in the middle of a room: why there is nothing, and what to do.
pub(crate) fn message(frame: &mut Frame<'_>, area: Rect, title: &str, detail: &str, theme: &Theme) {
    let width = usize::from(area.width).saturating_sub(4).min(72);
    let mut lines = vec![Line::styled(title.to_owned(), theme.style(Role::Title))];
    if !detail.is_empty() {
        lines.push(Line::default());
        let folded = measure::wrapped(detail, width).into_iter();
        lines.extend(folded.map(|line| Line::styled(line, theme.style(Role::Secondary))));
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let top = area.y + area.height.saturating_sub(height) / 3;
    for (y, content) in (top..area.bottom()).zip(&lines) {
        let wide = u16::try_from(content.width()).unwrap_or(u16::MAX);
        let x = area.x + area.width.saturating_sub(wide) / 2;
        frame.buffer_mut().set_line(x, y, content, area.right() - x);
    }
}

/// The line of a filter, with the cursor if it is being typed; true if it took a line.
pub(crate) fn filter_line(
    frame: &mut Frame<'_>,
    area: Rect,
    filter: &Filter,
    count: &str,
    theme: &Theme,
) -> bool {
    if !filter.is_typing && filter.is_empty() {
        return false;
    }
    let text = text::safe(filter.input.text()).into_owned();
    let role = if filter.is_typing {
        Role::Accent
    } else {
        Role::Secondary
    };
    let content = Line::from(vec![Span::styled("/ ", theme.style(role)), Span::raw(text)]);
    frame
        .buffer_mut()
        .set_line(area.x, area.y, &content, area.width);
    let wide = u16::try_from(text::width(count)).unwrap_or(u16::MAX);
    if wide + 4 < area.width {
        let x = area.right() - wide;
        let style = theme.style(Role::Secondary);
        frame.buffer_mut().set_string(x, area.y, count, style);
    }
    if filter.is_typing {
        let column = u16::try_from(filter.input.column()).unwrap_or(u16::MAX);
        let x = area.x.saturating_add(2).saturating_add(column);
        frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), area.y));
    }
    true
}

/// A bar that is so full.
pub(crate) fn bar(share: f64, width: usize, theme: &Theme) -> String {
    let glyphs = theme.glyphs();
    let share = share.clamp(0.0, 1.0);
    let parts = glyphs.bar_parts.len() + 1;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of the width of a screen"
    )]
    let filled = (share * (width * parts) as f64).round() as usize;
    let (full, part) = (filled / parts, filled % parts);
    let mut bar = glyphs.bar_full.repeat(full);
    let mut taken = full;
    if part > 0 && taken < width {
        bar.push_str(glyphs.bar_parts[part - 1]);
        taken += 1;
    }
    bar.push_str(&glyphs.bar_empty.repeat(width - taken));
    bar
}

/// A name with the letters marked that a pattern found.
pub(crate) fn marked<'a>(
    name: &str,
    places: &[usize],
    style: Style,
    theme: &Theme,
) -> Vec<Span<'a>> {
    if places.is_empty() {
        return vec![Span::styled(name.to_owned(), style)];
    }
    let mut spans: Vec<Span<'a>> = Vec::new();
    let mut run = String::new();
    let mut was_found = false;
    let found_style = style.patch(theme.style(Role::Match));
    for (place, character) in name.chars().enumerate() {
        let is_found = places.contains(&place);
        if is_found != was_found && !run.is_empty() {
            let style = if was_found { found_style } else { style };
            spans.push(Span::styled(std::mem::take(&mut run), style));
        }
        was_found = is_found;
        run.push(character);
    }
    let style = if was_found { found_style } else { style };
    spans.push(Span::styled(run, style));
    spans
}
