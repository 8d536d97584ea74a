//! Calls that are kept in a file with what is expected of them.
//!
//! Owns the format of the file and the judgement; the file is TOML, one `[[call]]` for each.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::bench::Bench;
use crate::check::{Finding, Group, Level, Outcome, broken, kept, list, milliseconds};
use crate::peer::{Opening, Peer, Trouble};
use crate::run::judged;
use crate::schemas;

/// A call and what is expected of it.
#[derive(Clone, Debug)]
pub struct SavedCall {
    /// What it is called in reports.
    pub name: String,
    method: String,
    params: Value,
    expected: Expected,
}

#[derive(Clone, Debug, Default)]
struct Expected {
    ending: Ending,
    code: Option<i64>,
    max_ms: Option<u64>,
    equals: Vec<(String, Value)>,
    matches: Vec<(String, String)>,
    schema: Option<Value>,
}

/// How a call is to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    /// With a result that is no failure of the tool.
    #[default]
    Result,
    /// With a result that says the tool failed.
    ToolError,
    /// With a JSON-RPC error.
    Error,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::ToolError => "tool_error",
            Self::Error => "error",
        }
    }
}

/// How long a saved call may take that says nothing about it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a file of calls.
///
/// # Errors
/// Which call is wrong, and how.
pub fn read(text: &str) -> Result<Vec<SavedCall>, String> {
    let document: toml_edit::DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let document = from_table(document.as_table())?;
    let Some(calls) = document["call"].as_array() else {
        return Err("there is no [[call]]".to_owned());
    };
    let mut read = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let saved = saved_call(call, number + 1);
        let saved = saved.map_err(|problem| format!("call {}: {problem}", number + 1))?;
        read.push(saved);
    }
    Ok(read)
}

fn saved_call(call: &Value, number: usize) -> Result<SavedCall, String> {
    const KEYS: [&str; 6] = ["name", "tool", "arguments", "method", "params", "expect"];
    unknown_key(call, &KEYS)?;
    let tool = call["tool"].as_str();
    let (method, params) = match (tool, call["method"].as_str()) {
        (Some(tool), None) => {
            let arguments = call.get("arguments").cloned();
            let params = json!({"name": tool, "arguments": arguments.unwrap_or_else(|| json!({}))});
            ("tools/call".to_owned(), params)
        }
        (None, Some(method)) => {
            let params = call.get("params").cloned();
            (method.to_owned(), params.unwrap_or_else(|| json!({})))
        }
        _ => return Err("it needs either `tool` or `method`".to_owned()),
    };
    let name = call["name"].as_str().or(tool);
    Ok(SavedCall {
        name: name.map_or_else(|| format!("{number}"), str::to_owned),
        method,
        params,
        expected: expected(call.get("expect").unwrap_or(&json!({})))?,
    })
}

fn expected(value: &Value) -> Result<Expected, String> {
    const KEYS: [&str; 6] = ["ending", "code", "max_ms", "equals", "matches", "schema"];
    unknown_key(value, &KEYS)?;
    let ending = match value["ending"].as_str() {
        None if value["code"].is_i64() => Ending::Error,
        None | Some("result") => Ending::Result,
        Some("tool_error") => Ending::ToolError,
        Some("error") => Ending::Error,
        Some(other) => {
            let message = "`ending` is result, tool_error or error";
            return Err(format!("{message}, not {other:?}"));
        }
    };
    let pairs = |key: &str| {
        let pairs = value[key].as_object().into_iter().flatten();
        pairs.map(|(path, value)| (path.clone(), value.clone()))
    };
    let mut matches = Vec::new();
    for (path, pattern) in pairs("matches") {
        let pattern = pattern
            .as_str()
            .ok_or("`matches` holds patterns")?
            .to_owned();
        if schemas::matches(&pattern, "").is_none() {
            return Err(format!("{pattern:?} is no pattern"));
        }
        matches.push((path, pattern));
    }
    let schema = value.get("schema").cloned();
    if let Some(schema) = &schema
        && let Some(mistake) = schemas::mistakes(schema).first()
    {
        return Err(format!("the schema: {mistake}"));
    }
    Ok(Expected {
        ending,
        code: value["code"].as_i64(),
        max_ms: value["max_ms"].as_u64(),
        equals: pairs("equals").collect(),
        matches,
        schema,
    })
}

fn unknown_key(value: &Value, known: &[&str]) -> Result<(), String> {
    let Some(fields) = value.as_object() else {
        return Err("it is no table".to_owned());
    };
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!(
            "`{key}` means nothing; known are {}",
            known.join(", ")
        )),
        None => Ok(()),
    }
}

fn from_table(table: &dyn toml_edit::TableLike) -> Result<Value, String> {
    let mut fields = Map::new();
    for (key, item) in table.iter() {
        fields.insert(key.to_owned(), from_item(item)?);
    }
    Ok(Value::Object(fields))
}

fn from_item(item: &toml_edit::Item) -> Result<Value, String> {
    if let Some(table) = item.as_table_like() {
        return from_table(table);
    }
    if let Some(tables) = item.as_array_of_tables() {
        let tables: Result<Vec<Value>, String> = tables.iter().map(|it| from_table(it)).collect();
        return Ok(Value::Array(tables?));
    }
    item.as_value().map_or(Ok(Value::Null), from_value)
}

fn from_value(value: &toml_edit::Value) -> Result<Value, String> {
    use toml_edit::Value as Toml;
    Ok(match value {
        Toml::String(text) => json!(text.value()),
        Toml::Integer(number) => json!(number.value()),
        Toml::Float(number) => json!(number.value()),
        Toml::Boolean(flag) => json!(flag.value()),
        Toml::Datetime(time) => json!(time.value().to_string()),
        Toml::Array(values) => {
            let values: Result<Vec<Value>, String> = values.iter().map(from_value).collect();
            Value::Array(values?)
        }
        Toml::InlineTable(table) => from_table(table)?,
    })
}

/// Makes a call and judges it.
pub(crate) async fn run(bench: &Bench, call: &SavedCall) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Whole).await?;
    let id = peer.request(&call.method, call.params.clone()).await?;
    let begun = Instant::now();
    let answer = peer.answer_within(&id, PATIENCE).await?;
    let took = milliseconds(begun.elapsed());
    let ending = match answer.result() {
        Some(result) if result["isError"] == true => Ending::ToolError,
        Some(_) => Ending::Result,
        None => Ending::Error,
    };
    let expected = &call.expected;
    let mut complaints = Vec::new();
    if ending != expected.ending {
        let what = format!(
            "{} where {} was expected",
            answer.summary(),
            expected.ending.name()
        );
        complaints.push(what);
    }
    if let Some(code) = expected.code.filter(|code| answer.code() != Some(*code)) {
        complaints.push(format!("{} where {code} was expected", answer.summary()));
    }
    let body = match answer.result() {
        Some(result) => result.clone(),
        None => answer.value["error"].clone(),
    };
    complaints.extend(body_complaints(expected, &body));
    if let Some(most) = expected.max_ms.filter(|most| took > *most) {
        complaints.push(format!("it took {took} ms, more than {most}"));
    }
    Ok(match complaints.as_slice() {
        [] => kept(format!("{} after {took} ms", answer.summary())),
        some => broken(list(some)),
    })
}

fn body_complaints(expected: &Expected, body: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, wanted) in &expected.equals {
        let found = at_path(body, path);
        if found != Some(wanted) {
            let found = found.map_or_else(|| "not there".to_owned(), Value::to_string);
            complaints.push(format!("{path} is {found}, not {wanted}"));
        }
    }
    for (path, pattern) in &expected.matches {
        let found = at_path(body, path).and_then(Value::as_str);
        let is_matched = found.and_then(|found| schemas::matches(pattern, found));
        if is_matched != Some(true) {
            complaints.push(format!(
                "{path} is {found:?}, which {pattern:?} does not match"
            ));
        }
    }
    if let Some(schema) = &expected.schema {
        complaints.extend(schemas::problems(schema, body).into_iter().take(3));
    }
    complaints
}

/// What stands at a path such as `content[0].text`, or a JSON pointer.
fn at_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.starts_with('/') {
        return value.pointer(path);
    }
    let path = path.strip_prefix('$').unwrap_or(path);
    let mut value = value;
    for part in path.split(['.', '[']) {
        let part = part.strip_suffix(']').unwrap_or(part);
        value = match value {
            _ if part.is_empty() => value,
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            other => other.get(part)?,
        };
    }
    Some(value)
}

/// Makes an outcome of what a call came to.
pub(crate) fn outcome(
    call: &SavedCall,
    bench: &Bench,
    found: Result<Finding, Trouble>,
    took: Duration,
) -> Outcome {
    let (verdict, found) = judged(found, Level::Must);
    Outcome {
        check: format!("calls.{}", call.name),
        group: Group::Calls,
        duties: Vec::new(),
        level: Level::Must,
        revision: Some(bench.revision),
        question: format!("Does {} end as expected?", call.name),
        verdict,
        known: false,
        found,
        sent: bench.trace.sent(),
        came: bench.trace.received(),
        reproduce: bench.trace.reproduce(&bench.target),
        took_ms: milliseconds(took),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_calls_is_read() {
        let calls = read(
            "[[call]]\ntool = 'add'\narguments = { a = 1, b = 2 }\n\
             expect = { equals = { 'structuredContent.sum' = 3 }, max_ms = 500 }\n\
             [[call]]\nname = 'absent'\nmethod = 'resources/read'\nparams.uri = 'x:y'\n\
             expect.code = -32602\n",
        )
        .unwrap();
        assert_eq!(calls.len(), 2);
        assert_eq!(
            calls[0].params,
            json!({"name": "add", "arguments": {"a": 1, "b": 2}})
        );
        assert_eq!(calls[1].expected.ending, Ending::Error);
        for (text, problem) in [
            ("", "there is no [[call]]"),
            ("[[call]]\n", "either `tool` or `method`"),
            (
                "[[call]]\ntool='x'\nexpects={}\n",
                "`expects` means nothing",
            ),
            ("[[call]]\ntool='x'\nexpect.ending='late'\n", "not \"late\""),
            (
                "[[call]]\ntool='x'\nexpect.matches={a='('}\n",
                "is no pattern",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn paths_reach_into_results() {
        let value = json!({"content": [{"text": "hi"}], "a.b": 1});
        for (path, found) in [
            ("content[0].text", Some(json!("hi"))),
            ("$.content[0].text", Some(json!("hi"))),
            ("/a.b", Some(json!(1))),
            ("content[1]", None),
        ] {
            assert_eq!(at_path(&value, path).cloned(), found, "{path}");
        }
    }
}
