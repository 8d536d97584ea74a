//! Makes forms and documents of anything.

use attache_protocol::{CallToolResult, GetPromptResult, Json, ReadResourceResult};
use attache_view::form::{Assignment, Field, Form, Kind, Picks, assign};
use attache_view::{Value, document::Document, safe_text};

/// A schema, a value and words of a shell, a line each: no schema breaks a form, what the widgets
/// show is read as the same value, and what was assigned can be checked.
pub fn form(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut lines = text.splitn(3, '\n');
    let schema = lines.next().unwrap_or_default();
    let Ok(schema) = Json::parse(schema) else {
        return;
    };
    let form = Form::new(&schema);
    let empty = form.field(None, &Picks::default());
    look_at(&form, &empty, None);
    let _ = form.signature();
    let value = lines.next().and_then(|line| Value::parse(line).ok());
    if let Some(value) = &value {
        let report = form.check(value);
        for problem in &report.problems {
            assert!(is_safe(&problem.message), "{problem:?}");
        }
        look_at(&form, &form.field(Some(value), &Picks::default()), Some(value));
    }
    let words = lines.next().unwrap_or_default().split('\n');
    let given: Vec<Assignment> = words.filter_map(Assignment::parse).collect();
    match assign(&form, value, &given) {
        Ok(assigned) => {
            let _ = form.check(&assigned);
            let again = Value::parse(&assigned.to_string()).expect("what is written can be read");
            assert_eq!(again.to_string(), assigned.to_string());
        }
        Err(problem) => assert!(is_safe(&problem.message), "{problem:?}"),
    }
}

/// What a leaf's widget shows for its value is read as that value, exactly.
fn look_at(form: &Form, field: &Field, root: Option<&Value>) {
    assert!(is_safe(field.display_name()), "{field:?}");
    let _ = form.describe(field);
    let children = field.children();
    let value = root.and_then(|root| field.path.of(root));
    if let (true, Some(value)) = (children.is_empty(), value)
        && !matches!(field.kind, Kind::Deferred)
        && !(field.nullable && *value == Value::Null)
    {
        let shown = field.text(value);
        let read = field.read(&shown).expect("what is shown can be read");
        assert_eq!(read.to_string(), value.to_string(), "{field:?}");
    }
    for child in children {
        look_at(form, child, root);
    }
}

/// Any JSON as an answer: every text that a face shows is safe.
pub fn document(bytes: &[u8]) {
    let Some(json) = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| Json::parse(text).ok())
    else {
        return;
    };
    let documents = [
        json.decode::<CallToolResult>()
            .ok()
            .map(|result| Document::of_call(&result, Some(&json))),
        json.decode::<ReadResourceResult>()
            .ok()
            .map(|result| Document::of_resource(&result)),
        json.decode::<GetPromptResult>()
            .ok()
            .map(|result| Document::of_prompt(&result)),
    ];
    for document in documents.into_iter().flatten() {
        let written = serde_json::to_value(&document).expect("a document can be written");
        check_texts(&written);
    }
}

fn check_texts(value: &serde_json::Value) {
    match value {
        serde_json::Value::String(text) => {
            assert_eq!(safe_text::block(text), text.as_str(), "unsafe text");
        }
        serde_json::Value::Array(items) => items.iter().for_each(check_texts),
        serde_json::Value::Object(members) => {
            for (name, member) in members {
                // Paths are exact, because they are sent.
                if name != "path" {
                    check_texts(member);
                }
            }
        }
        _ => {}
    }
}

fn is_safe(text: &str) -> bool {
    safe_text::one_line(text) == text
}
