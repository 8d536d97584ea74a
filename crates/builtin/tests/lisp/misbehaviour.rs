//! Workers that are not what they should be: this executable plays them.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use attache_builtin::lisp::{
    Evaluator, Executable, Limits, Progress, Request, SessionState, Settings,
};
use attache_lisp::ErrorKind;

use crate::support::{ask, failure, in_session, lowered, request, run, value};

/// The first argument that makes this executable a bad worker; the second says how bad.
const ROLE: &str = "misbehave";

/// Plays a bad worker if that is why the process was started.
pub(crate) fn play_role() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ROLE) {
        return;
    }
    let how = arguments.next().unwrap_or_default();
    let mut stdout = std::io::stdout().lock();
    let ready = br#""Ready""#;
    let length = u32::try_from(ready.len()).unwrap().to_le_bytes();
    stdout.write_all(&length).unwrap();
    stdout.write_all(ready).unwrap();
    stdout.flush().unwrap();
    // The first byte of an order is enough to go wrong.
    let mut byte = [0];
    let mut stdin = std::io::stdin().lock();
    stdin.read_exact(&mut byte).unwrap();
    match how.as_str() {
        "abort" => std::process::abort(),
        "overflow" => {
            std::hint::black_box(descend(1));
        }
        "exit" => {
            #[expect(clippy::print_stderr, reason = "the last words of a worker")]
            {
                eprintln!("earlier words\nthe last words");
            }
            std::process::exit(7);
        }
        "nonsense" => {
            stdout.write_all(&[3, 0, 0, 0, b'?', b'?', b'?']).unwrap();
            stdout.flush().unwrap();
        }
        "flood" => {
            stdout.write_all(&[0xff; 64]).unwrap();
            stdout.flush().unwrap();
        }
        _ => {}
    }
    // Deaf: reads everything, answers nothing, until its input ends.
    let mut rest = [0; 4096];
    while matches!(stdin.read(&mut rest), Ok(1..)) {}
    std::process::exit(0);
}

/// Uses the stack until there is none left.
#[expect(unconditional_recursion, reason = "that is the point")]
fn descend(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    descend(depth + 1) + frame[0]
}

fn bad(how: &str) -> Evaluator {
    let own = std::env::current_exe().unwrap();
    Evaluator::new(Settings {
        executable: Executable::Other(own, vec![ROLE.into(), how.into()]),
        ..Settings::default()
    })
}

pub(crate) fn a_worker_that_cannot_start_is_reported() {
    run(async {
        let missing = "/nonexistent/program".into();
        let evaluator = Evaluator::new(Settings {
            executable: Executable::Other(missing, Vec::new()),
            ..Settings::default()
        });
        evaluator.warm_up().await;
        for session in [None, Some("s".to_owned())] {
            let asked = Request {
                session,
                ..request("1")
            };
            let answer = ask(&evaluator, asked).await;
            assert_eq!(answer.session, None, "no session began");
            let failed = answer.result.unwrap_err();
            assert_eq!(failed.kind, ErrorKind::Internal);
            assert!(failed.message.contains("could be started"), "{failed:?}");
            assert!(failed.message.contains("No such file"), "{failed:?}");
        }
        // A program that starts and is no worker.
        let evaluator = Evaluator::new(Settings {
            executable: Executable::Other("/bin/false".into(), Vec::new()),
            ..Settings::default()
        });
        let failed = failure(&evaluator, request("1")).await;
        assert_eq!(failed.kind, ErrorKind::Internal);
        assert!(failed.message.contains("exit status: 1"), "{failed:?}");
    });
}

/// Every bad end twice: the second call gets a new worker and the same truth.
fn check(how: &str, kind: ErrorKind, words: &str) {
    run(async {
        let evaluator = bad(how);
        for _ in 0..2 {
            let failed = failure(&evaluator, request("1")).await;
            assert_eq!(failed.kind, kind, "{failed:?}");
            assert!(failed.message.contains(words), "{failed:?}");
        }
        let answer = ask(&evaluator, in_session("s", "1")).await;
        assert_eq!(answer.session, Some(SessionState::Lost));
        let message = answer.result.unwrap_err().message;
        assert!(
            message.contains("definitions of the session are lost"),
            "{message}"
        );
    });
}

pub(crate) fn a_worker_that_aborts_is_a_defect() {
    check("abort", ErrorKind::Internal, "signal: 6");
}

pub(crate) fn a_worker_that_overflows_its_stack_is_a_defect() {
    check("overflow", ErrorKind::Internal, "stack");
}

pub(crate) fn a_worker_that_exits_early_says_its_last_words() {
    check(
        "exit",
        ErrorKind::Internal,
        "exit status: 7): the last words",
    );
}

pub(crate) fn a_worker_that_never_answers_is_killed_at_the_wall() {
    run(async {
        let evaluator = bad("deaf");
        let limited = Request {
            limits: lowered(|limits| limits.wall_ms = Some(100)),
            ..request("1")
        };
        let began = Instant::now();
        let failed = failure(&evaluator, limited).await;
        assert_eq!(failed.kind, ErrorKind::Time);
        assert!(failed.message.contains("killed"), "{failed:?}");
        assert!(began.elapsed() >= Duration::from_millis(100));
    });
}

pub(crate) fn a_worker_that_ignores_a_cancellation_is_killed() {
    run(async {
        let evaluator = bad("deaf");
        let evaluation = evaluator.evaluate(in_session("s", "1"), |_: Progress| {});
        let waited = tokio::time::timeout(Duration::from_millis(50), evaluation).await;
        assert!(waited.is_err(), "it cannot have answered");
        // The session's turn comes when the deaf worker is gone, not after the wall limit.
        let began = Instant::now();
        let answer = ask(&evaluator, in_session("s", "1")).await;
        assert_eq!(answer.session, Some(SessionState::Lost));
        assert!(
            began.elapsed() < Duration::from_secs(4),
            "{:?}",
            began.elapsed()
        );
    });
}

pub(crate) fn a_worker_that_talks_nonsense_is_replaced() {
    for how in ["nonsense", "flood"] {
        run(async {
            let evaluator = bad(how);
            let failed = failure(&evaluator, request("1")).await;
            assert_eq!(failed.kind, ErrorKind::Internal, "{failed:?}");
        });
    }
}

pub(crate) fn a_worker_without_memory_is_a_memory_error() {
    run(async {
        // The language would allow it; the operating system does not.
        let evaluator = Evaluator::new(Settings {
            limits: Limits {
                heap: 4 << 30,
                steps: u64::MAX,
                ..Limits::default()
            },
            address_space: Some(700 << 20),
            ..Settings::default()
        });
        let failed = failure(
            &evaluator,
            request("(vector-length (make-vector 200000000 0))"),
        )
        .await;
        assert_eq!(failed.kind, ErrorKind::Memory, "{failed:?}");
        assert!(failed.message.contains("worker"), "{failed:?}");
        assert_eq!(value(&evaluator, "(+ 1 2)").await, "3");
        drop(evaluator);
        // The default address space is enough for everything the default limits allow.
        let evaluator = Evaluator::new(Settings::default());
        let full = "(define v (make-vector 3900000 0)) (define w (make-vector 3900000 1))
                    (let loop ((i 0)) (if (< i 10) (begin (make-vector 100000 i) (loop (+ i 1))) i))";
        assert_eq!(value(&evaluator, full).await, "10");
    });
}
