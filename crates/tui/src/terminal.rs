//! The terminal: taken over, drawn on, and given back whatever happens.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{cursor, execute, queue};
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use crate::background::QUESTION;

/// How large a text may be that terminals take into the clipboard.
pub(crate) const CLIPBOARD_LIMIT: usize = 74_000;
/// How much is gathered before it is written, which holds a frame of any usual size.
const BUFFER: usize = 128 * 1024;

/// Whether the terminal is ours now; the panic hook and signals then give it back.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HAS_MOUSE: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours.
///
/// Its size is looked at before each frame. The library's own way of clearing asks the terminal
/// where its cursor is and waits for the answer among the keys, so it is not used.
pub(crate) struct Screen {
    terminal: Drawing,
    size: Size,
    /// The next frame is drawn on an empty screen.
    is_forgotten: bool,
    wants_mouse: bool,
}

type Drawing = Terminal<CrosstermBackend<io::BufWriter<Stdout>>>;

fn drawing(size: Size) -> io::Result<Drawing> {
    let writer = io::BufWriter::with_capacity(BUFFER, io::stdout());
    let viewport = Viewport::Fixed(Rect::from((Position::ORIGIN, size)));
    Terminal::with_options(CrosstermBackend::new(writer), TerminalOptions { viewport })
}

fn size_now() -> io::Result<Size> {
    let (width, height) = size()?;
    Ok(Size::new(width, height))
}

impl Screen {
    /// Takes the terminal over.
    pub(crate) fn take(wants_mouse: bool) -> io::Result<Self> {
        enter(wants_mouse)?;
        let taken = size_now().and_then(|size| Ok((size, drawing(size)?)));
        match taken {
            Ok((size, terminal)) => Ok(Self {
                terminal,
                size,
                is_forgotten: false,
                wants_mouse,
            }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Draws a frame. All of it, a change of size included, reaches the terminal as one batch.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let size = size_now()?;
        if self.is_forgotten || size != self.size {
            self.terminal = drawing(size)?;
            self.size = size;
            self.is_forgotten = true;
        }
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.is_forgotten) {
            queue!(self.terminal.backend_mut(), Clear(ClearType::All))?;
        }
        self.terminal.draw(draw)?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        Write::flush(self.terminal.backend_mut())
    }

    /// Everything is drawn anew by the next frame.
    pub(crate) fn forget(&mut self) {
        self.is_forgotten = true;
    }

    /// Gives the terminal to something else while `meanwhile` runs.
    pub(crate) fn lend<T>(&mut self, meanwhile: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = meanwhile();
        enter(self.wants_mouse)?;
        self.forget();
        Ok(result)
    }

    /// Takes the terminal again after the process was stopped from outside.
    pub(crate) fn retake(&mut self) -> io::Result<()> {
        restore();
        enter(self.wants_mouse)?;
        self.forget();
        Ok(())
    }

    /// Has the mouse tell us, or leaves it to the terminal, which selects text with it.
    pub(crate) fn set_mouse(&mut self, wants_mouse: bool) -> io::Result<()> {
        self.wants_mouse = wants_mouse;
        HAS_MOUSE.store(wants_mouse, Ordering::SeqCst);
        match wants_mouse {
            true => execute!(io::stdout(), EnableMouseCapture),
            false => execute!(io::stdout(), DisableMouseCapture),
        }
    }

    /// Asks whether the background is light; the answer comes among the keys.
    pub(crate) fn ask_background(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(QUESTION.as_bytes())?;
        out.flush()
    }

    /// Hands a text to the terminal's clipboard.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let sequence = format!("\u{1b}]52;c;{encoded}\u{7}");
        let sequence = match std::env::var_os("TMUX") {
            // The multiplexer passes it on only in this envelope.
            Some(_) => format!(
                "\u{1b}Ptmux;{}\u{1b}\\",
                sequence.replace('\u{1b}', "\u{1b}\u{1b}")
            ),
            None => sequence,
        };
        let mut out = io::stdout().lock();
        out.write_all(sequence.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn enter(wants_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    HAS_MOUSE.store(wants_mouse, Ordering::SeqCst);
    let mut out = io::stdout();
    execute!(
        out,
        EnterAlternateScreen,
        EnableBracketedPaste,
        cursor::Hide
    )?;
    if wants_mouse {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Gives the terminal back as it was. Does nothing if it is not ours.
pub(crate) fn restore() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // If the terminal is gone, no one reads what would be said.
    if HAS_MOUSE.swap(false, Ordering::SeqCst) {
        let _ = execute!(out, DisableMouseCapture);
    }
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

/// Has a panic of any thread give the terminal back before its cause is printed.
pub(crate) fn restore_on_panic() {
    let former = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |information| {
        restore();
        former(information);
    }));
}
