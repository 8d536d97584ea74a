//! Hostile programs through the worker: each ends in the right error, and the next call works.

use std::time::Instant;

use attache_builtin::lisp::Request;

use crate::support::{PATIENCE, evaluator, failure, lowered, request, run, step, value};

pub(crate) fn attacks_end_in_their_limit_and_the_server_lives() {
    let parentheses = "(".repeat(1_000_000);
    let quotes = "'".repeat(1_000_000);
    let calls = format!("{}1{}", "(list ".repeat(50_000), ")".repeat(50_000));
    let programs = [
        ("(expt 10 (expt 10 10))", "memory"),
        (
            "(let loop ((s \"x\")) (loop (string-append s s)))",
            "memory",
        ),
        ("(make-vector 1000000000000)", "memory"),
        ("(make-string 1000000000000 #\\a)", "memory"),
        ("(make-list 1000000000000 1)", "memory"),
        ("(string->number \"#e1e1000000000\")", "memory"),
        ("(let loop ((l '())) (loop (cons l l)))", "memory"),
        (
            "(let loop ((i 0) (l '())) (loop (+ i 1) (cons (string->symbol (number->string i)) l)))",
            "memory",
        ),
        (
            "(define-syntax bomb (syntax-rules () ((_ x ...) (bomb x ... x ...)))) (bomb 1)",
            "steps",
        ),
        (&parentheses, "depth"),
        (&quotes, "depth"),
        (&calls, "depth"),
        ("(define (f n) (+ 1 (f n))) (f 0)", "depth"),
        (
            "(define (f) (with-exception-handler (lambda (e) (car 1)) f)) (f)",
            "depth",
        ),
        (
            "(let ((x (list 1))) (set-cdr! x x) (write-simple x))",
            "output",
        ),
        ("(let loop () (display \"0123456789\") (loop))", "output"),
        ("(let loop () (loop))", "steps"),
        (
            "(let loop ((i 0)) (string->symbol (number->string i)) (loop (+ i 1)))",
            "steps",
        ),
        (
            "(let ((x (list 1)) (y (list 1))) (set-cdr! x x) (length x))",
            "type",
        ),
        (
            "(let ((k #f)) (call/cc (lambda (c) (set! k c))) (k 1))",
            "steps",
        ),
        (
            "(with-exception-handler (lambda (e) (let loop () (loop))) (lambda () (car 1)))",
            "steps",
        ),
        (
            "(guard (e (#t 'caught)) (dynamic-wind void (lambda () (let loop () (loop))) void))",
            "steps",
        ),
        ("(define-syntax m (syntax-rules () ((_) (m)))) (m)", "steps"),
    ];
    run(async {
        let evaluator = evaluator();
        step(&evaluator, "s", "(define kept '(1 2 3))").await;
        let began = Instant::now();
        for (program, kind) in programs {
            // Fewer steps where they are the end of it: the way there is the same.
            let steps = if kind == "steps" { 300_000 } else { 10_000_000 };
            let asked = Request {
                limits: lowered(|limits| limits.steps = Some(steps)),
                ..request(program)
            };
            let shown: String = program.chars().take(60).collect();
            let failed = failure(&evaluator, asked.clone()).await;
            assert_eq!(failed.kind.name(), kind, "{shown}: {failed:?}");
            let inside = Request {
                session: Some("s".into()),
                ..asked
            };
            let failed = failure(&evaluator, inside).await;
            assert_eq!(failed.kind.name(), kind, "{shown}: {failed:?}");
            assert_eq!(value(&evaluator, "(+ 1 2)").await, "3", "after {shown}");
            let (kept, _) = step(&evaluator, "s", "(reverse kept)").await;
            assert_eq!(kept, "(3 2 1)", "after {shown}");
        }
        // What is large or cyclic and allowed is dropped and compared without harm.
        let dropped = "(define big (iota 1000000)) (define n (length big)) (set! big #f) n";
        assert_eq!(value(&evaluator, dropped).await, "1000000");
        let cycles = "(define (ring n) (let ((l (make-list n 1))) (set-cdr! (last-pair l) l) l))
                      (equal? (ring 1009) (ring 1013))";
        assert_eq!(value(&evaluator, cycles).await, "#t");
        let written = value(&evaluator, "(let ((x (list 1))) (set-cdr! x x) x)").await;
        assert_eq!(written, "#0=(1 . #0#)");
        assert!(began.elapsed() < PATIENCE);
    });
}
