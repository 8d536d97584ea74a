//! Sessions: what stays, what goes, and in which order.

use std::time::Duration;

use attache_builtin::lisp::{Evaluator, Limits, Progress, Request, SessionState, Settings};

use crate::support::{ask, evaluator, in_session, request, run, step};

fn is(value: &str, state: SessionState) -> (String, Option<SessionState>) {
    (value.to_owned(), Some(state))
}

pub(crate) fn definitions_stay_under_a_name() {
    run(async {
        let evaluator = evaluator();
        let new = SessionState::New;
        let continued = SessionState::Continued;
        assert_eq!(step(&evaluator, "a", "(define x 1)").await, is("", new));
        assert_eq!(step(&evaluator, "a", "(+ x 1)").await, is("2", continued));
        assert_eq!(step(&evaluator, "b", "x").await, is("!unbound", new));
        assert_eq!(
            step(&evaluator, "a", "(car x)").await,
            is("!type", continued)
        );
        // Definitions before a failure stay, and a failure spoils none.
        let failing = "(define y 2) (car 'oops) (define z 3)";
        assert_eq!(step(&evaluator, "a", failing).await, is("!type", continued));
        assert_eq!(
            step(&evaluator, "a", "(list x y)").await,
            is("(1 2)", continued)
        );
        assert_eq!(step(&evaluator, "a", "z").await, is("!unbound", continued));
        evaluator.close().await;
        assert_eq!(step(&evaluator, "a", "x").await, is("!unbound", new));
    });
}

pub(crate) fn the_oldest_session_is_dropped() {
    run(async {
        let evaluator = Evaluator::new(Settings {
            sessions: 2,
            ..Settings::default()
        });
        for name in ["a", "b"] {
            step(&evaluator, name, "(define x 'mine)").await;
        }
        // Used again, so that the other is the oldest.
        assert_eq!(step(&evaluator, "a", "x").await.0, "mine");
        assert_eq!(
            step(&evaluator, "c", "x").await,
            is("!unbound", SessionState::New)
        );
        assert_eq!(
            step(&evaluator, "a", "x").await,
            is("mine", SessionState::Continued)
        );
        // The one that had to go says so once, and runs nothing.
        let answer = ask(&evaluator, in_session("b", "(define x 'again)")).await;
        assert_eq!(answer.session, Some(SessionState::Lost));
        let message = answer.result.unwrap_err().message;
        assert!(message.contains("made room"), "{message}");
        assert_eq!(
            step(&evaluator, "b", "x").await,
            is("!unbound", SessionState::New)
        );
    });
}

/// A session that is not used gives its process back, and says so when it is asked for again.
pub(crate) fn an_idle_session_ends_its_process_and_says_so() {
    run(async {
        let evaluator = Evaluator::new(Settings {
            idle: Duration::from_millis(1),
            ..Settings::default()
        });
        let mut pause = Duration::from_millis(20);
        let rested = loop {
            let answer = ask(&evaluator, in_session("a", "(define x 'mine)")).await;
            if answer.session == Some(SessionState::Lost) {
                break answer;
            }
            assert!(pause < Duration::from_secs(20), "it keeps its process");
            tokio::time::sleep(pause).await;
            pause *= 2;
        };
        let message = rested.result.unwrap_err().message;
        assert!(message.contains("was not used"), "{message}");
        assert_eq!(
            step(&evaluator, "a", "x").await,
            is("!unbound", SessionState::New)
        );
    });
}

/// One owner that opens many sessions loses its own, and no other owner's.
pub(crate) fn a_flood_of_sessions_costs_its_owner_only() {
    run(async {
        let evaluator = Evaluator::new(Settings {
            sessions: 2,
            ..Settings::default()
        });
        let of = |owner: &str, name: &str, code: &str| Request {
            owner: owner.to_owned(),
            ..in_session(name, code)
        };
        ask(&evaluator, of("quiet", "s", "(define x 'mine)")).await;
        for number in 0..6 {
            let name = format!("s{number}");
            let answer = ask(&evaluator, of("flood", &name, "1")).await;
            assert_eq!(answer.session, Some(SessionState::New));
        }
        let answer = ask(&evaluator, of("quiet", "s", "x")).await;
        assert_eq!(answer.session, Some(SessionState::Continued));
        assert_eq!(answer.result.unwrap().value, "mine");
        let answer = ask(&evaluator, of("flood", "s0", "1")).await;
        assert_eq!(answer.session, Some(SessionState::Lost));
    });
}

/// The evaluations of one owner fill all its places and go on while another is served.
pub(crate) fn slow_work_of_one_owner_delays_no_other() {
    run(async {
        let evaluator = Evaluator::new(Settings {
            limits: Limits {
                steps: u64::MAX,
                wall_ms: 600_000,
                ..Limits::default()
            },
            workers: 2,
            ..Settings::default()
        });
        let (started, mut progress) = tokio::sync::mpsc::unbounded_channel();
        let slow: Vec<_> = (0..5)
            .map(|number| {
                let evaluator = evaluator.clone();
                let started = started.clone();
                tokio::spawn(async move {
                    let endless = Request {
                        owner: "slow".to_owned(),
                        ..request("(let loop () (loop))")
                    };
                    let told = move |_: Progress| started.send(number).unwrap_or_default();
                    evaluator.evaluate(endless, told).await
                })
            })
            .collect();
        let mut running = std::collections::HashSet::new();
        while running.len() < 2 {
            running.insert(progress.recv().await.unwrap());
        }
        // None of the five ever ends by itself.
        let quick = Request {
            owner: "quick".to_owned(),
            ..request("(* 6 7)")
        };
        assert_eq!(ask(&evaluator, quick).await.result.unwrap().value, "42");
        for task in slow {
            task.abort();
        }
    });
}

pub(crate) fn a_session_takes_one_program_at_a_time() {
    run(async {
        let evaluator = evaluator();
        step(&evaluator, "count", "(define n 0)").await;
        let asked = (0..20).map(|_| {
            let evaluator = evaluator.clone();
            tokio::spawn(async move { step(&evaluator, "count", "(set! n (+ n 1)) n").await.0 })
        });
        let mut seen = Vec::new();
        for task in asked.collect::<Vec<_>>() {
            seen.push(task.await.unwrap().parse::<u32>().unwrap());
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=20).collect::<Vec<_>>());
    });
}

pub(crate) fn a_cancelled_evaluation_keeps_its_session() {
    run(async {
        let evaluator = Evaluator::new(Settings {
            limits: Limits {
                steps: u64::MAX,
                wall_ms: 60_000,
                ..Limits::default()
            },
            ..Settings::default()
        });
        step(&evaluator, "s", "(define x 'kept)").await;
        let (started, mut progress) = tokio::sync::mpsc::unbounded_channel();
        let endless = evaluator.evaluate(
            in_session("s", "(let loop () (loop))"),
            move |steps: Progress| started.send(steps).unwrap_or_default(),
        );
        tokio::select! {
            _ = progress.recv() => {}
            answer = endless => panic!("it ended by itself: {answer:?}"),
        }
        // The dropped evaluation is stopped cooperatively, long before its time is up.
        let next = tokio::time::timeout(Duration::from_secs(10), step(&evaluator, "s", "x"));
        assert_eq!(next.await.unwrap(), is("kept", SessionState::Continued));
    });
}

pub(crate) fn one_hundred_definitions_at_a_time() {
    run(async {
        let evaluator = evaluator();
        for round in 0..50 {
            let definitions: String = (0..100)
                .map(|n| format!("(define (f{n} x) (+ x {n} {round}))"))
                .collect();
            let answer = ask(&evaluator, in_session("s", &definitions)).await;
            assert!(answer.result.is_ok(), "{answer:?}");
        }
        assert_eq!(step(&evaluator, "s", "(f7 1)").await.0, "57");
    });
}
