//! The tap before a server that is a program.
//!
//! Three threads pass bytes on; this one passes on signals and the end. The server runs under a
//! guardian, so it ends with the tap, however the tap ends. In all else the tap behaves as if it
//! were the server: its exit code, the signal it dies of, and which of its streams are closed.

#[cfg(not(unix))]
use std::ffi::OsString;

#[cfg(not(unix))]
use super::TapeArgs;
#[cfg(not(unix))]
use crate::failure::Failure;
#[cfg(not(unix))]
use crate::output::Output;

#[cfg(not(unix))]
pub(super) async fn run(
    _: Vec<OsString>,
    _: Option<String>,
    _: &TapeArgs,
    _: &Output,
) -> Result<(), Failure> {
    Err(Failure::usage("tapping a program works on Unix only")
        .hint("serve it over HTTP and use `attache tap --http`"))
}

#[cfg(unix)]
pub(super) use unix::run;

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::io;
    use std::time::Duration;

    use attache::process::{self, Environment, ExitReason, Ladder, Launch, ServerProcess, Spawned};
    use attache_record::tap::{Lane, stdio};
    use attache_record::{Direction, Framing, Tape, Transport};
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::signal::unix::{SignalKind, signal};
    use tokio::sync::{mpsc, oneshot};

    use super::super::TapeArgs;
    use super::super::streams::{Readers, Stream, Streams};
    use crate::failure::{Exit, Failure, Kind};
    use crate::interrupt::ignored_signals;
    use crate::output::Output;
    use crate::target::program_name;

    /// The connection's number; there is one only.
    const CONNECTION: u32 = 1;
    /// How long the last output may take once the server has ended. Where a guardian takes down
    /// what a server leaves behind, its pipes close at once.
    const DRAIN_PATIENCE: Duration = Duration::from_secs(2);
    /// How often to look whether the client is still there, once it has closed the input.
    const LOOK_INTERVAL: Duration = Duration::from_millis(200);
    /// The signals that are passed on.
    const PASSED_ON: [Signal; 6] = [
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
        Signal::USR1,
        Signal::USR2,
    ];

    /// Runs the server, and ends like it.
    pub(in super::super) async fn run(
        command: Vec<OsString>,
        name: Option<String>,
        tape: &TapeArgs,
        output: &Output,
    ) -> Result<(), Failure> {
        let mut words = command.into_iter();
        let Some(program) = words.next() else {
            return Err(Failure::usage("there is no server to tap")
                .hint("give its command, for example: attache tap -- uvx mcp-server-time"));
        };
        // The client has chosen the environment, so all of it is the server's.
        let launch = Launch::new(program)
            .args(words)
            .environment(Environment::Inherit);
        let shown: Vec<_> = launch.words().map(|word| word.to_string_lossy()).collect();
        let name = name.unwrap_or_else(|| program_name(&shown[0]));
        let taped = tape.begin(Transport::Stdio, &name, &shown.join(" "), output)?;
        let tape = taped.tape();
        let signals = Signals::listen()
            .map_err(|error| Failure::unexpected(format!("cannot listen for signals: {error}")))?;
        let spawned = match process::spawn(&launch).await {
            Ok(spawned) => spawned,
            Err(error) => {
                taped.conclude(output);
                let failure = Failure::new(Kind::Spawn, Exit::Unreachable, error.to_string());
                return Err(failure.of(&name));
            }
        };
        let reason = pass(spawned, &tape, signals)
            .await
            .map_err(|error| Failure::unexpected(format!("cannot pass streams on: {error}")))?;
        if let Some(tape) = &tape {
            tape.state(CONNECTION, "exited", Some(reason.to_string()));
        }
        taped.conclude(output);
        leave(reason)
    }

    /// Passes everything on until the server has ended.
    async fn pass(
        spawned: Spawned,
        tape: &Option<Tape>,
        mut signals: Signals,
    ) -> io::Result<ExitReason> {
        let Spawned {
            stdin,
            stdout,
            stderr,
            child,
        } = spawned;
        let ours = Streams::take()?;
        let readers = ours.stdout.readers();
        let stdin = Stream::of(stdin.into_blocking_fd()?);
        let stdout = Stream::of(stdout.into_blocking_fd()?);
        let stderr = Stream::of(stderr.into_blocking_fd()?);
        let input = begin("tap stdin", ours.stdin, stdin, lane(tape, Direction::C2s))?;
        let output = begin(
            "tap stdout",
            stdout,
            ours.stdout,
            lane(tape, Direction::S2c),
        )?;
        let errors = begin(
            "tap stderr",
            stderr,
            ours.stderr,
            lane(tape, Direction::Stderr),
        )?;
        let mut client_gone = Box::pin(gone(input, readers));
        let reason = loop {
            tokio::select! {
                reason = child.wait() => break reason,
                Some(number) = signals.0.recv() => send(&child, number),
                // The client is gone, and would have left a server that does not heed the end of its
                // input behind.
                () = &mut client_gone => break child.close(Ladder::default()).await,
            }
        };
        // What the server wrote last belongs to the client.
        let rest = async { (output.await, errors.await) };
        let _ = tokio::time::timeout(DRAIN_PATIENCE, rest).await;
        Ok(reason)
    }

    fn lane(tape: &Option<Tape>, dir: Direction) -> Option<Lane> {
        let tape = tape.clone()?;
        Some(Lane::new(tape, CONNECTION, dir, Framing::Lines))
    }

    /// Passes one stream on, on a thread of its own: nothing is faster to wake up.
    fn begin(
        name: &str,
        from: Stream,
        to: Stream,
        lane: Option<Lane>,
    ) -> io::Result<oneshot::Receiver<()>> {
        let (ended, end) = oneshot::channel();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                stdio::pass(from, to, lane.as_ref());
                // The tap may be leaving already.
                let _ = ended.send(());
            })?;
        Ok(end)
    }

    /// Ends when the client has closed the input and reads no output any more.
    async fn gone(input: oneshot::Receiver<()>, readers: Readers) {
        let _ = input.await;
        while !readers.are_gone() {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// The signals this process gets.
    struct Signals(mpsc::Receiver<Signal>);

    impl Signals {
        fn listen() -> io::Result<Self> {
            let (seen, signals) = mpsc::channel(16);
            let ignored = ignored_signals();
            for number in PASSED_ON {
                // What is ignored here is ignored there: the server inherits it.
                if ignored >> (number.as_raw() - 1) & 1 == 1 {
                    continue;
                }
                let mut source = signal(SignalKind::from_raw(number.as_raw()))?;
                let seen = seen.clone();
                tokio::spawn(async move {
                    while source.recv().await.is_some() && seen.send(number).await.is_ok() {}
                });
            }
            Ok(Self(signals))
        }
    }

    /// Passes a signal on: those of a terminal to all of the server's group, as a terminal would.
    fn send(child: &ServerProcess, signal: Signal) {
        let Some(server) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return;
        };
        // It fails when the server has just ended, which is told next.
        let _ = match signal {
            Signal::INT | Signal::QUIT => kill_process_group(server, signal),
            _ => kill_process(server, signal),
        };
    }

    /// Ends like the server.
    fn leave(reason: ExitReason) -> ! {
        let code = match reason {
            ExitReason::Code(code) => code,
            ExitReason::Signal(number) => {
                let own = rustix::process::getpid();
                if number == Signal::KILL.as_raw() {
                    let _ = kill_process(own, Signal::KILL);
                } else {
                    // Where a signal cannot be had, its customary code says which it was.
                    let _ = signal_hook::low_level::emulate_default_handler(number);
                }
                128 + number
            }
            ExitReason::Unknown => Exit::Unexpected as i32,
        };
        std::process::exit(code)
    }
}
