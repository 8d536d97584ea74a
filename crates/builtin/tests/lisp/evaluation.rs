//! Programs and their answers.

use attache_builtin::lisp::{Evaluated, Request};
use attache_lisp::{ErrorKind, Position};

use crate::support::{ask, evaluator, failure, lowered, request, run, value};

pub(crate) fn values_and_output_come_back() {
    run(async {
        let evaluator = evaluator();
        for (code, expected) in [
            (
                "(let loop ((i 0)) (if (< i 1000000) (loop (+ i 1)) i))",
                "1000000",
            ),
            ("(/ 1 3)", "1/3"),
            (
                "(expt 2 200)",
                "1606938044258990275541962092341162602522202993782792835301376",
            ),
            ("(string-append \"ä\" \"\\x1F600;\")", "\"ä😀\""),
            ("", ""),
            ("(define x 1)", ""),
        ] {
            assert_eq!(value(&evaluator, code).await, expected, "{code}");
        }
        let Evaluated {
            value,
            output,
            steps,
            heap_peak,
        } = ask(&evaluator, request("(display \"a\\nb\") (write #\\c) 'd"))
            .await
            .result
            .unwrap();
        assert_eq!(
            (value.as_str(), output.as_str()),
            ("d", "a\nb#\\c"),
            "value and output are kept apart"
        );
        assert!(steps > 0 && heap_peak > 0);
        // No session: nothing is left of the definition above.
        let failed = failure(&evaluator, request("x")).await;
        assert_eq!(failed.kind, ErrorKind::Unbound);
    });
}

pub(crate) fn every_kind_of_failure_has_its_name_and_place() {
    run(async {
        let evaluator = evaluator();
        let at = |line, column| Some(Position { line, column });
        for (code, kind, position) in [
            ("(1 2", "read", at(1, 1)),
            ("\n (if)", "syntax", at(2, 2)),
            ("nowhere", "unbound", at(1, 1)),
            ("(+ 1\n  (car 5))", "type", at(2, 3)),
            ("((lambda (x) x))", "arity", at(1, 1)),
            ("(vector-ref (vector 1) 9)", "range", at(1, 1)),
            ("(quotient 1 0)", "divide-by-zero", at(1, 1)),
            ("(raise 'x)", "raised", at(1, 1)),
            ("\n(let loop () (loop))", "steps", at(2, 1)),
            ("(expt 10 (expt 10 10))", "memory", at(1, 1)),
            ("(define (f) (+ 1 (f))) (f)", "depth", at(1, 18)),
            (
                "(let loop () (display \"0123456789\") (loop))",
                "output",
                at(1, 14),
            ),
        ] {
            let failed = failure(&evaluator, request(code)).await;
            assert_eq!(
                (failed.kind.name(), failed.position),
                (kind, position),
                "{code}"
            );
            assert!(!failed.message.is_empty(), "{code}");
        }
        let failed = failure(&evaluator, request("(display 'before) (car '())")).await;
        assert_eq!(failed.output, "before");
    });
}

pub(crate) fn the_same_program_gives_the_same_answer() {
    run(async {
        let evaluator = evaluator();
        let code = "(define (walk n) (if (= n 0) '() (cons (make-string n #\\a) (walk (- n 1)))))
                    (write (length (walk 200))) (list car walk (map string->symbol (walk 9)))";
        let first = ask(&evaluator, request(code)).await;
        assert!(first.result.is_ok());
        for _ in 0..5 {
            assert_eq!(ask(&evaluator, request(code)).await, first);
        }
        let endless = Request {
            limits: lowered(|limits| limits.steps = Some(100_000)),
            ..request("(let loop ((i 0)) (display i) (newline) (loop (+ i 1)))")
        };
        let first = ask(&evaluator, endless.clone()).await;
        assert!(first.result.is_err());
        assert_eq!(ask(&evaluator, endless).await, first);
    });
}

pub(crate) fn long_runs_tell_their_progress() {
    run(async {
        let evaluator = attache_builtin::lisp::Evaluator::new(attache_builtin::lisp::Settings {
            limits: attache_builtin::lisp::Limits {
                steps: 1 << 60,
                wall_ms: 700,
                ..attache_builtin::lisp::Limits::default()
            },
            ..attache_builtin::lisp::Settings::default()
        });
        let mut seen = Vec::new();
        let answer = evaluator
            .evaluate(request("(let loop () (loop))"), |progress| {
                assert_eq!(progress.limit, 1 << 60);
                seen.push(progress.steps);
            })
            .await
            .unwrap();
        assert_eq!(answer.result.unwrap_err().kind, ErrorKind::Time);
        assert!(seen.len() >= 2, "{seen:?}");
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    });
}

pub(crate) fn many_at_once_are_all_answered() {
    run(async {
        let evaluator = evaluator();
        let asked = (0..40).map(|number| {
            let evaluator = evaluator.clone();
            tokio::spawn(async move { value(&evaluator, &format!("(* {number} {number})")).await })
        });
        for (number, task) in asked.collect::<Vec<_>>().into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), (number * number).to_string());
        }
    });
}
