//! Quasiquotation against construction by hand: the same template, once with backquote and commas,
//! once with `cons`, `append` and `list->vector`.

use std::cell::RefCell;

use attache_lisp::{Limits, Session, Uninterrupted};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A part of a template.
#[derive(Clone, Debug)]
enum Template {
    Datum(&'static str),
    Hole(&'static str),
    Splice(&'static str),
    List(Vec<Template>),
    Dotted(Vec<Template>, Box<Template>),
    Vector(Vec<Template>),
}

impl Template {
    fn quasiquoted(&self) -> String {
        let joined = |parts: &[Self]| -> String {
            let parts: Vec<String> = parts.iter().map(Self::quasiquoted).collect();
            parts.join(" ")
        };
        match self {
            Self::Datum(datum) => (*datum).to_owned(),
            Self::Hole(expression) => format!(",{expression}"),
            Self::Splice(expression) => format!(",@{expression}"),
            Self::List(parts) => format!("({})", joined(parts)),
            Self::Dotted(parts, tail) => format!("({} . {})", joined(parts), tail.quasiquoted()),
            Self::Vector(parts) => format!("#({})", joined(parts)),
        }
    }

    fn constructed(&self) -> String {
        let onto = |parts: &[Self], tail: String| {
            parts.iter().rev().fold(tail, |rest, part| match part {
                Self::Splice(expression) => format!("(append {expression} {rest})"),
                part => format!("(cons {} {rest})", part.constructed()),
            })
        };
        match self {
            Self::Datum(datum) => format!("'{datum}"),
            Self::Hole(expression) | Self::Splice(expression) => (*expression).to_owned(),
            Self::List(parts) => onto(parts, "'()".to_owned()),
            Self::Dotted(parts, tail) => onto(parts, tail.constructed()),
            Self::Vector(parts) => format!("(list->vector {})", onto(parts, "'()".to_owned())),
        }
    }
}

const DATA: [&str; 8] = ["a", "7", "\"s\"", "#\\c", "#t", "()", "(b 1)", "#(c 2)"];
const EXPRESSIONS: [&str; 9] = [
    "4",
    "\"text\"",
    "#f",
    "'()",
    "'symbol",
    "'(quoted list)",
    "(+ 1 2)",
    "x",
    "#(1 2)",
];
const LISTS: [&str; 4] = ["'()", "'(1 2)", "(list x 3)", "xs"];

fn templates() -> impl Strategy<Value = Template> {
    let leaf = prop_oneof![
        prop::sample::select(&DATA[..]).prop_map(Template::Datum),
        prop::sample::select(&EXPRESSIONS[..]).prop_map(Template::Hole),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let part = prop_oneof![
            4 => inner.clone(),
            1 => prop::sample::select(&LISTS[..]).prop_map(Template::Splice),
        ];
        prop_oneof![
            prop::collection::vec(part.clone(), 0..5).prop_map(Template::List),
            prop::collection::vec(part.clone(), 0..5).prop_map(Template::Vector),
            (prop::collection::vec(part, 1..4), inner)
                .prop_map(|(parts, tail)| Template::Dotted(parts, Box::new(tail))),
        ]
    })
}

fn value(session: &mut Session, source: &str) -> String {
    match session.evaluate(source, None, &Uninterrupted) {
        Ok(outcome) => outcome.value,
        Err(failure) => panic!("{source}: {failure}"),
    }
}

fn session() -> Session {
    let mut session = Session::new(Limits::default());
    value(&mut session, "(define x 'ex) (define xs '(p q))");
    session
}

#[test]
fn a_template_equals_its_construction() {
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let session = RefCell::new(session());
    let result = runner.run(&templates(), |template| {
        let session = &mut *session.borrow_mut();
        let quasiquoted = format!("`{}", template.quasiquoted());
        prop_assert_eq!(
            value(session, &quasiquoted),
            value(session, &template.constructed()),
            "{}",
            quasiquoted
        );
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// The two templates that were reported: a constant in a hole was taken for no hole.
#[test]
fn a_constant_fills_its_hole() {
    let session = &mut session();
    assert_eq!(value(session, "`(1 ,4)"), "(1 4)");
    assert_eq!(value(session, "`((a . ,1))"), "((a . 1))");
}
