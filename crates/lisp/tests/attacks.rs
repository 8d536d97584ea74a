//! Hostile programs: each ends in the right error, cannot be caught, and leaves a session that
//! works.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed step fails the test"
)]

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use attache_lisp::{ErrorKind, Limits, Session, Uninterrupted, Watch};

/// Runs a program to its failure, then shows that the session and its definitions are alive.
fn check(name: &str, source: &str, expected: ErrorKind) {
    // Fewer steps where the steps are the end of it: the way there is the same.
    let steps = if expected == ErrorKind::Steps {
        1_000_000
    } else {
        Limits::default().steps
    };
    let mut session = Session::new(Limits {
        steps,
        ..Limits::default()
    });
    session
        .evaluate("(define kept '(1 2 3))", None, &Uninterrupted)
        .unwrap();
    // The whole attack is inside a guard and a dynamic-wind: neither may see a limit.
    for source in [
        source.to_owned(),
        format!(
            "(guard (e (#t 'caught)) (dynamic-wind void (lambda () (eval '(begin {source}))) \
             (lambda () (set! kept 'wound))))"
        ),
    ] {
        let failure = session
            .evaluate(&source, None, &Uninterrupted)
            .map(|outcome| outcome.value.chars().take(100).collect::<String>())
            .expect_err(name);
        assert_eq!(failure.kind, expected, "{name}: {failure}");
        let outcome = session
            .evaluate("(reverse kept)", None, &Uninterrupted)
            .unwrap();
        assert_eq!(outcome.value, "(3 2 1)", "{name}");
    }
}

/// Like `check`, for text that is no program at all.
fn check_text(name: &str, source: &str, expected: ErrorKind) {
    let mut session = Session::new(Limits::default());
    let failure = session
        .evaluate(source, None, &Uninterrupted)
        .expect_err(name);
    assert_eq!(failure.kind, expected, "{name}: {failure}");
    assert_alive(&mut session, name);
}

fn assert_alive(session: &mut Session, attack: &str) {
    let outcome = session.evaluate("(+ 1 2)", None, &Uninterrupted).unwrap();
    assert_eq!(outcome.value, "3", "{attack}");
}

#[test]
fn numbers() {
    check(
        "power of a power",
        "(expt 10 (expt 10 10))",
        ErrorKind::Memory,
    );
    check(
        "shift",
        "(arithmetic-shift 1 100000000000)",
        ErrorKind::Memory,
    );
    check(
        "squares",
        "(let loop ((n 3)) (loop (* n n)))",
        ErrorKind::Memory,
    );
    check(
        "fractions",
        "(let loop ((n 1/3)) (loop (+ (* n n) n)))",
        ErrorKind::Steps,
    );
    check(
        "exact decimal",
        "(string->number \"#e1e1000000000\")",
        ErrorKind::Memory,
    );
    check(
        "long digits",
        "(string->number (make-string 1000000 #\\9))",
        ErrorKind::Memory,
    );
    check(
        "lcm",
        "(let loop ((i 1) (n 1)) (loop (+ i 1) (lcm n i)))",
        ErrorKind::Steps,
    );
    check(
        "many factorials",
        "(let loop ((i 1) (n 1)) (if (< i 40000) (loop (+ i 1) (* n i)) (loop 1 1)))",
        ErrorKind::Steps,
    );
}

#[test]
fn memory() {
    check(
        "doubling",
        "(let loop ((s \"x\")) (loop (string-append s s)))",
        ErrorKind::Memory,
    );
    check("vector", "(make-vector 1000000000000)", ErrorKind::Memory);
    check(
        "string",
        "(make-string 1000000000000 #\\a)",
        ErrorKind::Memory,
    );
    check(
        "bytevector",
        "(make-bytevector 100000000000 1)",
        ErrorKind::Memory,
    );
    check("list", "(make-list 1000000000000 1)", ErrorKind::Memory);
    check("iota", "(iota 1000000000000)", ErrorKind::Memory);
    check(
        "conses",
        "(let loop ((l '())) (loop (cons l l)))",
        ErrorKind::Memory,
    );
    check(
        "vectors",
        "(let loop ((l '())) (loop (vector l l l l)))",
        ErrorKind::Memory,
    );
    check(
        "closures",
        "(let loop ((f (lambda () 1))) (loop (lambda () (f))))",
        ErrorKind::Memory,
    );
    check(
        "append",
        "(let loop ((l (list 1 2))) (loop (append l l)))",
        ErrorKind::Memory,
    );
    check(
        "string port",
        "(let ((p (open-output-string))) (let loop () (write-string \"0123456789abcdef\" p) (loop)))",
        ErrorKind::Memory,
    );
    check(
        "symbols kept",
        "(let loop ((i 0) (l '()))
           (loop (+ i 1) (cons (string->symbol (number->string i)) l)))",
        ErrorKind::Memory,
    );
    check(
        "huge list to string",
        "(define a (make-list 2500000 #\\a)) (define b (list->string a))
         (list->string (append a a a))",
        ErrorKind::Memory,
    );
    check(
        "promises",
        "(let loop ((p (delay 1))) (loop (delay (force p))))",
        ErrorKind::Memory,
    );
}

#[test]
fn steps() {
    check("endless loop", "(let loop () (loop))", ErrorKind::Steps);
    check("endless call", "(define (f) (f)) (f)", ErrorKind::Steps);
    check(
        "symbols dropped",
        "(let loop ((i 0)) (string->symbol (number->string i)) (loop (+ i 1)))",
        ErrorKind::Steps,
    );
    check(
        "garbage",
        "(let loop () (make-vector 1000 0) (loop))",
        ErrorKind::Steps,
    );
    check(
        "continuations",
        "(let ((k #f)) (call/cc (lambda (c) (set! k c))) (k 1))",
        ErrorKind::Steps,
    );
    check(
        "capture loop",
        "(let loop () (call/cc (lambda (k) k)) (loop))",
        ErrorKind::Steps,
    );
    check(
        "handlers that loop",
        "(with-exception-handler (lambda (e) (let loop () (loop))) (lambda () (car 1)))",
        ErrorKind::Steps,
    );
    check(
        "cyclic map",
        "(let ((x (list 1))) (set-cdr! x x) (for-each car (list x)) (for-each (lambda (y) y) x))",
        ErrorKind::Steps,
    );
    check(
        "cyclic member",
        "(let ((x (list 1))) (set-cdr! x x) (memq 2 x))",
        ErrorKind::Steps,
    );
    check(
        "macro that repeats itself",
        "(let-syntax () (define-syntax m (syntax-rules () ((_) (m)))) (m))",
        ErrorKind::Steps,
    );
    check(
        "after thunk",
        "(dynamic-wind void (lambda () 1) (lambda () (let loop () (loop))))",
        ErrorKind::Steps,
    );
    check(
        "promise loop",
        "(define (f) (delay-force (f))) (force (f))",
        ErrorKind::Steps,
    );
}

#[test]
fn depth() {
    check(
        "recursion",
        "(define (f n) (+ 1 (f n))) (f 0)",
        ErrorKind::Depth,
    );
    check(
        "fold",
        "(define (f . l) (cons 1 (apply f l))) (f 1 2 3)",
        ErrorKind::Depth,
    );
    check(
        "handler recursion",
        "(define (f) (with-exception-handler (lambda (e) (car 1)) f)) (f)",
        ErrorKind::Depth,
    );
    check(
        "captured recursion",
        "(define (f n) (+ 1 (call/cc (lambda (k) (f n))))) (f 0)",
        ErrorKind::Depth,
    );
    check(
        "wide frames",
        "(define (f a b c d) (+ (f a b c d) (f a b c d))) (f 1 2 3 4)",
        ErrorKind::Depth,
    );
    check_text("open parentheses", &"(".repeat(1_000_000), ErrorKind::Depth);
    check_text("quotes", &"'".repeat(1_000_000), ErrorKind::Depth);
    check_text("open vectors", &"#(".repeat(500_000), ErrorKind::Depth);
    check_text("comments", &"#;".repeat(500_000), ErrorKind::Depth);
    let nested = format!("{}1{}", "(list ".repeat(50_000), ")".repeat(50_000));
    check_text("nested calls", &nested, ErrorKind::Depth);
    let nested = format!("{}1{}", "`(".repeat(50_000), ")".repeat(50_000));
    check_text("nested templates", &nested, ErrorKind::Depth);
    let nested = format!("{}1{}", "(lambda () ".repeat(50_000), ")".repeat(50_000));
    check_text("nested procedures", &nested, ErrorKind::Depth);
    check_text(
        "growing macro",
        "(define-syntax m (syntax-rules () ((_ x) (f (m (x x)))))) (m 1)",
        ErrorKind::Depth,
    );
}

#[test]
fn macro_bombs() {
    let mut session = Session::new(Limits::default());
    for bomb in [
        "(define-syntax bomb (syntax-rules () ((_ x ...) (bomb x ... x ...)))) (bomb 1)",
        "(define-syntax t (syntax-rules () ((_ () x) x)
           ((_ (a . b) x) (+ (t b x) (t b x)))))
         (t (1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1) 1)",
    ] {
        let failure = session.evaluate(bomb, None, &Uninterrupted).unwrap_err();
        assert!(
            matches!(failure.kind, ErrorKind::Memory | ErrorKind::Steps),
            "{failure}"
        );
        assert_alive(&mut session, bomb);
    }
}

#[test]
fn output() {
    check(
        "flood",
        "(let loop () (display \"0123456789\") (loop))",
        ErrorKind::Output,
    );
    check(
        "one long write",
        "(write (make-list 1000000 1))",
        ErrorKind::Output,
    );
    check(
        "endless simple write",
        "(let ((x (list 1))) (set-cdr! x x) (write-simple x))",
        ErrorKind::Output,
    );
    check("long number", "(write (expt 7 370000))", ErrorKind::Output);
    let mut session = Session::new(Limits::default());
    let failure = session
        .evaluate("(make-string 300000 #\\a)", None, &Uninterrupted)
        .unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Output);
    let outcome = session.evaluate("(display \"kept\") (car '())", None, &Uninterrupted);
    assert_eq!(outcome.unwrap_err().output, "kept");
}

#[test]
fn large_data_is_dropped_and_cycles_are_compared() {
    let mut session = Session::new(Limits::default());
    for _ in 0..5 {
        let value = session
            .evaluate(
                "(define big (let loop ((i 0) (l '())) (if (< i 1000000) (loop (+ i 1) (cons i l)) l)))
                 (define deep (let loop ((i 0) (l '())) (if (< i 500000) (loop (+ i 1) (list l)) l)))
                 (define n (length big))
                 (set! big #f) (set! deep #f) n",
                None,
                &Uninterrupted,
            )
            .unwrap()
            .value;
        assert_eq!(value, "1000000");
    }
    let deep =
        "(define (nest n) (let loop ((i 0) (l '())) (if (< i n) (loop (+ i 1) (list l)) l)))";
    session.evaluate(deep, None, &Uninterrupted).unwrap();
    let same = session.evaluate("(equal? (nest 100000) (nest 100000))", None, &Uninterrupted);
    assert_eq!(same.unwrap().value, "#t");
    let cycles = "(define (ring n) (let* ((l (make-list n 1))) (set-cdr! (last-pair l) l) l))
                  (equal? (ring 1009) (ring 1013))";
    assert_eq!(
        session
            .evaluate(cycles, None, &Uninterrupted)
            .unwrap()
            .value,
        "#t"
    );
    let written = session
        .evaluate("(nest 1000)", None, &Uninterrupted)
        .unwrap()
        .value;
    assert_eq!(written.len(), 2002);
}

#[test]
fn the_clock_and_the_flag_stop_an_evaluation() {
    let mut session = Session::new(Limits {
        steps: u64::MAX / 8,
        ..Limits::default()
    });
    let watch = Watch {
        deadline: Some(Instant::now() + Duration::from_millis(50)),
        cancelled: None,
    };
    let failure = session
        .evaluate("(let loop () (loop))", None, &watch)
        .unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Time);
    let flag = AtomicBool::new(true);
    let watch = Watch {
        deadline: None,
        cancelled: Some(&flag),
    };
    let failure = session
        .evaluate("(guard (e (#t 1)) (let loop () (loop)))", None, &watch)
        .unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Time);
    assert_eq!(
        session
            .evaluate("'alive", None, &Uninterrupted)
            .unwrap()
            .value,
        "alive"
    );
}
