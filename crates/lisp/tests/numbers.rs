//! Numbers survive the way to text and back, in every radix.

use std::cell::RefCell;

use attache_lisp::{Limits, Session, Uninterrupted};
use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn check(strategy: impl Strategy<Value = (String, u32)>) {
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let session = RefCell::new(Session::new(Limits::default()));
    let result = runner.run(&strategy, |(number, radix)| {
        let source = format!(
            "(let* ((x {number}) (text (number->string x {radix})))
               (if (eqv? x (string->number text {radix})) 'same text))"
        );
        let outcome = session
            .borrow_mut()
            .evaluate(&source, None, &Uninterrupted)
            .map_err(|failure| TestCaseError::fail(failure.to_string()))?;
        prop_assert_eq!(outcome.value, "same", "{} in radix {}", number, radix);
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn floats_are_read_as_they_were_written() {
    let floats = POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO;
    check((floats, 2_u32..=36).prop_map(|(float, radix)| (format!("{float:?}"), radix)));
    // Few digits: most of the floats above have no fraction worth writing.
    check((-1e4..1e4_f64, 2_u32..=36).prop_map(|(float, radix)| (format!("{float:?}"), radix)));
}

#[test]
fn fractions_are_read_as_they_were_written() {
    let parts = (any::<i64>(), 1..=u32::MAX, 2_u32..=36);
    check(parts.prop_map(|(over, under, radix)| (format!("{over}/{under}"), radix)));
}
