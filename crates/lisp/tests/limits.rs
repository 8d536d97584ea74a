//! Each limit at its edge, the answers of the interface, and determinism.

use attache_lisp::{ErrorKind, Failure, Limits, Outcome, Position, Session, Uninterrupted};

fn run(limits: &Limits, source: &str) -> Result<Outcome, Failure> {
    Session::new(Limits::default()).evaluate(source, Some(limits), &Uninterrupted)
}

fn kind(limits: &Limits, source: &str) -> Option<ErrorKind> {
    run(limits, source).err().map(|failure| failure.kind)
}

#[test]
fn steps_at_the_edge() {
    let source = "(let loop ((i 0)) (if (< i 1000) (loop (+ i 1)) i))";
    let used = run(&Limits::default(), source).unwrap().steps;
    let enough = Limits {
        steps: used,
        ..Limits::default()
    };
    assert_eq!(run(&enough, source).unwrap().steps, used);
    let short = Limits {
        steps: used - 1,
        ..Limits::default()
    };
    assert_eq!(kind(&short, source), Some(ErrorKind::Steps));
}

#[test]
fn heap_at_the_edge() {
    let source = "(begin (make-vector 100000 0) 'made)";
    let floor = run(&Limits::default(), "1").unwrap().heap_peak;
    let enough = Limits {
        heap: floor + 810_000,
        ..Limits::default()
    };
    assert_eq!(run(&enough, source).unwrap().value, "made");
    let short = Limits {
        heap: floor + 790_000,
        ..Limits::default()
    };
    assert_eq!(kind(&short, source), Some(ErrorKind::Memory));
    // Garbage makes room: the sum of all vectors is far beyond the limit.
    let many = "(let loop ((i 0)) (if (< i 100) (begin (make-vector 50000 0) (loop (+ i 1))) i))";
    assert_eq!(run(&enough, many).unwrap().value, "100");
    let applied = "(let loop ((i 0))
                     (if (< i 100) (begin (apply make-vector '(50000 0)) (loop (+ i 1))) i))";
    assert_eq!(run(&enough, applied).unwrap().value, "100");
}

/// A captured stack goes when its continuation does: 80,000 of them pass through little room.
#[test]
fn continuations_leave_no_room_taken() {
    let floor = run(&Limits::default(), "1").unwrap().heap_peak;
    let narrow = Limits {
        heap: floor + 500_000,
        ..Limits::default()
    };
    let outcome = run(&narrow, include_str!("../programs/generator.scm")).unwrap();
    assert_eq!(outcome.output, "40960\n");
}

/// Frames come back from a captured stack a few at a time, whatever its depth.
#[test]
fn a_deep_continuation_is_returned_through() {
    let source = "(define k #f)
                  (define (down n) (if (= n 0) (call/cc (lambda (c) (set! k c) 0)) (+ 1 (down (- n 1)))))
                  (define rounds 0)
                  (let ((sum (down 1000)))
                    (set! rounds (+ rounds 1))
                    (if (< rounds 3) (k (* 10 rounds)) (list rounds sum)))";
    for depth in [1, 2, 3, 7, 8, 63, 64, 65, 1000, 9000] {
        let source = source.replace("1000", &depth.to_string());
        let expected = format!("(3 {})", depth + 20);
        assert_eq!(run(&Limits::default(), &source).unwrap().value, expected);
    }
}

#[test]
fn depth_at_the_edge() {
    let source = |n: usize| format!("(define (f n) (if (= n 0) 0 (+ 1 (f (- n 1))))) (f {n})");
    let limits = Limits {
        depth: 1000,
        ..Limits::default()
    };
    assert_eq!(run(&limits, &source(1000 - 1)).unwrap().value, "999");
    assert_eq!(kind(&limits, &source(1001)), Some(ErrorKind::Depth));
    let nested = |n: usize| format!("'{}{}", "(".repeat(n), ")".repeat(n));
    assert!(run(&limits, &nested(999)).is_ok());
    assert_eq!(kind(&limits, &nested(1001)), Some(ErrorKind::Depth));
}

#[test]
fn integers_at_the_edge() {
    let limits = Limits {
        integer_bits: 1000,
        ..Limits::default()
    };
    assert!(run(&limits, "(expt 2 999)").is_ok());
    assert_eq!(kind(&limits, "(expt 2 1001)"), Some(ErrorKind::Memory));
    assert!(run(&limits, "(* (expt 2 499) (expt 2 499))").is_ok());
    assert_eq!(
        kind(&limits, "(* (expt 2 600) (expt 2 600))"),
        Some(ErrorKind::Memory)
    );
    assert_eq!(kind(&limits, &"9".repeat(400)), Some(ErrorKind::Memory));
}

#[test]
fn source_and_output_at_the_edge() {
    let limits = Limits {
        source: 10,
        output: 5,
        ..Limits::default()
    };
    assert!(run(&limits, "1234567890").is_err(), "the value is too long");
    assert!(run(&limits, "     12345").is_ok());
    assert_eq!(kind(&limits, "          1"), Some(ErrorKind::Memory));
    let limits = Limits {
        output: 5,
        ..Limits::default()
    };
    assert_eq!(run(&limits, "(display 12345) 'x").unwrap().output, "12345");
    assert_eq!(kind(&limits, "(display 123456)"), Some(ErrorKind::Output));
}

#[test]
fn failures_say_what_and_where() {
    let at = |line, column| Some(Position { line, column });
    for (source, kind, position, words) in [
        (
            "(+ 1\n   (car 5))",
            ErrorKind::Type,
            at(2, 4),
            "car: expected a pair, got 5",
        ),
        (
            "\n  nowhere",
            ErrorKind::Unbound,
            at(2, 3),
            "nowhere has no value",
        ),
        (
            "(define (f x) (vector-ref x 9))\n(f (vector 1))",
            ErrorKind::Range,
            at(1, 15),
            "9",
        ),
        ("(if)", ErrorKind::Syntax, at(1, 1), "malformed (if)"),
        (
            "(list 1 (let ((x)) x))",
            ErrorKind::Syntax,
            at(1, 9),
            "malformed",
        ),
        ("(a b", ErrorKind::Read, at(1, 1), "ends inside"),
        (
            "(/ 5 0)",
            ErrorKind::DivideByZero,
            at(1, 1),
            "division by zero",
        ),
        (
            "((lambda (x) x))",
            ErrorKind::Arity,
            at(1, 1),
            "does not take 0 arguments",
        ),
        (
            "(error \"went wrong:\" 'x 5)",
            ErrorKind::Raised,
            at(1, 1),
            "went wrong: x 5",
        ),
        (
            "(list (map car\n  '(1)))",
            ErrorKind::Type,
            at(1, 7),
            "car: expected a pair",
        ),
        ("(raise 'boom)", ErrorKind::Raised, at(1, 1), "raised boom"),
        (
            "(string-append \"a\" 'b)",
            ErrorKind::Type,
            at(1, 1),
            "expected a string, got b",
        ),
    ] {
        let failure = run(&Limits::default(), source).expect_err(source);
        assert_eq!(
            (failure.kind, failure.position),
            (kind, position),
            "{source}: {failure}"
        );
        assert!(failure.message.contains(words), "{source}: {failure}");
    }
}

#[test]
fn definitions_stay_and_failures_do_not_spoil_them() {
    let mut session = Session::new(Limits::default());
    let mut evaluate = |source: &str| session.evaluate(source, None, &Uninterrupted);
    assert_eq!(
        evaluate("(define x 1) (define (f) (* x 10))")
            .unwrap()
            .value,
        ""
    );
    assert!(evaluate("(define y 2) (car 'oops) (define z 3)").is_err());
    assert_eq!(evaluate("(list x y (f))").unwrap().value, "(1 2 10)");
    assert_eq!(evaluate("z").unwrap_err().kind, ErrorKind::Unbound);
    assert_eq!(evaluate("(set! x 5) (f)").unwrap().value, "50");
    // A parameter set by an evaluation that failed inside parameterize is not the next one's.
    assert!(
        evaluate(
            "(define p (open-output-string))
                      (parameterize ((current-output-port p)) (car 1))"
        )
        .is_err()
    );
    assert_eq!(evaluate("(display 7)").unwrap().output, "7");
}

#[test]
fn long_sessions_do_not_grow() {
    let mut session = Session::new(Limits::default());
    session
        .evaluate("(define (f x) (* x x))", None, &Uninterrupted)
        .unwrap();
    let peak = |session: &mut Session| {
        session
            .evaluate("(f (+ 1 2))", None, &Uninterrupted)
            .unwrap()
            .heap_peak
    };
    for _ in 0..1000 {
        peak(&mut session);
    }
    let before = peak(&mut session);
    for _ in 0..5000 {
        peak(&mut session);
    }
    assert!(peak(&mut session) < before + 10_000_000);
}

/// What a definition replaced is dropped: code, macros, the scopes of local macros.
#[test]
fn sessions_are_used_very_many_times() {
    let mut session = Session::new(Limits {
        heap: 8 << 20,
        ..Limits::default()
    });
    let mut evaluate = |source: &str| {
        let outcome = session.evaluate(source, None, &Uninterrupted);
        outcome.unwrap_or_else(|failure| panic!("{source}: {failure}"))
    };
    evaluate(
        "(define k #f) (define n 0)
         (define (resume) (if (< n 3) (begin (set! n (+ n 1)) (k n)) 'over))
         (define-library (counting) (export twice)
           (begin (define-syntax twice (syntax-rules () ((_ e) (begin e e))))))
         (import (counting))",
    );
    evaluate("(define got (list (call/cc (lambda (c) (set! k c) 0)) (lambda (x) x)))");
    for round in 0..100_000 {
        let source = match round % 4 {
            0 => format!("(define (f x) (let ((y {round})) (lambda (z) (+ x y z))))"),
            1 => "(define-syntax swap (syntax-rules () ((_ a b) (let ((t a)) (set! a b) (set! b t)))))"
                .to_owned(),
            2 => "(let-syntax ((m (syntax-rules () ((_ x) (lambda () x))))) (m 1))".to_owned(),
            _ => format!("(define held (list ((f 1) 2) '({round} \"text\")))"),
        };
        evaluate(&source);
    }
    assert_eq!(evaluate("held").value, "(99999 (99999 \"text\"))");
    assert_eq!(
        evaluate("(define p 1) (define q 2) (swap p q) (list p q)").value,
        "(2 1)"
    );
    assert_eq!(evaluate("(twice (set! n 0)) n").value, "0");
    // The continuation goes back to code that was moved.
    assert_eq!(evaluate("(resume)").value, "");
    assert_eq!(evaluate("(car got)").value, "1");
    assert_eq!(evaluate("((cadr got) 'kept)").value, "kept");
}

#[test]
fn the_same_source_gives_the_same_result() {
    let source = "(define (walk n) (if (= n 0) '() (cons (make-string n #\\a) (walk (- n 1)))))
                  (define symbols (map string->symbol (walk 50)))
                  (write (length (walk 200)))
                  (guard (e (#t (display (error-object-message e)))) (vector-ref (vector 1) 7))
                  (list car walk (delay 1) symbols)";
    let first = run(&Limits::default(), source).unwrap();
    for _ in 0..3 {
        assert_eq!(run(&Limits::default(), source).unwrap(), first);
    }
}

/// Programs write programs: forms nest far deeper than a person would write them.
#[test]
fn generated_forms_nest_deeply() {
    let nested =
        |open: &str, close: &str, n: usize| format!("{}42{}", open.repeat(n), close.repeat(n));
    let deep = 9_900;
    for (name, open, close, n) in [
        ("let*", "(let* ((a 1) (b a)) ", ")", 1_000),
        ("cond", "(cond (#f 1) (else ", "))", 1_000),
        (
            "cond with receivers",
            "(cond (#f => car) (else ",
            "))",
            1_000,
        ),
        ("define", "(let () (define x 1) ", ")", 1_000),
        (
            "named let",
            "(let loop ((i 0)) (if (< i 1) (loop (+ i 1)) ",
            "))",
            400,
        ),
        ("case", "(case 3 ((1 2) 'x) (else ", "))", 1_000),
        ("calls", "(car (list ", "))", 4_900),
        ("if", "(if #t ", ")", deep),
        ("begin", "(begin ", ")", deep),
        ("immediate lambda", "((lambda (x) ", ") 1)", 4_900),
        ("guard", "(guard (e (#t 0)) ", ")", 300),
    ] {
        let source = nested(open, close, n);
        let outcome = run(&Limits::default(), &source).map(|outcome| outcome.value);
        assert_eq!(outcome.as_deref(), Ok("42"), "{name}");
    }
    let clauses = "(#f => car) ".repeat(2_000);
    let long = format!("(cond {clauses} (else 42))");
    assert_eq!(run(&Limits::default(), &long).unwrap().value, "42");
    let procedures = format!("({}42{})", "((lambda () ".repeat(3_000), "))".repeat(3_000));
    assert_eq!(kind(&Limits::default(), &procedures), Some(ErrorKind::Type));
    let template = format!("`{}1{}", "(".repeat(2_000), ")".repeat(2_000));
    assert!(run(&Limits::default(), &template).is_ok());
}

#[test]
fn nesting_at_the_edge() {
    let nested = |n: usize| format!("{}1{}", "(if #t ".repeat(n), ")".repeat(n));
    assert!(run(&Limits::default(), &nested(9_999)).is_ok());
    assert_eq!(
        kind(&Limits::default(), &nested(10_001)),
        Some(ErrorKind::Depth)
    );
    let limits = Limits {
        depth: 300,
        ..Limits::default()
    };
    assert!(run(&limits, &nested(299)).is_ok());
    assert_eq!(kind(&limits, &nested(301)), Some(ErrorKind::Depth));
}
