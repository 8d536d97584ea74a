//! JSON that is legal or nearly so, and made to trip its reader.

use attache_client::Error;
use attache_client::protocol::{CallToolResult, Content, Ending, MAX_DEPTH, Revision};
use attache_testkit::chaos::{Action, Script, When};
use serde_json::json;

use crate::support::{BOTH_ERAS, Peer, at_once, each, problem_of, script};

/// A server whose tools answer with these lines, numbered from 0.
fn answering(revision: Revision, lines: &[String]) -> Script {
    let numbered = lines.iter().enumerate();
    numbered.fold(script(revision), |script, (number, line)| {
        script.on(When::tool(number.to_string()), [Action::line(line)])
    })
}

/// What each of the lines makes of the call it answers. The connection works after each.
async fn outcomes(revision: Revision, lines: &[String]) -> Vec<Result<CallToolResult, Error>> {
    let peer = Peer::start(revision, &answering(revision, lines)).await;
    let mut outcomes = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let call = peer.client.call(&number.to_string(), json!({}));
        outcomes.push(at_once(&line[..line.len().min(200)], call).await);
        peer.echoes().await;
    }
    let refused = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    assert_eq!(peer.ended(Ending::ProtocolError), refused as u64);
    assert_eq!(peer.client.statistics().stray_lines, 0);
    peer.finish().await;
    outcomes
}

fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"$id","result":{result}}}"#)
}

fn nested(depth: usize) -> String {
    let structured = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    result(&format!(
        r#"{{"content":[],"structuredContent":{structured}}}"#
    ))
}

#[test]
fn fault_26_depth_is_limited_exactly() {
    each(BOTH_ERAS, async |revision| {
        // The result itself is one level.
        let lines = [nested(MAX_DEPTH - 1), nested(MAX_DEPTH), nested(100_000)];
        let mut outcomes = outcomes(revision, &lines).await.into_iter();
        let deepest = outcomes.next().unwrap().unwrap();
        assert!(deepest.structured().is_some());
        for outcome in outcomes {
            let problem = problem_of(outcome);
            assert!(problem.contains("nested deeper than 128"), "{problem}");
        }
    });
}

#[test]
fn fault_26_what_is_too_deep_to_decode_can_still_be_had_raw() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision).on(When::tool("deep"), [Action::deep_result(100_000)]);
        let peer = Peer::start(revision, &script).await;
        let raw = peer.client.call("deep", json!({})).raw();
        let raw = at_once("deep", raw).await.unwrap();
        let opened = raw.as_bytes().iter().filter(|byte| **byte == b'[');
        assert_eq!(opened.count(), 100_001);
        peer.echoes().await;
        peer.finish().await;
    });
}

#[test]
fn fault_26_huge_numbers_surrogates_and_nul_cost_nothing_else() {
    each(BOTH_ERAS, async |revision| {
        let numbers = r#"{"big":123456789012345678901234567890,"vast":1e999999,"exact":0.10}"#;
        let lines = [
            result(&format!(
                r#"{{"content":[],"structuredContent":{numbers}}}"#
            )),
            result(r#"{"content":[{"type":"text","text":"\ud800"},{"type":"text","text":"b"}]}"#),
            result(r#"{"content":[{"type":"text","text":"a\u0000b"}]}"#),
        ];
        let outcomes = outcomes(revision, &lines).await;
        let read: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
        let structured = read[0].structured_content.as_ref().unwrap();
        assert_eq!(structured.as_str(), numbers);
        assert!(matches!(&read[1].content[0], Content::Other(raw)
            if raw.as_str() == r#"{"type":"text","text":"\ud800"}"#));
        assert_eq!(read[1].text(), "b");
        assert_eq!(read[2].text(), "a\0b");
    });
}

#[test]
fn fault_26_unreadable_text_ends_its_call_at_once() {
    each(BOTH_ERAS, async |revision| {
        let lines = [
            result("{\"content\":[{\"type\":\"text\",\"text\":\"a\0b\"}]}"),
            result(r#"{"\ud800":1,"content":[]}"#),
            result(r#"{"content":[{"type":"text","text":"\x"}]}"#),
        ];
        for outcome in outcomes(revision, &lines).await {
            problem_of(outcome);
        }
    });
}

#[test]
fn fault_26_doubled_protocol_keys_are_refused() {
    each(BOTH_ERAS, async |revision| {
        let lines = [
            r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[]},"result":{"evil":1}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","id":99999,"result":{"content":[]}}"#,
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":"$id","result":{"content":[]}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","error":{"code":1,"message":"a"},"error":{"code":2,"message":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","error":{"code":1,"code":2,"message":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[],"content":[]}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[],"isError":false,"isError":true}}"#,
        ];
        for outcome in outcomes(revision, &lines.map(str::to_owned)).await {
            problem_of(outcome);
        }
    });
}

#[test]
fn fault_26_keys_in_another_case_are_other_keys() {
    each(BOTH_ERAS, async |revision| {
        let good = r#"{"content":[{"type":"text","text":"good"}],"Content":[],"IsError":true}"#;
        let lines = [format!(
            r#"{{"JSONRPC":"1.0","jsonrpc":"2.0","ID":99999,"id":"$id","Result":{{}},"result":{good},"Error":{{"code":1,"message":"evil"}}}}"#
        )];
        let outcome = outcomes(revision, &lines).await.remove(0).unwrap();
        assert_eq!(outcome.text(), "good");
        assert!(!outcome.is_error);
        assert_eq!(outcome.extra.get("Content").unwrap().as_str(), "[]");
    });
}
