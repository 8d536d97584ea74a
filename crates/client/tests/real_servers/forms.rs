//! The tools of all these servers make forms, and what is typed into them is what is sent.

use attache_client::Server;
use attache_client::protocol::Tool;
use attache_testkit::real_servers::installed;
use attache_view::form::{Field, Form, Kind, Path, Picks, Range, State};
use attache_view::{Number, Object, Value};

use crate::{START, node, python, script};

/// Every server here that offers tools.
fn servers() -> Vec<(&'static str, Server)> {
    let field = |file: &str| installed(&format!("field/node_modules/{file}"));
    let node_script = |file: std::path::PathBuf| Server::stdio("node", [file]);
    let database = std::env::temp_dir().join(format!("attache-forms-{}.db", std::process::id()));
    vec![
        ("everything", node("server-everything", &[])),
        ("filesystem", node("server-filesystem", &["/tmp"])),
        ("memory", node("server-memory", &[])),
        (
            "sequential thinking",
            node("server-sequential-thinking", &[]),
        ),
        ("time", python("python-modern", "mcp-server-time")),
        ("fetch", python("python-modern", "mcp-server-fetch")),
        ("git", python("python-modern", "mcp-server-git")),
        (
            "calculator",
            python("python-legacy", "mcp-server-calculator"),
        ),
        (
            "sqlite",
            Server::stdio(
                installed("python-legacy/bin/mcp-server-sqlite"),
                ["--db-path".as_ref(), database.as_os_str()],
            ),
        ),
        (
            "chuk",
            Server::stdio(
                installed("python-legacy/bin/python"),
                [script("chuk_adder.py")],
            ),
        ),
        (
            "commands",
            node_script(field("mcp-server-commands/build/index.js")),
        ),
        (
            "tmcp",
            Server::stdio("node", [script("tmcp_answer.mjs"), field("")]),
        ),
    ]
}

#[tokio::test]
async fn every_tool_makes_a_form_and_a_valid_instance_survives_it() {
    let mut fields = 0;
    let mut tools = 0;
    for (name, server) in servers() {
        let client = server.start_timeout(START).connect().await.unwrap();
        let listed = client.list_tools().await.unwrap();
        for tool in &listed {
            fields += check(name, tool);
            tools += 1;
        }
        client.close().await;
    }
    println!("{tools} tools with {fields} fields");
    assert!(tools > 50, "only {tools} tools");
}

fn check(server: &str, tool: &Tool) -> usize {
    let form = Form::of_tool(tool);
    let place = format!("{server}/{}", tool.name);
    let value = instance(&form, &form.field(None, &Picks::default())).unwrap_or_else(empty);
    let report = form.check(&value);
    assert!(report.problems.is_empty(), "{place}: {value} {report:?}");
    assert!(report.unchecked.is_empty(), "{place}: {report:?}");
    let root = form.field(Some(&value), &Picks::default());
    let mut state = State::new(Some(empty()));
    let count = retype(&place, &root, &value, &mut state);
    assert_eq!(
        state.value().unwrap().to_string(),
        value.to_string(),
        "{place}"
    );
    count
}

fn empty() -> Value {
    Value::Object(Object::default())
}

/// A value that fits a field, with everything optional in it.
fn instance(form: &Form, field: &Field) -> Option<Value> {
    if let Some(value) = field.default.as_ref().or(field.examples.first()) {
        return Some(value.clone());
    }
    let at_least_one = |count: &Range| count.min.unwrap_or(1).max(1);
    Some(match &field.kind {
        Kind::Text { format, length, .. } => Value::String(match format.as_deref() {
            Some("uri") => "https://example.org/".to_owned(),
            Some("date") => "2026-07-28".to_owned(),
            Some("date-time") => "2026-07-28T09:30:00Z".to_owned(),
            Some("email") => "a@example.org".to_owned(),
            _ => "x".repeat(length.min.unwrap_or(1).max(1)),
        }),
        Kind::Number { minimum, above, .. } => {
            let one = || Number::parse("1").unwrap();
            // One more than the limit, or the limit itself.
            let beyond = above.as_ref().map(|above| match above.as_count() {
                Some(count) => Number::from(count + 1),
                None => one(),
            });
            Value::Number(minimum.clone().or(beyond).unwrap_or_else(one))
        }
        Kind::Boolean => Value::Bool(true),
        Kind::Choice { options } => options[0].value.clone(),
        Kind::MultiChoice { options, count, .. } => {
            let chosen = options.iter().take(at_least_one(count));
            Value::Array(chosen.map(|option| option.value.clone()).collect())
        }
        Kind::List { count, .. } => {
            let item = instance(form, &form.item(field)?)?;
            Value::Array(vec![item; at_least_one(count)])
        }
        Kind::Object(members) => {
            let members = members.fields.iter();
            let given = members.filter_map(|member| {
                let value = instance(form, member)?;
                Some((member.key()?.to_owned(), value))
            });
            Value::Object(given.collect())
        }
        Kind::Variants { field, .. } => instance(form, field.as_deref()?)?,
        Kind::Json { .. } => Value::String("anything".to_owned()),
        Kind::Deferred => return None,
    })
}

/// Types into an empty form what the widgets show, and counts the fields. A JSON editor is only for
/// what the schema says nothing about.
fn retype(place: &str, field: &Field, root: &Value, state: &mut State) -> usize {
    let Some(value) = field.path.of(root) else {
        return 0;
    };
    match &field.kind {
        _ if field.nullable && *value == Value::Null => {
            state.set(&field.path, Value::Null).unwrap();
            1
        }
        Kind::Object(_) | Kind::List { .. } if !field.children().is_empty() => {
            if field.path != Path::default() {
                let begun = match value {
                    Value::Array(_) => Value::Array(Vec::new()),
                    _ => empty(),
                };
                state.set(&field.path, begun).unwrap();
            }
            let children = field.children().into_iter();
            children
                .map(|child| retype(place, child, root, state))
                .sum()
        }
        Kind::Variants {
            field: Some(inner), ..
        } => retype(place, inner, root, state),
        kind => {
            if let Kind::Json { reason } = kind {
                assert_eq!(reason, "the schema allows any value", "{place}: {field:?}");
            }
            if field.path != Path::default() || !value.as_object().is_some_and(Object::is_empty) {
                state.enter(field, &field.text(value)).unwrap();
            }
            1
        }
    }
}
