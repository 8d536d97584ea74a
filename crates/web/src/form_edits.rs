//! What a person does to a form, in steps that the form model takes.

use attache_view::Value;
use attache_view::form::{Choice, Field, Form, Kind, Path, Place, Problem, State};
use schemars::JsonSchema;
use serde::Deserialize;

/// Something that a person did.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    #[serde(rename = "do")]
    action: EditAction,
    /// Which field.
    #[serde(default)]
    #[schemars(with = "Vec<serde_json::Value>")]
    path: Path,
    /// The field's place, if it was opened by `expand`.
    #[schemars(with = "Option<serde_json::Value>")]
    place: Option<Place>,
    /// `enter`: the text of the widget.
    text: Option<String>,
    /// `set`: JSON text.
    json: Option<String>,
    /// `example`, `add`, `duplicate`: which one.
    index: Option<usize>,
    /// `choose`, `toggle`: which one.
    option: Option<usize>,
    /// `pick`: which one.
    variant: Option<usize>,
    /// `add_key`: the name of the member.
    key: Option<String>,
    /// `move`: from here.
    from: Option<usize>,
    /// `move`: to there.
    to: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EditAction {
    Enter,
    Set,
    Unset,
    Null,
    Default,
    Defaults,
    Example,
    Choose,
    Toggle,
    Pick,
    Add,
    AddKey,
    Duplicate,
    Move,
}

/// Changes the state as a person did; an error says why nothing was changed.
pub(crate) fn apply(form: &Form, state: &mut State, edit: &Edit) -> Result<(), Problem> {
    let path = &edit.path;
    let lacks = |what: &str| {
        Problem::new(
            path,
            "syntax",
            &format!("cannot be changed: {what} is missing"),
        )
    };
    match edit.action {
        EditAction::Defaults => state.use_defaults(form),
        EditAction::Unset => state.unset(path),
        EditAction::Null => state.set(path, Value::Null)?,
        EditAction::Set => {
            let json = edit.json.as_deref().ok_or_else(|| lacks("json"))?;
            match Value::parse(json) {
                Ok(value) => state.set(path, value)?,
                // What a person typed is not dropped; the whole value keeps it as a draft.
                Err(_) if path.0.is_empty() => state.enter(&state.field(form), json)?,
                Err(error) => {
                    return Err(Problem::new(
                        path,
                        "syntax",
                        &format!("must be JSON: {error}"),
                    ));
                }
            }
        }
        EditAction::Move => {
            let from = edit.from.ok_or_else(|| lacks("from"))?;
            state.move_item(path, from, edit.to.ok_or_else(|| lacks("to"))?);
        }
        EditAction::Duplicate => {
            state.duplicate_item(path, edit.index.ok_or_else(|| lacks("index"))?)?;
        }
        _ => apply_to_field(form, state, edit)?,
    }
    Ok(())
}

/// The edits that need to know what the field is.
fn apply_to_field(form: &Form, state: &mut State, edit: &Edit) -> Result<(), Problem> {
    let path = &edit.path;
    let field = field_at(form, state, edit)
        .ok_or_else(|| Problem::new(path, "syntax", "is not in the form"))?;
    let wrong = |what: &str| Problem::new(path, "syntax", &format!("cannot be changed: {what}"));
    match edit.action {
        EditAction::Enter => {
            let text = edit
                .text
                .as_deref()
                .ok_or_else(|| wrong("text is missing"))?;
            // A text that says no value is kept as a draft, and told with the problems.
            let _ = state.enter(&field, text);
        }
        EditAction::Default => {
            let default = field
                .default
                .clone()
                .ok_or_else(|| wrong("it has no default"))?;
            state.set(path, default)?;
        }
        EditAction::Example => {
            let example = edit.index.and_then(|index| field.examples.get(index));
            let example = example.ok_or_else(|| wrong("it has no such example"))?;
            state.set(path, example.clone())?;
        }
        EditAction::Choose => {
            let option = edit.option.and_then(|at| options(&field)?.get(at));
            let option = option.ok_or_else(|| wrong("there is no such choice"))?;
            state.set(path, option.value.clone())?;
        }
        EditAction::Toggle => {
            let option = edit.option.and_then(|at| options(&field)?.get(at));
            let option = option.ok_or_else(|| wrong("there is no such choice"))?;
            let mut chosen = match state.get(path) {
                Some(Value::Array(items)) => items.clone(),
                _ => Vec::new(),
            };
            match chosen.iter().position(|it| *it == option.value) {
                Some(at) => drop(chosen.remove(at)),
                None => chosen.push(option.value.clone()),
            }
            state.set(path, Value::Array(chosen))?;
        }
        EditAction::Pick => state.pick(
            &field,
            edit.variant.ok_or_else(|| wrong("variant is missing"))?,
        ),
        EditAction::Add => {
            let at = state.add_item(form, &field)?;
            if let Some(to) = edit.index {
                state.move_item(path, at, to.min(at));
            }
        }
        EditAction::AddKey => {
            let key = edit.key.as_deref().ok_or_else(|| wrong("key is missing"))?;
            state.add_member(form, &field, key)?;
        }
        _ => {}
    }
    Ok(())
}

/// The field that an edit is about. Variants share their path with the one that is shown, so the
/// outermost is meant where a variant is picked.
fn field_at(form: &Form, state: &State, edit: &Edit) -> Option<Field> {
    if let Some(place) = &edit.place {
        let value = state.get(&edit.path);
        return Some(form.expand(place, &edit.path, value, state.picks()));
    }
    let root = state.field(form);
    match edit.action {
        EditAction::Pick => outermost(&root, &edit.path).cloned(),
        _ => root.find(&edit.path).cloned(),
    }
}

fn outermost<'f>(field: &'f Field, path: &Path) -> Option<&'f Field> {
    if field.path == *path {
        return Some(field);
    }
    let mut deeper = field.children().into_iter();
    deeper.find_map(|child| match path.0.starts_with(&child.path.0) {
        true => outermost(child, path),
        false => None,
    })
}

/// The choices of a field that has some.
pub(crate) fn options(field: &Field) -> Option<&[Choice]> {
    match &field.kind {
        Kind::Choice { options } | Kind::MultiChoice { options, .. } => Some(options),
        _ => None,
    }
}
