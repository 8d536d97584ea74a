//! An image in an answer.
//!
//! It is decoded and scaled on a thread, to the size it will have, with limits on bytes and pixels.
//! Every terminal can show it in half blocks; those that say they can do better get the pixels.

#[cfg(feature = "images")]
mod decode;
mod iterm;
mod kitty;
mod protocol;
mod sixel;

use std::num::NonZeroU16;
use std::sync::Arc;

use attache_view::document::Media;
use parking_lot::Mutex;
use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::body::{decoded, decoded_length};
use crate::component::Waker;
use crate::text::bytes as size;
use crate::theme::{ColorMode, Role, Theme};

use protocol::Protocol;

/// The largest image that is decoded, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// How many columns an image has at most.
const MAX_COLUMNS: usize = 160;
/// How many rows an image has at most; kitty's marks for rows are as many.
const MAX_ROWS: usize = 35;
/// From dark to light, where there are no colours.
const SHADES: &[u8] = b" .:-=+*#%@";

/// An image scaled to its place.
#[derive(Debug)]
struct Scaled {
    columns: usize,
    rows: usize,
    /// Two pixels for each cell, one above the other.
    halves: Vec<[u8; 3]>,
    /// How a terminal is told the pixels, and how.
    graphics: Option<(Protocol, String)>,
    /// The width and the height of the original.
    original: (u32, u32),
}

#[derive(Debug)]
enum State {
    Waiting,
    Ready(Scaled),
    Failed(String),
}

type Mailbox = Arc<Mutex<Option<Result<Scaled, String>>>>;

/// An image in an answer.
#[derive(Debug)]
pub(super) struct Picture {
    bytes: Option<Arc<[u8]>>,
    facts: String,
    waker: Waker,
    asked_for: usize,
    mailbox: Mailbox,
    state: State,
    /// The number of this image in a terminal that keeps images.
    number: u32,
    /// The terminal has been told the pixels, and keeps them.
    is_told: bool,
}

impl Picture {
    pub(super) fn new(media: &Media, waker: Waker) -> Self {
        let length = decoded_length(media);
        let facts = format!("{}, {}", media.mime_type, size(length));
        let is_small = length <= MAX_BYTES;
        Self {
            bytes: is_small.then(|| decoded(media)),
            state: match is_small {
                true => State::Waiting,
                false => State::Failed("it is too large to be shown".to_owned()),
            },
            facts,
            waker,
            asked_for: 0,
            mailbox: Mailbox::default(),
            number: kitty::next_number(),
            is_told: false,
        }
    }

    /// Asks for the image in this width, if it is not on its way already.
    pub(super) fn layout(&mut self, columns: usize) {
        let columns = columns.clamp(1, MAX_COLUMNS);
        if self.asked_for == columns {
            return;
        }
        self.asked_for = columns;
        if let Some(bytes) = self.bytes.clone() {
            self.start(bytes, columns);
        }
    }

    #[cfg(feature = "images")]
    fn start(&mut self, bytes: Arc<[u8]>, columns: usize) {
        // An answer for another width goes into a box that is looked into no more.
        self.mailbox = Mailbox::default();
        let (mailbox, waker, number) = (self.mailbox.clone(), self.waker.clone(), self.number);
        let thread = std::thread::Builder::new().name("attache-image".to_owned());
        let started = thread.spawn(move || {
            let protocol = Protocol::of_terminal();
            let scaled = decode::scaled(&bytes, columns, MAX_ROWS, protocol, number);
            *mailbox.lock() = Some(scaled);
            waker.wake();
        });
        if started.is_err() {
            self.state = State::Failed("there is no thread to decode it".to_owned());
        }
    }

    #[cfg(not(feature = "images"))]
    fn start(&mut self, _bytes: Arc<[u8]>, _columns: usize) {
        self.state = State::Failed("this build shows no images".to_owned());
    }

    /// Takes what the thread has made; tells whether there was something.
    pub(super) fn poll(&mut self) -> bool {
        let made = self.mailbox.lock().take();
        let is_new = made.is_some();
        match made {
            Some(Ok(scaled)) => {
                self.is_told = false;
                self.state = State::Ready(scaled);
            }
            Some(Err(problem)) => self.state = State::Failed(problem),
            None => {}
        }
        is_new
    }

    pub(super) fn count(&self) -> usize {
        match &self.state {
            State::Ready(scaled) => scaled.rows + 1,
            State::Waiting | State::Failed(_) => 1,
        }
    }

    pub(super) fn line(&self, row: usize, theme: &Theme) -> Line<'static> {
        let said = |text: String, role: Role| Line::styled(text, theme.style(role));
        match &self.state {
            State::Waiting => said(format!("{}: decoding", self.facts), Role::Secondary),
            State::Failed(problem) => said(
                format!("{}: {problem}; it can be saved or opened", self.facts),
                Role::Warning,
            ),
            State::Ready(scaled) if row >= scaled.rows => {
                let (width, height) = scaled.original;
                said(
                    format!("{}, {width}×{height} pixels", self.facts),
                    Role::Secondary,
                )
            }
            State::Ready(scaled) => scaled.row(row, theme),
        }
    }

    /// Draws a row by the terminal's own graphics, if it has some. Protocols that draw all at once
    /// do so only while all of the image is in view.
    pub(super) fn draw_row(
        &mut self,
        row: usize,
        below: usize,
        area: Rect,
        buffer: &mut Buffer,
        theme: &Theme,
    ) {
        let State::Ready(scaled) = &self.state else {
            return;
        };
        let Some((protocol, told)) = &scaled.graphics else {
            return;
        };
        let columns = u16::try_from(scaled.columns)
            .unwrap_or(u16::MAX)
            .min(area.width);
        if row >= scaled.rows || theme.colors() == ColorMode::Never || columns == 0 {
            return;
        }
        match protocol {
            Protocol::Kitty => {
                for x in 0..columns {
                    let Some(cell) = buffer.cell_mut((area.x + x, area.y)) else {
                        continue;
                    };
                    cell.set_fg(kitty::color(self.number));
                    cell.set_bg(Color::Reset);
                    let mark = kitty::mark(row, usize::from(x));
                    match x == 0 && !self.is_told {
                        true => {
                            cell.set_symbol(&format!("{told}{mark}"));
                            cell.set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
                            self.is_told = true;
                        }
                        false => {
                            cell.set_symbol(&mark);
                            cell.set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
                        }
                    }
                }
            }
            Protocol::Iterm | Protocol::Sixel if row == 0 && below >= scaled.rows => {
                for y in 0..u16::try_from(scaled.rows).unwrap_or(u16::MAX) {
                    for x in 0..columns {
                        if let Some(cell) = buffer.cell_mut((area.x + x, area.y + y)) {
                            cell.reset();
                            cell.set_diff_option(CellDiffOption::Skip);
                        }
                    }
                }
                if let Some(cell) = buffer.cell_mut((area.x, area.y)) {
                    cell.set_symbol(told);
                    cell.set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
                }
            }
            Protocol::Iterm | Protocol::Sixel | Protocol::HalfBlocks => {}
        }
    }
}

impl Scaled {
    /// A row of half blocks, or of letters where there are no colours.
    fn row(&self, row: usize, theme: &Theme) -> Line<'static> {
        let half = |y: usize, x: usize| {
            let pixel = self.halves.get(y * self.columns + x);
            pixel.copied().unwrap_or_default()
        };
        let cells = (0..self.columns).map(|x| (half(row * 2, x), half(row * 2 + 1, x)));
        if theme.colors() == ColorMode::Never || theme.is_ascii() {
            let shade = |(upper, lower): ([u8; 3], [u8; 3])| {
                let light = (brightness(upper) + brightness(lower)) / 2;
                char::from(SHADES[light * (SHADES.len() - 1) / 255])
            };
            return Line::raw(cells.map(shade).collect::<String>());
        }
        let color = |[red, green, blue]: [u8; 3]| Color::Rgb(red, green, blue);
        let cell =
            |(upper, lower)| Span::styled("▀", Style::new().fg(color(upper)).bg(color(lower)));
        Line::from(cells.map(cell).collect::<Vec<_>>())
    }
}

fn brightness([red, green, blue]: [u8; 3]) -> usize {
    (usize::from(red) * 3 + usize::from(green) * 6 + usize::from(blue)) / 10
}
