//! One command's connection: opened, listened to, interrupted, closed.
//!
//! Stands between a command and its server. Owns what happens besides the command's own requests:
//! signals, the server's log and stderr, questions to the user, and the end.

use std::time::Duration;

use attache::protocol::LogLevel;
use attache::{Client, ElicitationModes, Error, Event, ShutdownForm};
use tokio::task::JoinHandle;

use crate::ask::Asker;
use crate::failure::{self, Failure};
use crate::interrupt::Interrupts;
use crate::invocation::ConnectionOptions;
use crate::output::{Output, Style, Text, Verbosity};
use crate::target::Target;

/// How long a command waits for its server to leave by itself before it leaves the rest to the
/// guardian. Servers without an interpreter are gone by then, so the next command finds their files
/// and ports free; the others, which take 20 ms to 1.2 s, do not keep the user waiting.
const CLOSE_PATIENCE: Duration = Duration::from_millis(3);
/// How long stderr may take to be read to its end when it is being shown.
const STDERR_PATIENCE: Duration = Duration::from_millis(10);

/// A command's connection to its server.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// The name of the server in output.
    pub(crate) name: String,
    /// How long any request may take, however much progress there is.
    pub(crate) longest_request: Duration,
    output: Output,
    interrupts: Interrupts,
    shutdown: ShutdownForm,
    listeners: Vec<JoinHandle<()>>,
}

impl Session {
    /// Starts the server and connects to it.
    pub(crate) async fn open(
        target: &Target,
        options: ConnectionOptions,
        output: &Output,
    ) -> Result<Self, Failure> {
        let name = target.name();
        let interrupts = Interrupts::listen()?;
        let shutdown = options.settings.quirks.shutdown;
        let longest_request = options.settings.timeouts.maximum;
        let mut server = target.server()?.settings(options.settings);
        for (variable, value) in options.environment {
            server = server.env(variable, value);
        }
        if let Some(folder) = options.folder {
            server = server.current_dir(folder);
        }
        if output.can_ask() {
            // Without somebody to ask, the server is not told that it could (S-ELIC-01).
            let asker = Asker::new(&name, output.clone());
            server = server.on_elicitation(ElicitationModes::FormAndUrl, move |question| {
                let asker = asker.clone();
                async move { asker.ask(question).await }
            });
        }
        let connected = tokio::select! {
            biased;
            connected = server.connect() => connected,
            () = interrupts.raised() => return Err(interrupted_start().of(&name)),
        };
        let client = connected.map_err(|error| Failure::from(error).of(&name))?;
        let mut session = Self {
            client,
            name,
            longest_request,
            output: output.clone(),
            interrupts,
            shutdown,
            listeners: Vec::new(),
        };
        session.listen(options.log_level);
        if let Some(level) = options.log_level
            && let Err(failure) = session.run(session.client.set_log_level(level)).await
        {
            output.note(&format!("the log level was not set: {failure}"));
        }
        Ok(session)
    }

    /// Does something with the server until it is done or the user interrupts it. What is
    /// interrupted is cancelled, and the server is told.
    pub(crate) async fn run<T>(
        &self,
        work: impl IntoFuture<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            result = work.into_future() => result.map_err(|error| self.explain(error)),
            () = self.interrupts.raised() => Err(failure::cancelled().of(&self.name)),
        }
    }

    /// A failure of this server.
    pub(crate) fn explain(&self, error: Error) -> Failure {
        Failure::from(error).of(&self.name)
    }

    /// Waits until the user wants to stop.
    pub(crate) async fn interrupted(&self) {
        self.interrupts.raised().await;
    }

    /// Ends the connection: what was sent is written, the server's stdin closed. A server that does
    /// not leave at once is left to the guardian, which takes it and everything it started down
    /// within two seconds of our exit; where there is no guardian, this waits for that.
    pub(crate) async fn close(self) {
        let mut closing = std::pin::pin!(self.client.close());
        let patience = match self.shutdown {
            ShutdownForm::Close if is_guarded() => CLOSE_PATIENCE,
            _ => Duration::MAX,
        };
        let _ = tokio::time::timeout(patience, &mut closing).await;
        if self.output.verbosity == Verbosity::Verbose {
            tokio::time::sleep(STDERR_PATIENCE).await;
        }
        for listener in &self.listeners {
            listener.abort();
        }
        match self.client.statistics().stray_lines {
            0 => {}
            1 => self.output.note(&format!(
                "{} wrote a line to stdout that is no message; it was skipped",
                self.name
            )),
            count => self.output.note(&format!(
                "{} wrote {count} lines to stdout that are no messages; they were skipped",
                self.name
            )),
        }
    }

    fn listen(&mut self, log_level: Option<LogLevel>) {
        let verbose = self.output.verbosity == Verbosity::Verbose;
        let show = Shown {
            server: self.name.clone(),
            output: self.output.clone(),
            log: log_level.is_some() || verbose,
            defects: verbose,
        };
        if show.log || show.defects {
            let mut events = self.client.events();
            let show = show.clone();
            self.listeners.push(tokio::spawn(async move {
                while let Some(event) = events.next().await {
                    show.event(&event);
                }
            }));
        }
        if verbose {
            // Both in one go, so that no line is missed or comes twice: nothing reads in between.
            let mut lines = self.client.stderr().follow();
            let earlier = self.client.stderr().tail();
            self.listeners.push(tokio::spawn(async move {
                for line in earlier {
                    show.line("stderr", &line);
                }
                while let Some(line) = lines.next().await {
                    show.line("stderr", &line);
                }
            }));
        }
    }
}

fn interrupted_start() -> Failure {
    Failure {
        message: "cancelled before the server was ready; it was stopped".to_owned(),
        ..failure::cancelled()
    }
}

/// Whether a guardian sees to the servers of this process once it has ended.
fn is_guarded() -> bool {
    cfg!(target_os = "linux") && std::fs::metadata("/proc/self/exe").is_ok()
}

/// What of a server's unasked words is shown.
#[derive(Clone)]
struct Shown {
    server: String,
    output: Output,
    log: bool,
    defects: bool,
}

impl Shown {
    fn event(&self, event: &Event) {
        match event {
            Event::Log(message) if self.log => {
                let text: Result<String, _> = message.data.decode();
                let text = text.unwrap_or_else(|_| message.data.to_string());
                match &message.logger {
                    Some(logger) => self.line(&message.level, &format!("{logger}: {text}")),
                    None => self.line(&message.level, &text),
                }
            }
            Event::Stray { line, reason } if self.defects => {
                self.line("stdout", &format!("{line} ({reason})"));
            }
            Event::Violation(problem) if self.defects => self.line("protocol", problem),
            Event::Missed(count) => {
                self.line(
                    "log",
                    &format!("{count} messages came too fast and were dropped"),
                );
            }
            _ => {}
        }
    }

    fn line(&self, source: &str, text: &str) {
        let mut line = Text::new();
        line.add(Style::Faint, &format!("{} {source}: ", self.server))
            .plain(text)
            .end_line();
        self.output.aside_text(&line);
    }
}
