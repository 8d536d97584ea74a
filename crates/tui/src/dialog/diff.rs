//! What has changed in a tool: in two columns where there is room, else line below line.

use attache::host::policy::DiffLine;
use attache_view::safe_text;
use ratatui::text::{Line, Span};

use crate::measure::{padded, wrapped};
use crate::theme::{Role, Theme};

/// From how many columns on the old and the new stand side by side.
pub(super) const WIDE: usize = 100;

/// The rows of a difference.
pub(super) fn rows(lines: &[DiffLine], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    match columns >= WIDE {
        true => beside(lines, columns, theme),
        false => below(lines, columns, theme),
    }
}

fn below(lines: &[DiffLine], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    for line in lines {
        let (sign, text, role) = match line {
            DiffLine::Kept(text) => ("  ", text.as_str(), Role::Secondary),
            DiffLine::Removed(text) => ("- ", text.as_str(), Role::Bad),
            DiffLine::Added(text) => ("+ ", text.as_str(), Role::Good),
            DiffLine::Gap => ("  ", theme.glyphs().ellipsis, Role::Secondary),
        };
        let text = safe_text::one_line(text);
        for (at, row) in wrapped(&text, columns.saturating_sub(2))
            .into_iter()
            .enumerate()
        {
            let sign = if at == 0 { sign } else { "  " };
            rows.push(Line::styled(format!("{sign}{row}"), theme.style(role)));
        }
    }
    rows
}

/// Lines that were removed and those that were added in their place stand beside each other.
fn beside(lines: &[DiffLine], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let half = columns.saturating_sub(3) / 2;
    let mut rows = pair(
        &[("as approved".to_owned(), Role::Title)],
        &[("as it is now".to_owned(), Role::Title)],
        half,
        theme,
    );
    let mut removed: Vec<(String, Role)> = Vec::new();
    let mut added: Vec<(String, Role)> = Vec::new();
    let side = |sign: &str, text: &str, role: Role| {
        let text = safe_text::one_line(text);
        let wrapped = wrapped(&text, half.saturating_sub(2))
            .into_iter()
            .enumerate();
        let sign = sign.to_owned();
        wrapped.map(move |(at, row)| {
            let sign = if at == 0 { sign.as_str() } else { "  " };
            (format!("{sign}{row}"), role)
        })
    };
    for line in lines {
        match line {
            DiffLine::Removed(text) => removed.extend(side("- ", text, Role::Bad)),
            DiffLine::Added(text) => added.extend(side("+ ", text, Role::Good)),
            DiffLine::Kept(_) | DiffLine::Gap => {
                rows.extend(pair(&removed, &added, half, theme));
                removed.clear();
                added.clear();
                let text = match line {
                    DiffLine::Kept(text) => text.as_str(),
                    _ => theme.glyphs().ellipsis,
                };
                let kept: Vec<_> = side("  ", text, Role::Secondary).collect();
                rows.extend(pair(&kept, &kept, half, theme));
            }
        }
    }
    rows.extend(pair(&removed, &added, half, theme));
    rows
}

fn pair(
    left: &[(String, Role)],
    right: &[(String, Role)],
    half: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let nothing = (String::new(), Role::Text);
    (0..left.len().max(right.len()))
        .map(|at| {
            let (one, one_role) = left.get(at).unwrap_or(&nothing);
            let (other, other_role) = right.get(at).unwrap_or(&nothing);
            Line::from(vec![
                Span::styled(
                    padded(one, half, theme.glyphs().ellipsis),
                    theme.style(*one_role),
                ),
                Span::styled(
                    format!(" {} ", theme.glyphs().bar),
                    theme.style(Role::Border),
                ),
                Span::styled(other.clone(), theme.style(*other_role)),
            ])
        })
        .collect()
}
