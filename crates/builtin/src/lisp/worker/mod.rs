//! The worker process: one evaluation at a time, and nothing else.
//!
//! Owns the language's sessions on this side of the pipe. Refuses to know which session it serves
//! and who asked. It ends when its standard input does, so it cannot outlive the server: a thread
//! of its own reads there, also while an evaluation runs.

mod confine;

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use attache_lisp::{ErrorKind, Failure, Interrupt, Outcome, Session, Stop};

use super::limits::Limits;
use super::wire::{self, Order, Report, WorkerState, World};

/// The first argument that makes an executable a worker; the second is its address space.
pub(super) const WORKER_ARGUMENT: &str = "__attache-lisp-worker";

/// Time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A message is not cut to less than this many bytes.
const LEAST_MESSAGE: usize = 256;
/// What stands for the rest of a message.
const CUT: &str = "…";

/// Lets this program be started as a worker. Call it first thing in `main`, before threads,
/// runtimes and argument parsing.
///
/// If the program was started to be a worker, this runs the worker and then ends the process.
pub fn enable() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == WORKER_ARGUMENT)
    {
        let address_space = arguments
            .next()
            .and_then(|bytes| bytes.to_str()?.parse().ok());
        std::process::exit(i32::from(run(address_space).is_err()));
    }
}

fn run(address_space: Option<u64>) -> io::Result<()> {
    let confinement = confine::at_start(address_space);
    let cancelled = Arc::new(AtomicBool::new(false));
    let (orders, waiting) = sync_channel(1);
    let flag = Arc::clone(&cancelled);
    std::thread::Builder::new()
        .name("orders".into())
        .spawn(move || take_orders(&orders, &flag))?;
    let mut session = Session::new(Limits::default().of_language());
    let mut stdout = io::stdout().lock();
    wire::write(&mut stdout, &Report::Confined(confinement))?;
    wire::write(&mut stdout, &Report::Ready)?;
    while let Ok((code, limits, world)) = waiting.recv() {
        confine::for_evaluation(limits.wall());
        let supervision = Supervision::new(&limits, &cancelled);
        let result = catch_unwind(AssertUnwindSafe(|| {
            session.evaluate(&code, Some(&limits.of_language()), &supervision)
        }));
        let (report, fate) = match result {
            Ok(result) => (report(result, limits.output), WorkerState::Intact),
            Err(panic) => (defect(panic.as_ref()), WorkerState::Lost),
        };
        wire::write(&mut stdout, &report)?;
        if world == World::Fresh || fate == WorkerState::Lost {
            // Made after the answer, so that nobody waits for it.
            session = Session::new(Limits::default().of_language());
        }
    }
    Ok(())
}

/// Takes orders from standard input until it ends, which ends the process.
fn take_orders(orders: &SyncSender<(String, Limits, World)>, cancelled: &AtomicBool) {
    let mut stdin = io::stdin().lock();
    let code = loop {
        match wire::read(&mut stdin) {
            Ok(Some(Order::Evaluate {
                code,
                limits,
                world,
            })) => {
                // Whatever was cancelled before has ended.
                cancelled.store(false, Ordering::Relaxed);
                if orders.send((code, limits, world)).is_err() {
                    break 1;
                }
            }
            Ok(Some(Order::Cancel)) => cancelled.store(true, Ordering::Relaxed),
            Ok(None) => break 0,
            Err(_) => break 1,
        }
    };
    std::process::exit(code);
}

fn report(result: Result<Outcome, Failure>, output: u64) -> Report {
    match result {
        Ok(outcome) => Report::Value {
            value: outcome.value,
            output: outcome.output,
            steps: outcome.steps,
            heap_peak: outcome.heap_peak as u64,
        },
        Err(failure) => Report::Failure {
            kind: failure.kind.name().to_owned(),
            message: cut(failure.message, output),
            position: failure.position.map(|at| (at.line, at.column)),
            output: failure.output,
            world: WorkerState::Intact,
        },
    }
}

/// A message in the limit of output, which also has a least length so that it still says something.
/// A program can name a variable as long as itself, and a message repeats the name.
fn cut(mut message: String, output: u64) -> String {
    let most = usize::try_from(output).unwrap_or(usize::MAX);
    let most = most.max(LEAST_MESSAGE);
    if message.len() > most {
        let most = most - CUT.len();
        let whole = (0..=most).rev().find(|end| message.is_char_boundary(*end));
        message.truncate(whole.unwrap_or(0));
        message.push_str(CUT);
    }
    message
}

/// A panic is a defect of the evaluator: its definitions cannot be trusted any more.
fn defect(panic: &(dyn std::any::Any + Send)) -> Report {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Report::Failure {
        kind: ErrorKind::Internal.name().to_owned(),
        message: format!("a defect of the evaluator: {words}"),
        position: None,
        output: String::new(),
        world: WorkerState::Lost,
    }
}

/// Watches one evaluation from inside: the clock, the flag, and progress.
struct Supervision<'a> {
    deadline: Instant,
    cancelled: &'a AtomicBool,
    reported: Cell<Instant>,
}

impl<'a> Supervision<'a> {
    fn new(limits: &Limits, cancelled: &'a AtomicBool) -> Self {
        let now = Instant::now();
        Self {
            deadline: now + limits.wall(),
            cancelled,
            reported: Cell::new(now),
        }
    }
}

impl Interrupt for Supervision<'_> {
    fn poll(&self, steps: u64) -> Option<Stop> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Some(Stop::Cancelled);
        }
        let now = Instant::now();
        if now >= self.deadline {
            return Some(Stop::Deadline);
        }
        if now.duration_since(self.reported.get()) >= PROGRESS_EVERY {
            self.reported.set(now);
            // A server that does not listen any more ends this process by itself.
            let _ = wire::write(&mut io::stdout(), &Report::Progress(steps));
        }
        None
    }
}
