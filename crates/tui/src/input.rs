//! What comes from the terminal and from signals, read on a thread of its own.
//!
//! The thread waits in the kernel for the keyboard, a signal or an order, and never wakes up for
//! nothing. While another program has the terminal it waits for orders only.

use std::io;
use std::thread::JoinHandle;

use crate::mailbox::Mailbox;

/// The thread that reads. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Reader {
    orders: platform::Orders,
    thread: JoinHandle<()>,
}

impl Reader {
    pub(crate) fn start(mailbox: Mailbox) -> io::Result<Self> {
        let (orders, thread) = platform::start(mailbox)?;
        Ok(Self { orders, thread })
    }

    /// The UI has ended; if the thread fell over, so does this one.
    pub(crate) fn end(self) {
        drop(self.orders);
        if let Err(cause) = self.thread.join() {
            std::panic::resume_unwind(cause);
        }
    }

    /// Leaves the keyboard to another program.
    pub(crate) fn pause(&self) {
        self.orders.pause();
    }

    /// Reads again.
    pub(crate) fn resume(&self) {
        self.orders.resume();
    }

    /// From now on the terminal may answer among the keys.
    pub(crate) fn expect_answer(&self) {
        self.orders.expect_answer();
    }
}

#[cfg(unix)]
mod platform {
    use std::io::{self, Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};

    use ratatui::crossterm::event::{self, Event};
    use ratatui::crossterm::terminal;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};

    use crate::background::{AnswerFilter, Input};
    use crate::mailbox::Mailbox;
    use crate::message::Message;

    /// How long to wait for what is there already; with less the library does not look.
    const AT_ONCE: Duration = Duration::from_millis(1);

    /// Orders to the thread.
    #[derive(Debug)]
    pub(crate) struct Orders {
        bell: UnixStream,
        is_paused: Arc<AtomicBool>,
        /// The thread answers here when it has paused.
        paused: UnixStream,
        is_answer_due: Arc<AtomicBool>,
        is_over: Arc<AtomicBool>,
    }

    /// What signals have said since it was looked at.
    #[derive(Default)]
    struct Signals {
        resized: Arc<AtomicBool>,
        continued: Arc<AtomicBool>,
        end: Arc<AtomicBool>,
    }

    pub(crate) fn start(mailbox: Mailbox) -> io::Result<(Orders, JoinHandle<()>)> {
        let (bell, heard) = UnixStream::pair()?;
        let (tell_paused, paused) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let signals = Signals::default();
        for (signal, flag) in [
            (SIGWINCH, &signals.resized),
            (SIGCONT, &signals.continued),
            (SIGINT, &signals.end),
            (SIGTERM, &signals.end),
            (SIGHUP, &signals.end),
        ] {
            signal_hook::flag::register(signal, flag.clone())?;
            signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
        }
        let is_paused = Arc::new(AtomicBool::new(false));
        let is_answer_due = Arc::new(AtomicBool::new(false));
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = Thread {
            mailbox,
            heard,
            tell_paused,
            signals,
            is_paused: is_paused.clone(),
            is_answer_due: is_answer_due.clone(),
            is_over: is_over.clone(),
            filter: AnswerFilter::default(),
        };
        let thread = std::thread::Builder::new()
            .name("attache-input".to_owned())
            .spawn(move || thread.run())?;
        let orders = Orders {
            bell,
            is_paused,
            paused,
            is_answer_due,
            is_over,
        };
        Ok((orders, thread))
    }

    impl Orders {
        pub(crate) fn pause(&self) {
            self.is_paused.store(true, Ordering::SeqCst);
            self.ring();
            // The thread may be reading a key at this moment; it answers right after.
            let _ = self.paused.set_read_timeout(Some(Duration::from_secs(1)));
            let _ = (&self.paused).read(&mut [0]);
        }

        pub(crate) fn resume(&self) {
            self.is_paused.store(false, Ordering::SeqCst);
            self.ring();
        }

        pub(crate) fn expect_answer(&self) {
            self.is_answer_due.store(true, Ordering::SeqCst);
        }

        fn ring(&self) {
            // A bell that cannot be written to is full, so it rings.
            let _ = (&self.bell).write(b"!");
        }
    }

    impl Drop for Orders {
        fn drop(&mut self) {
            self.is_over.store(true, Ordering::SeqCst);
            self.ring();
        }
    }

    struct Thread {
        mailbox: Mailbox,
        heard: UnixStream,
        tell_paused: UnixStream,
        signals: Signals,
        is_paused: Arc<AtomicBool>,
        is_answer_due: Arc<AtomicBool>,
        is_over: Arc<AtomicBool>,
        filter: AnswerFilter,
    }

    /// A UI that hears nothing could never be left.
    impl Drop for Thread {
        fn drop(&mut self) {
            self.mailbox.send(Message::EndAsked);
        }
    }

    impl Thread {
        /// Reads until the UI or the terminal is gone.
        fn run(mut self) {
            let stdin = io::stdin();
            let mut was_paused = false;
            while !self.is_over.load(Ordering::SeqCst) {
                let is_paused = self.is_paused.load(Ordering::SeqCst);
                if is_paused && !was_paused {
                    let _ = self.tell_paused.write(b"!");
                }
                was_paused = is_paused;
                let mut sources = vec![PollFd::new(&self.heard, PollFlags::IN)];
                if !is_paused {
                    sources.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN));
                }
                let patience = self.filter.expires().and_then(|at| {
                    Timespec::try_from(at.saturating_duration_since(Instant::now())).ok()
                });
                if let Err(error) = poll(&mut sources, patience.as_ref())
                    && error != rustix::io::Errno::INTR
                {
                    return;
                }
                let typed = sources.get(1).map(|source| source.revents());
                let typed = typed.unwrap_or(PollFlags::empty());
                let _ = self.heard.read(&mut [0; 64]);
                self.tell_signals();
                self.hand_on(|filter, now, into| filter.expire(now, into));
                if typed.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                    return;
                }
                if typed.contains(PollFlags::IN) && !self.read_keys() {
                    return;
                }
            }
        }

        /// Reads what is there; false if the terminal is gone.
        fn read_keys(&mut self) -> bool {
            while let Ok(true) = event::poll(AT_ONCE) {
                match event::read() {
                    // Signals tell of it as well, at once.
                    Ok(Event::Resize(..)) => {}
                    Ok(event) => self.hand_on(|filter, now, into| filter.take(event, now, into)),
                    Err(_) => return false,
                }
            }
            true
        }

        /// Hands on what the filter leaves.
        fn hand_on(&mut self, left: impl FnOnce(&mut AnswerFilter, Instant, &mut Vec<Input>)) {
            let now = Instant::now();
            // Set before the question is written, so an answer cannot be read earlier.
            if self.is_answer_due.swap(false, Ordering::SeqCst) {
                self.filter.ask(now);
            }
            let mut inputs = Vec::new();
            left(&mut self.filter, now, &mut inputs);
            for input in inputs {
                self.mailbox.send(match input {
                    Input::Event(event) => Message::Terminal(event),
                    Input::Background { is_light } => Message::Background { is_light },
                });
            }
        }

        fn tell_signals(&self) {
            let taken = |flag: &AtomicBool| flag.swap(false, Ordering::SeqCst);
            if taken(&self.signals.resized)
                && let Ok((columns, rows)) = terminal::size()
            {
                self.mailbox
                    .send(Message::Terminal(Event::Resize(columns, rows)));
            }
            if taken(&self.signals.continued) {
                self.mailbox.send(Message::Continued);
            }
            if taken(&self.signals.end) {
                self.mailbox.send(Message::EndAsked);
            }
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::JoinHandle;
    use std::time::Duration;

    use ratatui::crossterm::event;

    use crate::mailbox::Mailbox;
    use crate::message::Message;

    /// How often the thread looks for orders, where it cannot wait for both.
    const LOOK: Duration = Duration::from_millis(250);

    #[derive(Debug)]
    pub(crate) struct Orders {
        is_paused: Arc<AtomicBool>,
        is_over: Arc<AtomicBool>,
    }

    pub(crate) fn start(mailbox: Mailbox) -> io::Result<(Orders, JoinHandle<()>)> {
        let orders = Orders {
            is_paused: Arc::default(),
            is_over: Arc::default(),
        };
        let (is_paused, is_over) = (orders.is_paused.clone(), orders.is_over.clone());
        let thread = std::thread::Builder::new()
            .name("attache-input".to_owned())
            .spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    if is_paused.load(Ordering::SeqCst) {
                        std::thread::sleep(LOOK);
                    } else if event::poll(LOOK).unwrap_or(false) {
                        match event::read() {
                            Ok(event) => mailbox.send(Message::Terminal(event)),
                            Err(_) => return mailbox.send(Message::EndAsked),
                        }
                    }
                }
            })?;
        Ok((orders, thread))
    }

    impl Orders {
        pub(crate) fn pause(&self) {
            self.is_paused.store(true, Ordering::SeqCst);
        }

        pub(crate) fn resume(&self) {
            self.is_paused.store(false, Ordering::SeqCst);
        }

        /// No terminal is asked here.
        pub(crate) fn expect_answer(&self) {}
    }

    impl Drop for Orders {
        fn drop(&mut self) {
            self.is_over.store(true, Ordering::SeqCst);
        }
    }
}
