//! Procedures, values, promises, parameters, error objects and the dynamic state.

use super::{FEATURES, MANY, Primitive, plain};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::object::{Condition, Object};
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("procedure?", 1, 1, |w, a| {
        Ok(Value::boolean(w.heap.is_procedure(a[0])))
    }),
    plain("values", 0, MANY, |w, a| match a {
        [only] => Ok(*only),
        _ => w.heap.object(Object::Values(a.into())),
    }),
    plain("%values->list", 3, 3, values_to_list),
    plain("%case-lambda", 0, MANY, |w, a| {
        w.heap.object(Object::CaseLambda(a.into()))
    }),
    plain("void", 0, MANY, |_, _| Ok(Value::UNSPECIFIED)),
    plain("default-object?", 1, 1, |_, a| {
        Ok(Value::boolean(a[0] == Value::UNSPECIFIED))
    }),
    // Promises.
    plain("%promise", 2, 2, |w, a| {
        let cell = w.heap.cons(a[0], a[1])?;
        w.heap.object(Object::Promise(cell))
    }),
    plain("promise?", 1, 1, |w, a| {
        Ok(Value::boolean(matches!(
            w.heap.get(a[0]),
            Some(Object::Promise(_))
        )))
    }),
    plain("%promise-cell", 1, 1, |w, a| match w.heap.get(a[0]) {
        Some(Object::Promise(cell)) => Ok(*cell),
        _ => Err(w.wrong_type("force", "a promise", a[0])),
    }),
    plain("%set-promise-cell!", 2, 2, |w, a| {
        if let Some(Object::Promise(cell)) = w.heap.get_mut(a[0]) {
            *cell = a[1];
        }
        Ok(Value::UNSPECIFIED)
    }),
    // Parameters.
    plain("%parameter", 2, 2, |w, a| {
        w.heap.object(Object::Parameter {
            value: a[0],
            converter: a[1],
        })
    }),
    plain("%parameter-converter", 1, 1, |w, a| {
        match w.heap.get(a[0]) {
            Some(Object::Parameter { converter, .. }) => Ok(*converter),
            _ => Err(w.wrong_type("parameterize", "a parameter", a[0])),
        }
    }),
    plain("%set-parameter!", 2, 2, |w, a| {
        w.set_parameter(a[0], a[1])?;
        Ok(Value::UNSPECIFIED)
    }),
    plain("%output-parameter!", 1, 1, |w, a| {
        w.output_parameter = a[0];
        Ok(Value::UNSPECIFIED)
    }),
    plain("%input-parameter!", 1, 1, |w, a| {
        w.input_parameter = a[0];
        Ok(Value::UNSPECIFIED)
    }),
    plain("%console", 0, 0, |_, _| Ok(Value::CONSOLE)),
    // The dynamic state.
    plain("%handlers", 0, 0, |w, _| Ok(w.handlers)),
    plain("%set-handlers!", 1, 1, |w, a| {
        w.handlers = a[0];
        Ok(Value::UNSPECIFIED)
    }),
    plain("%winds", 0, 0, |w, _| Ok(w.winds)),
    plain("%set-winds!", 1, 1, |w, a| {
        w.winds = a[0];
        Ok(Value::UNSPECIFIED)
    }),
    plain("%continuation-winds", 1, 1, |w, a| match w.heap.get(a[0]) {
        Some(Object::Continuation(continuation)) => {
            let state = w.heap.dynamic_state(*continuation);
            Ok(state.map_or(Value::NIL, |state| state.winds))
        }
        _ => Ok(Value::NIL),
    }),
    // Errors.
    plain("raise", 1, 1, |_, a| Err(Fault::raise(a[0]))),
    plain("error", 1, MANY, |w, a| {
        let irritants = w.heap.list(&a[1..])?;
        let condition = Condition {
            kind: ErrorKind::Raised,
            message: a[0],
            irritants,
            position: None,
        };
        let object = w.heap.object(Object::Condition(Box::new(condition)))?;
        Err(Fault::raise(object))
    }),
    plain("error-object?", 1, 1, |w, a| {
        Ok(Value::boolean(condition(w, a[0]).is_some()))
    }),
    plain("error-object-message", 1, 1, |w, a| {
        match condition(w, a[0]) {
            Some(condition) => Ok(condition.message),
            None => Err(w.wrong_type("error-object-message", "an error object", a[0])),
        }
    }),
    plain("error-object-irritants", 1, 1, |w, a| {
        match condition(w, a[0]) {
            Some(condition) => Ok(condition.irritants),
            None => Err(w.wrong_type("error-object-irritants", "an error object", a[0])),
        }
    }),
    plain("error-object-kind", 1, 1, |w, a| {
        match condition(w, a[0]).map(|c| c.kind) {
            Some(kind) => w.heap.intern(kind.name()),
            None => Err(w.wrong_type("error-object-kind", "an error object", a[0])),
        }
    }),
    plain("read-error?", 1, 1, |w, a| {
        Ok(Value::boolean(
            condition(w, a[0]).is_some_and(|c| c.kind == ErrorKind::Read),
        ))
    }),
    plain("file-error?", 1, 1, |_, _| Ok(Value::FALSE)),
    plain("%failed-assertion", 1, 1, |w, a| {
        let shown = w.describe(a[0]);
        Err(Fault::error(
            ErrorKind::Raised,
            format!("the assertion {shown} does not hold"),
        ))
    }),
    // The rest.
    plain("features", 0, 0, |w, _| {
        let names = FEATURES
            .iter()
            .map(|name| w.heap.intern(name))
            .collect::<Fallible<Vec<_>>>()?;
        w.heap.list(&names)
    }),
    plain("environment", 0, MANY, |_, _| Ok(Value::ENVIRONMENT)),
    plain("interaction-environment", 0, 0, |_, _| {
        Ok(Value::ENVIRONMENT)
    }),
    plain("scheme-report-environment", 0, 1, |_, _| {
        Ok(Value::ENVIRONMENT)
    }),
    plain("null-environment", 0, 1, |_, _| Ok(Value::ENVIRONMENT)),
];

fn condition(w: &World, value: Value) -> Option<&Condition> {
    match w.heap.get(value) {
        Some(Object::Condition(condition)) => Some(condition),
        _ => None,
    }
}

/// `(%values->list result count rest?)`: the values of an expression, as many as expected.
fn values_to_list(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let values: Vec<Value> = match w.heap.get(a[0]) {
        Some(Object::Values(values)) => values.to_vec(),
        _ => vec![a[0]],
    };
    let expected = w.index("define-values", a[1])?;
    let fits = if a[2].is_true() {
        values.len() >= expected
    } else {
        values.len() == expected
    };
    if !fits {
        return Err(Fault::error(
            ErrorKind::Arity,
            format!("{} values where {expected} were expected", values.len()),
        ));
    }
    w.heap.list(&values)
}
