//! How calls of the log look to people.

use attache::host::call_log::{Began, CallEnding, CallRecord, Ended};
use attache::protocol::{CallToolResult, Json, ReadResourceResult};

use super::super::read;
use crate::output::text::width;
use crate::output::{Style, Text, human};

/// The widest name in a list.
const WIDEST_NAME: usize = 40;
/// The longest arguments in a list.
const LONGEST_ARGUMENTS: usize = 60;

/// A line for each call.
pub(super) fn list(calls: &[CallRecord]) -> Text {
    let rows: Vec<[String; 5]> = calls.iter().map(row).collect();
    let column = |at: usize, most| width(rows.iter().map(|row| row[at].as_str()), most);
    let widths = [
        column(0, 12),
        column(1, 20),
        column(2, 12),
        column(3, WIDEST_NAME),
        column(4, 20),
    ];
    let mut text = Text::new();
    for (row, call) in rows.iter().zip(calls) {
        let [number, age, took, name, ending] = row;
        let indent = widths[0].saturating_sub(number.chars().count());
        text.plain(&" ".repeat(indent))
            .add(Style::Name, number)
            .plain("  ");
        text.column(Style::Faint, age, widths[1]).plain("  ");
        text.column(Style::Plain, took, widths[2]).plain("  ");
        text.column(Style::Plain, name, widths[3]).plain("  ");
        text.column(style(call), ending, widths[4]);
        if let Some(arguments) = arguments(call) {
            text.plain("  ").faint(&arguments);
        }
        text.end_line();
    }
    text
}

fn row(call: &CallRecord) -> [String; 5] {
    let began = call.began.as_ref();
    let ended = call.ended.as_ref();
    [
        call.number.to_string(),
        began.map_or_else(String::new, |began| {
            format!("{} ago", human::age(began.at_ms))
        }),
        ended.map_or_else(String::new, |ended| time(ended.took_ms)),
        what(call),
        ending(ended).to_owned(),
    ]
}

/// What was called.
pub(super) fn what(call: &CallRecord) -> String {
    match &call.began {
        Some(Began {
            server: Some(server),
            name,
            method,
            ..
        }) if method != "resources/read" => format!("{server}/{name}"),
        Some(began) => began.name.clone(),
        None => "?".to_owned(),
    }
}

fn ending(ended: Option<&Ended>) -> &'static str {
    match ended {
        Some(ended) if ended.cached => "from memory",
        Some(ended) => ended.ending.as_str(),
        None => "no end",
    }
}

fn style(call: &CallRecord) -> Style {
    match call.ended.as_ref().map(|ended| ended.ending) {
        Some(CallEnding::Result | CallEnding::Task) => Style::Good,
        Some(CallEnding::Cancelled) | None => Style::Warning,
        Some(_) => Style::Bad,
    }
}

fn arguments(call: &CallRecord) -> Option<String> {
    let arguments = call.began.as_ref()?.arguments.as_ref()?.as_str();
    if arguments == "{}" {
        return None;
    }
    let mut shown: String = arguments.chars().take(LONGEST_ARGUMENTS).collect();
    if shown.len() < arguments.len() {
        shown.push('…');
    }
    Some(shown)
}

/// All about one call.
pub(super) fn call(call: &CallRecord) -> Text {
    let mut text = Text::new();
    text.add(
        Style::Name,
        &format!("call {}: {}", call.number, what(call)),
    )
    .end_line();
    if let Some(began) = &call.began {
        let mut field = |name: &str, value: &str| {
            text.faint(&format!("  {name}: ")).plain(value).end_line();
        };
        field("method", &began.method);
        if let Some(server) = &began.server {
            field("server", server);
        }
        field("begun", &format!("{} ago", human::age(began.at_ms)));
    }
    match &call.ended {
        Some(ended) => end(ended, &mut text),
        None => {
            let text_of_none = "none: it runs, or its program ended before it";
            text.faint("  ending: ")
                .add(Style::Warning, text_of_none)
                .end_line();
        }
    }
    if let Some(arguments) = call
        .began
        .as_ref()
        .and_then(|began| began.arguments.as_ref())
    {
        text.faint("arguments:").end_line();
        text.append(human::json(arguments));
    }
    if let Some(ended) = &call.ended {
        details(ended, &mut text);
        if let (Some(began), Some(result)) = (&call.began, &ended.result) {
            text.faint("result:").end_line();
            text.append(result_of(&began.method, result));
        }
    }
    text
}

fn end(ended: &Ended, text: &mut Text) {
    text.faint("  took: ")
        .plain(&time(ended.took_ms))
        .end_line();
    text.faint("  ending: ")
        .plain(self::ending(Some(ended)))
        .end_line();
    if let Some(why) = &ended.result_omitted {
        text.faint("  result not kept: ").plain(why).end_line();
    }
}

fn details(ended: &Ended, text: &mut Text) {
    if !ended.progress.is_empty() {
        text.faint("progress:").end_line();
    }
    for note in &ended.progress {
        let of = note
            .total
            .map_or_else(String::new, |total| format!(" of {total}"));
        text.faint(&format!("  {}  ", time(note.after_ms)))
            .plain(&format!("{}{of}", note.progress));
        if let Some(message) = &note.message {
            text.plain("  ").plain(message);
        }
        text.end_line();
    }
    if ended.progress_omitted > 0 {
        let more = ended.progress_omitted;
        text.faint(&format!("  and {more} more")).end_line();
    }
    let Some(error) = &ended.error else { return };
    text.add(Style::Bad, "error: ").plain(&error.message);
    if let Some(code) = error.code {
        text.faint(&format!(" (code {code})"));
    }
    text.end_line();
    if let Some(data) = &error.data {
        text.faint("data:").end_line();
        text.append(human::json(data));
    }
    for line in &error.stderr {
        text.faint("stderr: ").plain(line).end_line();
    }
}

/// A result as its verb shows it, or as JSON if it has another form.
fn result_of(method: &str, result: &Json) -> Text {
    let shown = match method {
        "tools/call" => {
            let result: Result<CallToolResult, _> = result.decode();
            let blocks = result.ok().filter(|it| it.structured_content.is_none());
            blocks.map(|result| human::contents(&result.content))
        }
        "resources/read" => {
            let result: Result<ReadResourceResult, _> = result.decode();
            result.ok().map(|result| read::show(&result))
        }
        _ => None,
    };
    shown.unwrap_or_else(|| human::json(result))
}

fn time(milliseconds: u64) -> String {
    match milliseconds {
        ..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{:.1} s", milliseconds as f64 / 1000.0),
        _ => {
            let seconds = milliseconds / 1000;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Colour;

    fn record(number: u64, began: &str, ended: Option<&str>) -> CallRecord {
        CallRecord {
            number,
            began: serde_json::from_str(began).unwrap(),
            ended: ended.map(|ended| serde_json::from_str(ended).unwrap()),
        }
    }

    #[test]
    fn a_list_has_a_line_for_each_call_whatever_its_name_says() {
        let calls = [
            record(
                9,
                r#"{"at_ms":99999999999999,"method":"tools/call","server":"notes",
                    "name":"a\u001b[2Jb","arguments":{"q":"tea\n"}}"#,
                Some(r#"{"at_ms":1,"took_ms":1234,"ending":"tool_failed"}"#),
            ),
            record(
                10,
                r#"{"at_ms":99999999999999,"method":"resources/read","server":"n","name":"n://a"}"#,
                None,
            ),
        ];
        insta::assert_snapshot!(list(&calls).render(Colour::Off), @r#"
         9  0 seconds ago  1.2 s  notes/a\u{1b}[2Jb  tool failed  {"q":"tea\n"}
        10  0 seconds ago         n://a              no end     
        "#);
    }

    #[test]
    fn one_call_is_shown_with_all_there_is() {
        let shown = call(&record(
            7,
            r#"{"at_ms":99999999999999,"method":"tools/call","server":"notes","name":"sync",
                "arguments":{"n":1}}"#,
            Some(
                r#"{"at_ms":1,"took_ms":61000,"ending":"server_error",
                "progress":[{"after_ms":5,"progress":1.0,"total":2.0,"message":"half"}],
                "error":{"message":"no","code":-32000,"data":[1],"stderr":["oops"]}}"#,
            ),
        ));
        insta::assert_snapshot!(shown.render(Colour::Off), @r#"
        call 7: notes/sync
          method: tools/call
          server: notes
          begun: 0 seconds ago
          took: 1 min 1 s
          ending: server error
        arguments:
        {
          "n": 1
        }
        progress:
          5 ms  1 of 2  half
        error: no (code -32000)
        data:
        [
          1
        ]
        stderr: oops
        "#);
    }
}
