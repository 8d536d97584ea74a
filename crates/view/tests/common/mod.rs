//! Fills in an empty form with what the widgets show for a value.

use attache_view::Value;
use attache_view::form::{Field, Form, Kind, Picks, State};

/// The value that comes of typing into an empty form what each widget shows for `value`.
pub(crate) fn retyped(form: &Form, value: &Value) -> Value {
    let mut state = State::default();
    fill(
        form,
        &form.field(Some(value), &Picks::default()),
        value,
        &mut state,
    );
    state.value().cloned().unwrap()
}

fn fill(form: &Form, field: &Field, root: &Value, state: &mut State) {
    let Some(value) = field.path.of(root) else {
        return;
    };
    match &field.kind {
        Kind::Deferred => {
            let expanded = form.expand(&field.place, &field.path, Some(value), &Picks::default());
            assert_ne!(expanded.kind, Kind::Deferred, "a deferred field opens");
            fill(form, &expanded, root, state);
        }
        _ if field.nullable && *value == Value::Null => {
            state.set(&field.path, Value::Null).unwrap()
        }
        Kind::Object(members) => {
            state
                .set(&field.path, Value::Object(Default::default()))
                .unwrap();
            // Members come in the order of the schema; a person types them in the value's.
            for (name, _) in value.as_object().unwrap().iter() {
                let path = field.path.key(name);
                let member = members.fields.iter().find(|member| member.path == path);
                fill(form, member.unwrap(), root, state);
            }
        }
        Kind::List { items, .. } => {
            state.set(&field.path, Value::Array(Vec::new())).unwrap();
            assert_eq!(items.len(), value.as_array().unwrap().len());
            for item in items {
                fill(form, item, root, state);
            }
        }
        Kind::Variants {
            field: Some(inner), ..
        } => fill(form, inner, root, state),
        _ => state.enter(field, &field.text(value)).unwrap(),
    }
}
