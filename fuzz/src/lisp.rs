//! The Scheme: its reader and its evaluator with any text.

use std::cell::RefCell;

use attache_lisp::{ErrorKind, Failure, Limits, Outcome, Session, Uninterrupted};

/// Reads a text to its end and says whether each datum survives being written and read again.
const READ_ALL: &str = r"
(define (again datum)
  (read (open-input-string (call-with-output-string (lambda (port) (write datum port))))))
(define (survives? text)
  (let ((port (open-input-string text)))
    (let loop ()
      (let ((datum (read port)))
        (cond ((eof-object? datum) #t)
              ((equal? datum (again datum)) (loop))
              (else datum))))))";

/// Low, so that they are reached and an input takes little time.
fn limits() -> Limits {
    Limits {
        steps: 20_000,
        heap: 16 << 20,
        depth: 1_000,
        integer_bits: 10_000,
        source: 1 << 20,
        output: 4 << 10,
    }
}

fn evaluate(session: &mut Session, source: &str) -> Result<Outcome, Failure> {
    let result = session.evaluate(source, Some(&limits()), &Uninterrupted);
    if let Err(failure) = &result {
        assert_ne!(failure.kind, ErrorKind::Internal, "{failure}");
    }
    result
}

/// Whatever can be read is the same after it was written and read again.
pub fn lisp_reader(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let escaped: String = text
        .chars()
        .map(|character| format!("\\x{:x};", u32::from(character)))
        .collect();
    // Reading defines nothing, so that one session serves all inputs.
    READER.with_borrow_mut(|session| {
        if let Ok(outcome) = evaluate(session, &format!("(survives? \"{escaped}\")")) {
            assert_eq!(outcome.value, "#t", "read from {text:?}");
        }
    });
}

thread_local! {
    static READER: RefCell<Session> = RefCell::new({
        let mut session = Session::new(limits());
        assert!(evaluate(&mut session, READ_ALL).is_ok());
        session
    });
}

/// Every so many inputs are evaluated in a second session: making one takes longer than most
/// programs.
const COMPARED: usize = 8;

/// Any program ends, in every session in the same way, and leaves one that works.
pub fn lisp_evaluator(bytes: &[u8]) {
    let Ok(program) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut first = Session::new(limits());
    let result = evaluate(&mut first, program);
    if program.len().is_multiple_of(COMPARED) {
        let mut second = Session::new(limits());
        assert_eq!(result, evaluate(&mut second, program));
    }
    let alive = evaluate(&mut first, "7").map(|outcome| outcome.value);
    assert_eq!(alive.as_deref(), Ok("7"));
    // The second time there are definitions to meet.
    let _ = evaluate(&mut first, program);
}
