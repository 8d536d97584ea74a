use std::path::Path;

use attache_client::Server;
use attache_client::protocol::{Json, Payload, ProgressParams};
use attache_testkit::scratch::Scratch;

use super::*;
use crate::config::{ServerConfig, ServerName, Source};
use crate::error::Error;
use crate::policy::CallOrigin;

fn wanted(arguments: &str) -> WantedRecord {
    WantedRecord {
        method: "tools/call",
        name: "notes/search".to_owned(),
        arguments: Some(Json::parse(arguments).unwrap()),
        origin: Some(CallOrigin::Person),
    }
}

fn server() -> (RecordedServer, bool) {
    let name = ServerName::new("notes").unwrap();
    let server = Server::stdio("notes", ["--stdio"]).env("API_KEY", "correct-horse");
    let config = ServerConfig::new(name, server, Source::program());
    let server = RecordedServer {
        config: Arc::new(config),
        is_typed: false,
    };
    (server, false)
}

fn all(folder: &Path) -> Vec<CallRecord> {
    let all = Filter {
        most: usize::MAX,
        ..Filter::default()
    };
    history(folder, &all).unwrap().calls
}

fn everything_on_disk(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap();
    let texts = entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    texts.collect()
}

fn answer(text: &str) -> Result<Payload, Error> {
    Ok(Json::parse(text).unwrap().into())
}

#[tokio::test]
async fn s12_a_call_is_written_down_without_its_secrets() {
    let scratch = Scratch::new("calls").unwrap();
    let folder = scratch.path().join("calls");
    let log = CallLog::in_folder(&folder);
    let arguments = r#"{"query":"tea","token":"swordfish"}"#;
    let mut recording = Recording::begin(Some(&log), || wanted(arguments));
    recording.found("search", server);
    let note = r#"{"progressToken":1,"progress":0.5,"message":"with swordfish"}"#;
    let note: ProgressParams = serde_json::from_str(note).unwrap();
    recording.progress().unwrap().note(&note);
    recording.end(&answer(
        r#"{"content":[{"type":"text","text":"swordfish and correct-horse"}],"isError":true}"#,
    ));
    log.flushed().await;
    let on_disk = everything_on_disk(&folder);
    assert!(!on_disk.contains("swordfish"), "{on_disk}");
    assert!(!on_disk.contains("correct-horse"), "{on_disk}");
    let [call] = &all(&folder)[..] else {
        panic!("{on_disk}")
    };
    let (began, ended) = (call.began.as_ref().unwrap(), call.ended.as_ref().unwrap());
    assert_eq!(began.server.as_deref(), Some("notes"));
    assert_eq!(began.name, "search");
    assert_eq!(began.masked, ["/token"]);
    let arguments = began.arguments.as_ref().unwrap().as_str();
    assert_eq!(arguments, r#"{"query":"tea","token":"***"}"#);
    assert_eq!(ended.ending, CallEnding::ToolFailed);
    assert_eq!(ended.progress[0].message.as_deref(), Some("with ***"));
    assert_eq!(log.problem(), None);
}

#[tokio::test]
async fn a_call_that_is_dropped_was_cancelled_and_one_without_end_is_known() {
    let scratch = Scratch::new("calls").unwrap();
    let log = CallLog::in_folder(scratch.path());
    drop(Recording::begin(Some(&log), || wanted("{}")));
    let mut running = Recording::begin(Some(&log), || wanted("{}"));
    running.found("search", server);
    log.flushed().await;
    let calls = all(scratch.path());
    let endings: Vec<_> = calls
        .iter()
        .map(|call| call.ended.as_ref().map(|ended| ended.ending))
        .collect();
    assert_eq!(endings, [Some(CallEnding::Cancelled), None]);
}

#[tokio::test]
async fn what_is_too_long_for_a_line_has_a_file_of_its_own() {
    let scratch = Scratch::new("calls").unwrap();
    let log = CallLog::in_folder(scratch.path());
    let text = format!("\"{}\"", "x".repeat(100_000));
    let long = format!(r#"{{"token":"swordfish","text":{text}}}"#);
    let mut recording = Recording::begin(Some(&log), || wanted(&long));
    recording.found("search", server);
    recording.end(&answer(&long));
    log.flushed().await;
    let [call] = &all(scratch.path())[..] else {
        panic!()
    };
    let began = call.began.as_ref().unwrap();
    let ended = call.ended.as_ref().unwrap();
    for name in [&began.arguments_file, &ended.result_file] {
        let kept = stored(scratch.path(), name.as_deref().unwrap()).unwrap();
        let kept: serde_json::Value = kept.decode().unwrap();
        assert_eq!(kept["token"], "***");
        assert_eq!(kept["text"].as_str().unwrap().len(), 100_000);
    }
    assert!(stored(scratch.path(), "../number").is_err());
}

/// A disk that is full is played by a file where the folder should be.
#[tokio::test]
async fn what_cannot_be_written_is_told_and_harms_no_call() {
    let scratch = Scratch::new("calls").unwrap();
    let in_the_way = scratch.write("calls", "").unwrap();
    let log = CallLog::in_folder(&in_the_way);
    for _ in 0..3 {
        Recording::begin(Some(&log), || wanted("{}")).end(&answer("{}"));
    }
    log.flushed().await;
    assert!(log.problem().is_some());
    assert_eq!(log.lost(), 3);
    // Once it can be written again, it is.
    std::fs::remove_file(&in_the_way).unwrap();
    Recording::begin(Some(&log), || wanted("{}")).end(&answer("{}"));
    log.flushed().await;
    assert_eq!(all(&in_the_way).len(), 1);
    let read = history(&in_the_way, &Filter::default()).unwrap();
    assert_eq!(read.lost, 3, "the log tells of those it does not have");
}

#[tokio::test]
async fn calls_that_begin_while_nothing_can_be_written_are_written_with_their_ends() {
    let scratch = Scratch::new("calls").unwrap();
    let in_the_way = scratch.write("calls", "").unwrap();
    let log = CallLog::in_folder(&in_the_way);
    let begun: Vec<Recording> = (0..5)
        .map(|_| {
            let mut recording = Recording::begin(Some(&log), || wanted("{}"));
            recording.found("search", server);
            recording
        })
        .collect();
    log.flushed().await;
    std::fs::remove_file(&in_the_way).unwrap();
    for recording in begun {
        recording.end(&answer("{}"));
    }
    log.flushed().await;
    let calls = all(&in_the_way);
    assert_eq!(calls.len(), 5);
    let are_whole = |call: &CallRecord| call.began.is_some() && call.ended.is_some();
    assert!(calls.iter().all(are_whole), "{calls:?}");
}

/// A slow disk is played by a lock that another holds.
#[tokio::test]
async fn fault_49_calls_that_come_too_fast_are_counted_and_the_log_says_so() {
    let scratch = Scratch::new("calls").unwrap();
    let log = CallLog::in_folder(scratch.path());
    let lock = crate::state_file::lock(&scratch.path().join("number")).unwrap();
    // What is being written has left the queue.
    let total = 2 * queue::CAPACITY + 50;
    for _ in 0..total {
        Recording::begin(Some(&log), || wanted("{}")).end(&answer("{}"));
    }
    let lost = log.lost();
    assert!(lost >= 50, "{lost}");
    drop(lock);
    log.flushed().await;
    let filter = Filter {
        most: usize::MAX,
        ..Filter::default()
    };
    let read = history(scratch.path(), &filter).unwrap();
    assert_eq!(read.lost, lost);
    assert_eq!(read.calls.len() as u64 + lost, total as u64);
}

#[test]
fn results_that_wait_are_bounded_by_their_bytes() {
    let scratch = Scratch::new("calls").unwrap();
    let log = CallLog::in_folder(scratch.path());
    let _lock = crate::state_file::lock(&scratch.path().join("number")).unwrap();
    let large = format!("\"{}\"", "x".repeat(queue::BYTES / 4));
    let large: Payload = Json::parse(&large).unwrap().into();
    for _ in 0..12 {
        Recording::begin(Some(&log), || wanted("{}")).end(&Ok(large.clone()));
    }
    let waiting = log.shared.queue.weight();
    assert!(waiting <= queue::BYTES, "{waiting}");
    assert_eq!(log.lost(), 0, "their endings are kept");
}
