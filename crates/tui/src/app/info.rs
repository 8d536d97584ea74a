//! What is to be known about the selected entry, beside its list.

use std::sync::Arc;

use attache::protocol::Tool;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{App, Tab};
use crate::draw;
use crate::keys::Action;
use crate::measure;
use crate::panes::catalog::Row as _;
use crate::panes::rows::ResourceKind;
use crate::text;
use crate::theme::{Role, Theme};

/// How much is shown of a description or a cause.
const LONGEST_TEXT: usize = 16 * 1024;

impl App {
    /// What is to be known about the selected entry.
    pub(super) fn draw_info(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.settings.theme;
        let width = usize::from(area.width).saturating_sub(1);
        let lines = match self.tab {
            Tab::Tools => self.tool_info(width, &theme),
            Tab::Resources => self.resource_info(width, &theme),
            Tab::Prompts => self.prompt_info(width, &theme),
            Tab::Calls | Tab::Activity | Tab::Log | Tab::Specs => Vec::new(),
        };
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            draw::line(frame.buffer_mut(), area.x, y, area.width, &line);
        }
    }

    fn tool_info(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(row) = self.tools.selected() else {
            return Vec::new();
        };
        // A schema may be large, and is the same from frame to frame.
        let is_made = |(tool, wide, _): &(Arc<Tool>, usize, _)| {
            Arc::ptr_eq(tool, &row.tool) && *wide == width
        };
        if !self.tool_fields.as_ref().is_some_and(is_made) {
            let form = attache_view::form::Form::of_tool(&row.tool);
            self.tool_fields = Some((row.tool.clone(), width, fields(&form, width, theme)));
        }
        let quiet = theme.style(Role::Secondary);
        let mut lines = vec![Line::from(vec![
            Span::styled(row.name().to_owned(), theme.style(Role::Title)),
            Span::styled(format!("  {}", row.server()), quiet),
        ])];
        let title = row.tool.display_name();
        if title != row.tool.name {
            lines.push(Line::raw(text::safe(title).into_owned()));
        }
        if !row.claims.is_empty() {
            lines.push(Line::from(vec![
                Span::styled("claims to be ", quiet),
                Span::raw(row.claims.join(", ")),
            ]));
        }
        if let Some((word, role)) = row.pin_word() {
            let key = self.key_name(Action::Pin);
            lines.push(Line::from(vec![
                Span::styled(word, theme.style(role)),
                Span::styled(format!("  {key} shows what was approved"), quiet),
            ]));
        }
        lines.push(Line::default());
        describe(row.tool.description.as_deref(), width, &mut lines);
        let made = self.tool_fields.as_ref().map(|(_, _, made)| made);
        lines.extend(made.into_iter().flatten().cloned());
        lines.push(Line::default());
        lines.push(Line::styled("Enter opens its form", quiet));
        lines
    }

    fn resource_info(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(row) = self.resources.selected() else {
            return Vec::new();
        };
        let quiet = theme.style(Role::Secondary);
        let mut lines = vec![
            Line::styled(row.title().to_owned(), theme.style(Role::Title)),
            Line::styled(row.server().to_owned(), quiet),
            Line::default(),
        ];
        lines.extend(
            measure::wrapped(row.name(), width)
                .into_iter()
                .map(Line::raw),
        );
        lines.push(Line::default());
        describe(row.description.as_deref(), width, &mut lines);
        if let Some(watch) = &row.watch {
            lines.push(Line::raw(format!(
                "watched; {} changes seen",
                watch.changes
            )));
            if watch.has_gap {
                let words = "the server was restarted meanwhile: changes may have been missed";
                lines.push(Line::styled(words, theme.style(Role::Warning)));
            }
        }
        lines.push(Line::default());
        lines.push(Line::styled(
            match row.kind {
                ResourceKind::Resource { .. } => "Enter reads it, w watches it",
                ResourceKind::Template { .. } => "Enter asks for its variables and reads it",
            },
            quiet,
        ));
        lines
    }

    fn prompt_info(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(row) = self.prompts.selected() else {
            return Vec::new();
        };
        let quiet = theme.style(Role::Secondary);
        let mut lines = vec![
            Line::from(vec![
                Span::styled(row.name().to_owned(), theme.style(Role::Title)),
                Span::styled(format!("  {}", row.server()), quiet),
            ]),
            Line::default(),
        ];
        describe(row.prompt.description.as_deref(), width, &mut lines);
        for argument in row.prompt.arguments.as_deref().unwrap_or_default() {
            let star = if argument.required { "*" } else { " " };
            let name = text::safe_name(&argument.name);
            let description = argument.description.as_deref().unwrap_or_default();
            let description = text::safe_name(description);
            lines.push(Line::from(vec![
                Span::styled(star, theme.style(Role::Warning)),
                Span::styled(format!("{name}  "), theme.style(Role::Name)),
                Span::styled(description, quiet),
            ]));
        }
        lines.push(Line::default());
        lines.push(Line::styled("Enter gets it", quiet));
        lines
    }
}

/// A text of any length as lines for a screen, made anew for each frame: its beginning.
pub(super) fn foreign_lines(text: &str, width: usize) -> impl Iterator<Item = Line<'static>> {
    let safe = attache_view::safe_text::block(text::head(text, LONGEST_TEXT));
    let lines = measure::wrapped(&safe, width).into_iter();
    lines.take(200).map(Line::raw)
}

fn describe(description: Option<&str>, width: usize, lines: &mut Vec<Line<'static>>) {
    if let Some(description) = description {
        lines.extend(foreign_lines(description.trim(), width));
        lines.push(Line::default());
    }
}

/// The fields of a form, a line each.
fn fields(form: &attache_view::form::Form, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let members = form.field(None, &attache_view::form::Picks::default());
    let members = members.members().map(|members| &members.fields);
    let quiet = theme.style(Role::Secondary);
    let ellipsis = theme.glyphs().ellipsis;
    let fields = members.into_iter().flatten();
    fields
        .map(|field| {
            let name = text::safe_name(field.key().unwrap_or_default());
            let star = if field.required { "*" } else { " " };
            let description = field.description.as_deref().unwrap_or_default();
            let description = text::safe_name(description.lines().next().unwrap_or_default());
            let room = width.saturating_sub(text::width(&name) + 3);
            let description = text::cut(&description, room, ellipsis).into_owned();
            Line::from(vec![
                Span::styled(star, theme.style(Role::Warning)),
                Span::styled(format!("{name}  "), theme.style(Role::Name)),
                Span::styled(description, quiet),
            ])
        })
        .collect()
}
