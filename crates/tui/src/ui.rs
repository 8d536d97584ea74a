//! The thread that draws: takes messages, lets the app change, draws at most sixty times a second.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use ratatui::crossterm::event::Event as TerminalEvent;
use tokio::sync::mpsc::UnboundedSender;

use crate::app::{App, Settings};
use crate::background;
use crate::component::{Notice, Waker};
use crate::input::Reader;
use crate::mailbox::Mailbox;
use crate::message::{Effect, Message};
use crate::outside;
use crate::terminal::{self, CLIPBOARD_LIMIT, Screen};
use crate::text;

/// The time between two frames while much happens.
const FRAME: Duration = Duration::from_millis(16);
/// The same after a key, so that it is seen soon even in a flood.
const FRAME_AFTER_KEY: Duration = Duration::from_millis(1);

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Runs the UI until the person leaves it.
pub(crate) fn run(
    settings: Settings,
    mailbox: &Mailbox,
    effects: &UnboundedSender<Effect>,
) -> io::Result<()> {
    terminal::restore_on_panic();
    let mut screen = Screen::take(settings.has_mouse)?;
    let waker = Waker::new({
        let mailbox = mailbox.clone();
        move || mailbox.send(Message::Wake)
    });
    let mut app = App::new(settings, waker, now_ms());
    screen.draw(|frame| app.draw(frame))?;
    let reader = Reader::start(mailbox.clone())?;
    let mut ui = Ui {
        app,
        screen,
        reader,
        effects,
        drawn: Instant::now(),
    };
    ui.turn(mailbox)?;
    let Ui { screen, reader, .. } = ui;
    drop(screen);
    reader.end();
    Ok(())
}

struct Ui<'a> {
    app: App,
    screen: Screen,
    reader: Reader,
    effects: &'a UnboundedSender<Effect>,
    drawn: Instant,
}

impl Ui<'_> {
    fn turn(&mut self, mailbox: &Mailbox) -> io::Result<()> {
        let mut messages = Vec::new();
        // When the screen has to be drawn because of what has happened.
        let mut due: Option<Instant> = None;
        loop {
            let moves = self.app.wakes_after();
            let moves = moves.map(|after| self.drawn + FRAME.max(Duration::from_millis(after)));
            let until = match (due, moves) {
                (Some(due), Some(moves)) => Some(due.min(moves)),
                (due, moves) => due.or(moves),
            };
            // A search goes on between frames, unless there is something else to do.
            while self.app.is_looking() && self.drawn.elapsed() < FRAME && mailbox.is_empty() {
                self.app.look_on();
            }
            mailbox.take(until, &mut messages);
            self.app.at(now_ms());
            let mut has_typed = false;
            let mut has_resized = false;
            let has_any = !messages.is_empty();
            for message in messages.drain(..) {
                match &message {
                    Message::Terminal(TerminalEvent::Resize(..)) => {
                        has_resized = true;
                        // Even back at the size it had, the terminal has cut what was on it.
                        self.screen.forget();
                    }
                    Message::Terminal(_) => has_typed = true,
                    _ => {}
                }
                let is_continued = matches!(message, Message::Continued);
                self.app.on(message);
                if is_continued {
                    self.screen.retake()?;
                }
            }
            for effect in self.app.take_effects() {
                if self.perform(effect)? {
                    return Ok(());
                }
            }
            if has_any {
                let pause = match has_typed || has_resized {
                    true => FRAME_AFTER_KEY,
                    false => FRAME,
                };
                let soon = self.drawn + pause;
                due = Some(due.map_or(soon, |due| due.min(soon)));
            }
            let now = Instant::now();
            let is_due = due.is_some_and(|due| due <= now);
            let has_moved = moves.is_some_and(|moves| moves <= now);
            if is_due || has_moved {
                due = None;
                let app = &mut self.app;
                self.screen.draw(|frame| app.draw(frame))?;
                self.drawn = Instant::now();
            }
        }
    }

    /// Does what belongs to the terminal, hands the rest on; true if the UI is to end.
    fn perform(&mut self, effect: Effect) -> io::Result<bool> {
        match effect {
            Effect::Quit => return Ok(true),
            Effect::Redraw => self.screen.forget(),
            Effect::Mouse(is_on) => self.screen.set_mouse(is_on)?,
            Effect::AskBackground if !background::can_be_asked() => {}
            Effect::AskBackground => {
                self.reader.expect_answer();
                self.screen.ask_background()?;
            }
            Effect::Clipboard { text, label } => self.copy(&text, &label)?,
            Effect::Page(text) => {
                if let Err(error) = self.lend(|| outside::page(&text))? {
                    self.app.tell(Notice::failed(format!("no pager: {error}")));
                }
            }
            Effect::Edit { text, extension } => {
                match self.lend(|| outside::edit(&text, extension))? {
                    Ok(Some(text)) => self.app.edited(&text),
                    Ok(None) => self
                        .app
                        .tell(Notice::warning("the text was left as it was")),
                    Err(error) => self.app.tell(Notice::failed(format!("no editor: {error}"))),
                }
            }
            Effect::Open { what } => {
                if let Err(error) = outside::open(&what) {
                    self.app
                        .tell(Notice::failed(format!("it was not opened: {error}")));
                }
            }
            Effect::Suspend => self.lend(suspend)?,
            #[expect(
                clippy::panic,
                reason = "a hidden key proves that the terminal is restored"
            )]
            Effect::Panic => panic!("asked to fall over"),
            other => {
                // The driver ends after this thread only.
                let _ = self.effects.send(other);
            }
        }
        Ok(false)
    }

    /// Gives keyboard and screen to another program.
    fn lend<T>(&mut self, meanwhile: impl FnOnce() -> T) -> io::Result<T> {
        self.reader.pause();
        let result = self.screen.lend(meanwhile);
        self.reader.resume();
        result
    }

    fn copy(&mut self, text: &str, label: &str) -> io::Result<()> {
        let size = text::bytes(text.len());
        let notice = if outside::copy(text) {
            Notice::done(format!("copied {label}, {size}"))
        } else if text.len() <= CLIPBOARD_LIMIT {
            self.screen.copy(text)?;
            Notice::done(format!("copied {label}, {size}, by the terminal"))
        } else {
            let limit = text::bytes(CLIPBOARD_LIMIT);
            Notice::failed(format!(
                "{size} are too much for the terminal's clipboard, which takes {limit}; save it"
            ))
        };
        self.app.tell(notice);
        Ok(())
    }
}

/// Stops this process as Ctrl-Z does in any other program, until the shell continues it.
fn suspend() {
    #[cfg(unix)]
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
}
