//! Sessions: what stays, what goes, and in which order.

use std::time::Duration;

use attache_servers::lisp::{Evaluator, Progress, SessionState, Settings};

use crate::support::{ask, evaluator, in_session, run, step};

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
        evaluator.close();
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
        assert_eq!(
            step(&evaluator, "b", "x").await,
            is("!unbound", SessionState::New)
        );
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
            limits: attache_servers::lisp::Limits {
                steps: u64::MAX,
                wall_ms: 60_000,
                ..attache_servers::lisp::Limits::default()
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
