//! Each limit at its edge, through the worker.

use std::time::Instant;

use attache_builtin::lisp::{
    Evaluator, Limits, LowerLimits, Progress, Request, RequestError, Settings,
};
use attache_lisp::ErrorKind;

use crate::support::{ask, evaluator, failure, lowered, request, run, value};

pub(crate) fn every_limit_at_its_edge() {
    run(async {
        let evaluator = evaluator();
        let base = ask(&evaluator, request("1")).await.result.unwrap();
        let deep = |n: u64| format!("(define (f n) (if (= n 0) 0 (+ 1 (f (- n 1))))) (f {n})");
        let vector = |n: u64| format!("(begin (make-vector {n} 0) 'made)");
        let looping = "(let loop ((i 0)) (if (< i 1000) (loop (+ i 1)) i))";
        let steps = ask(&evaluator, request(looping))
            .await
            .result
            .unwrap()
            .steps;
        let heap = base.heap_peak + 2_000_000;
        type Case = (fn(&mut LowerLimits, u64), u64, String, String, ErrorKind);
        let cases: [Case; 7] = [
            (
                |limits, most| limits.steps = Some(most),
                steps,
                looping.to_owned(),
                looping.replace("1000", "1001"),
                ErrorKind::Steps,
            ),
            (
                |limits, most| limits.heap = Some(most),
                heap,
                vector(240_000),
                vector(260_000),
                ErrorKind::Memory,
            ),
            (
                |limits, most| limits.depth = Some(most),
                1_000,
                deep(999),
                deep(1_001),
                ErrorKind::Depth,
            ),
            (
                |limits, most| limits.integer_bits = Some(most),
                1_000,
                "(even? (expt 2 999))".to_owned(),
                "(even? (expt 2 1000))".to_owned(),
                ErrorKind::Memory,
            ),
            (
                |limits, most| limits.source = Some(most),
                20,
                format!("{:>20}", 7),
                format!("{:>21}", 7),
                ErrorKind::Memory,
            ),
            (
                |limits, most| limits.output = Some(most),
                10,
                "(display 1234567890) 'x".to_owned(),
                "(display 12345678901) 'x".to_owned(),
                ErrorKind::Output,
            ),
            // The written value counts as output does.
            (
                |limits, most| limits.output = Some(most),
                10,
                "1234567890".to_owned(),
                "12345678901".to_owned(),
                ErrorKind::Output,
            ),
        ];
        for (set, most, within, beyond, kind) in cases {
            let ask_for = |code: &str| Request {
                limits: lowered(|limits| set(limits, most)),
                ..request(code)
            };
            let answer = ask(&evaluator, ask_for(&within)).await;
            assert!(answer.result.is_ok(), "{within}: {answer:?}");
            let failed = failure(&evaluator, ask_for(&beyond)).await;
            assert_eq!(failed.kind, kind, "{beyond}: {failed:?}");
        }
        // The server's own limits, where they are cheap to reach.
        let source = |n: usize| format!("{}1", " ".repeat(n - 1));
        assert_eq!(value(&evaluator, &source(1 << 20)).await, "1");
        let failed = failure(&evaluator, request(&source((1 << 20) + 1))).await;
        assert_eq!(failed.kind, ErrorKind::Memory);
        let text = |n: usize| format!("(display (make-string {n} #\\a))");
        let answer = ask(&evaluator, request(&text(256 << 10))).await;
        assert_eq!(answer.result.unwrap().output.len(), 256 << 10);
        let failed = failure(&evaluator, request(&text((256 << 10) + 1))).await;
        assert_eq!(failed.kind, ErrorKind::Output);
        // Control characters are six bytes each on the way to and from the worker.
        let rough = format!("(display \"{}\")", "\u{1}".repeat(200_000));
        let answer = ask(&evaluator, request(&rough)).await;
        assert_eq!(answer.result.unwrap().output.len(), 200_000);
        assert_eq!(value(&evaluator, &deep(99_999)).await, "99999");
        assert_eq!(
            value(&evaluator, "(even? (arithmetic-shift 1 1048575))").await,
            "#t"
        );
        let failed = failure(&evaluator, request("(even? (arithmetic-shift 1 1048576))")).await;
        assert_eq!(failed.kind, ErrorKind::Memory);
    });
}

pub(crate) fn a_limit_cannot_be_raised() {
    run(async {
        let evaluator = evaluator();
        let raised = Request {
            limits: lowered(|limits| limits.heap = Some((64 << 20) + 1)),
            ..request("1")
        };
        let refused = evaluator.evaluate(raised, |_: Progress| {}).await;
        let error = refused.unwrap_err();
        assert!(matches!(&error, RequestError::TooHigh(limit) if limit.name == "heap"));
        assert!(error.to_string().contains("67108864"), "{error}");
    });
}

pub(crate) fn the_wall_limit_ends_what_is_left() {
    run(async {
        let evaluator = Evaluator::new(Settings {
            limits: Limits {
                steps: u64::MAX,
                ..Limits::default()
            },
            ..Settings::default()
        });
        let limited = Request {
            limits: lowered(|limits| limits.wall_ms = Some(200)),
            ..request("(let loop () (loop))")
        };
        let began = Instant::now();
        let failed = failure(&evaluator, limited).await;
        assert_eq!(failed.kind, ErrorKind::Time);
        assert!(began.elapsed().as_millis() >= 200);
        assert_eq!(value(&evaluator, "(+ 1 2)").await, "3");
    });
}

/// A message repeats the name of an unbound variable, which can be as long as the program.
pub(crate) fn a_message_is_cut_to_the_limit_of_output() {
    run(async {
        let evaluator = evaluator();
        for (length, most) in [(100_000, 1_000), (100_000, 0)] {
            let asked = Request {
                limits: lowered(|it| it.output = Some(most)),
                ..request(&"ä".repeat(length))
            };
            let failed = failure(&evaluator, asked).await;
            assert_eq!(failed.kind, ErrorKind::Unbound);
            // However low the limit is, the message says something.
            let most = usize::try_from(most).unwrap().max(256);
            let message = failed.message;
            assert!(message.len() <= most, "{} bytes", message.len());
            assert!(message.len() + 4 > most, "{} bytes", message.len());
            assert!(message.ends_with('…'), "{message}");
        }
        let failed = failure(&evaluator, request("short")).await;
        assert_eq!(failed.message, "the variable short has no value");
    });
}
