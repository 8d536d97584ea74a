//! A host in the background and clients of it, over a real socket, with chaos servers.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach helpers of integration tests"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use attache::host::config::{Found, Origin, ServerName, UserEnvironment};
use attache::host::events::EventKind;
use attache::host::frames::FrameKind;
use attache::host::questions::{Answer, Askable, Topic};
use attache::host::snapshot::{Applied, ServerState, Snapshot};
use attache::host::trust::{Loaded, Trust};
use attache::host::{Error as HostError, HostBuilder};
use attache::protocol::{
    CallToolResult, CompletionReference, Ending, Json, LogLevel, Payload, Prompt,
    SubscriptionFilter, Tool,
};
use attache::{Change, ElicitationModes, Host, Server, json};
use attache_attach::{
    CallUpdate, Place, Position, RemoteCall, RemoteError, RemoteEvents, RemoteFailure, RemoteHost,
    Service, is_held, listen,
};
use attache_testkit::chaos::{Action, Launch, Reply, Script, TaskPlan, When};
use attache_testkit::guard::{PATIENCE, eventually, guarded, within};
use attache_testkit::scratch::Scratch;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A host in the background with one server, `one`.
struct Background {
    _folder: Scratch,
    place: Place,
    launch: Launch,
    host: Host,
    end: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Background {
    fn new(script: &Script) -> Self {
        Self::with(script, |builder| builder)
    }

    fn with(script: &Script, build: impl FnOnce(HostBuilder) -> HostBuilder) -> Self {
        let folder = Scratch::new("attach").unwrap();
        let launch = script.launch().unwrap();
        let mut server = Server::stdio(&launch.program, &launch.args);
        for (name, value) in &launch.env {
            server = server.env(name, value);
        }
        let builder = Host::builder().server("one", server).keep_events(4096);
        let host = build(builder).start();
        let place = place(&folder);
        let mut listener = listen(&place).unwrap().unwrap();
        assert!(listen(&place).unwrap().is_none(), "one process at a time");
        let service = Service::new(host.clone(), &place, explain);
        let (end, ended) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let signal = async { drop(ended.await) };
            service
                .run(&mut listener, Duration::from_secs(3600), signal)
                .await;
        });
        Self {
            _folder: folder,
            place,
            launch,
            host,
            end: Some(end),
            serving,
        }
    }

    async fn client(&self) -> RemoteHost {
        within("connect", RemoteHost::connect(&self.place))
            .await
            .unwrap()
    }

    async fn finish(mut self) {
        drop(self.end.take());
        within("service", self.serving).await.unwrap();
        within("close", self.host.close()).await;
        self.launch.tag().wait_until_gone(PATIENCE).unwrap();
    }
}

fn place(folder: &Scratch) -> Place {
    let home = folder.path().as_os_str().to_owned();
    let variables = [
        ("HOME".into(), home.clone()),
        ("XDG_RUNTIME_DIR".into(), home),
    ];
    let environment = UserEnvironment::new(variables, folder.path());
    let found = Found {
        file: folder.write("attache.toml", "").unwrap(),
        origin: Origin::User,
    };
    let trust = Trust::in_file(folder.path().join("trust"));
    let loaded = Loaded::read(found, &environment, &trust).unwrap();
    Place::of(&loaded, &environment, None).unwrap()
}

fn explain(error: HostError) -> RemoteFailure {
    RemoteFailure::new("explained", 9, error.to_string())
}

fn script() -> Script {
    Script::legacy("2025-11-25")
}

fn call(tool: &str, arguments: serde_json::Value) -> RemoteCall {
    RemoteCall {
        server: "one".to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.into(),
        ..RemoteCall::default()
    }
}

fn text(payload: &Payload) -> String {
    payload.decode::<CallToolResult>().unwrap().text()
}

async fn echo(host: &RemoteHost, message: &str) -> Result<String, RemoteError> {
    let call = host
        .call(&call("echo", json!({"message": message})))
        .await?;
    Ok(text(&within("echo", call.result()).await?))
}

/// The next event that is it.
async fn event(events: &mut RemoteEvents, is_it: impl Fn(&EventKind) -> bool) -> EventKind {
    loop {
        let event = within("event", events.next()).await.unwrap();
        if is_it(&event.kind) {
            return event.kind.clone();
        }
    }
}

#[test]
fn requests_share_a_connection_and_dropping_one_tells_its_server() {
    guarded(async || {
        let slow = [
            Action::progress([1.0, 2.0]),
            Action::wait_cancelled(),
            Reply::text("late").into(),
        ];
        let background = Background::new(&script().on(When::tool("slow"), slow));
        let host = background.client().await;
        let mut slow = call("slow", json!({}));
        slow.progress = true;
        let mut slow = host.call(&slow).await.unwrap();
        let CallUpdate::Numbered(number) = within("number", slow.next()).await else {
            panic!("a call has its number first");
        };
        let CallUpdate::Progress(note) = within("progress", slow.next()).await else {
            panic!("the server makes progress");
        };
        assert!(note.progress >= 1.0);
        // More than are worked on at a time, beside the one that waits.
        let echoes = (0..200).map(|number| {
            let host = host.clone();
            tokio::spawn(async move { echo(&host, &number.to_string()).await })
        });
        for (number, echo) in echoes.collect::<Vec<_>>().into_iter().enumerate() {
            assert_eq!(echo.await.unwrap().unwrap(), number.to_string());
        }
        let open = background.host.snapshot().requests;
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].request, number);
        drop(slow);
        let told = background
            .launch
            .wait_received_of("notifications/cancelled", 1, PATIENCE);
        assert_eq!(told.unwrap().len(), 1);
        let ended = eventually(
            || background.host.snapshot().recent,
            |recent| recent.iter().any(|it| it.request == number),
        );
        let ended = ended.await.into_iter().find(|it| it.request == number);
        assert_eq!(ended.unwrap().ending, Some(Ending::Cancelled));
        assert_eq!(echo(&host, "again").await.unwrap(), "again");
        background.finish().await;
    });
}

#[test]
fn a_face_follows_from_a_snapshot_and_goes_on_where_it_left_off() {
    guarded(async || {
        let background = Background::new(&script());
        let host = background.client().await;
        let (snapshot, mut events) = host.follow(None, []).await.unwrap();
        let mut snapshot = snapshot.unwrap();
        let mut frames = host.frames().await.unwrap();
        for number in 0..5 {
            echo(&host, &number.to_string()).await.unwrap();
        }
        let is_frame = |frame: &attache::host::frames::Frame| matches!(&frame.kind, FrameKind::Sent(sent) if sent.payload.text().contains("tools/call"));
        let mut calls = 0;
        while calls < 5 {
            let frame = within("frame", frames.next()).await.unwrap();
            calls += usize::from(is_frame(&frame));
        }
        let catch_up = async |snapshot: &mut Snapshot, events: &mut RemoteEvents| {
            let until = background.host.snapshot().seq;
            while snapshot.seq < until {
                let event = within("event", events.next()).await.unwrap();
                assert_eq!(snapshot.apply(&event), Applied::Now);
            }
        };
        catch_up(&mut snapshot, &mut events).await;
        assert_eq!(snapshot.recent, background.host.snapshot().recent);
        // Away for a while, and back on another connection.
        drop(events);
        echo(&host, "meanwhile").await.unwrap();
        let other = background.client().await;
        let position = Position::of(&snapshot);
        let (none, mut events) = other.follow(Some(position), []).await.unwrap();
        assert!(none.is_none());
        catch_up(&mut snapshot, &mut events).await;
        assert_eq!(snapshot.recent, background.host.snapshot().recent);
        // A number of another host means nothing.
        let elsewhere = Position {
            started_ms: position.started_ms + 1,
            ..position
        };
        let (anew, _) = other.follow(Some(elsewhere), []).await.unwrap();
        assert!(anew.unwrap().seq > position.seq);
        background.finish().await;
    });
}

#[test]
fn a_question_waits_for_those_only_who_can_answer_it() {
    guarded(async || {
        let question = json!({
            "message": "Sure?",
            "requestedSchema": {"type": "object", "properties": {}},
        });
        let asking = [
            Action::ask("elicitation/create", question),
            Reply::client_answer().into(),
        ];
        let rules = attache::host::config::Config::read(
            "[policy]\ndefault = \"ask\"\n",
            std::path::Path::new("/attache.toml"),
            Origin::User,
            &UserEnvironment::new([], "/"),
        );
        assert!(rules.problems.is_empty(), "{:?}", rules.problems);
        let askable = Askable {
            elicitation: Some(ElicitationModes::Form),
            ..Askable::default()
        };
        let background = Background::with(&script().on(When::tool("ask"), asking), |builder| {
            builder.config(rules).askable(askable)
        });
        let (one, two) = (background.client().await, background.client().await);
        // The first client is asked about its own call.
        let mut asked = call("ask", json!({}));
        asked.questions = vec![Topic::Approval, Topic::ElicitForm];
        let mut pending = one.call(&asked).await.unwrap();
        let question = loop {
            if let CallUpdate::Question(question) = within("question", pending.next()).await {
                break question;
            }
        };
        // The call of another, who cannot answer, does not wait for it.
        let refused = echo(&two, "hi").await;
        assert!(matches!(refused, Err(RemoteError::Failed(it)) if it.kind == "explained"));
        let (_, mut events) = two.follow(None, [Topic::Drift]).await.unwrap();
        let allow: Answer = serde_json::from_str(r#"{"allow":{}}"#).unwrap();
        one.answer(question.id, allow.clone()).await.unwrap();
        let late = two.answer(question.id, allow).await;
        assert!(matches!(late, Err(RemoteError::Failed(it)) if it.kind == "usage"));
        let form = loop {
            if let CallUpdate::Question(question) = within("question", pending.next()).await {
                break question;
            }
        };
        let asked = event(
            &mut events,
            |it| matches!(it, EventKind::Asked { question } if question.id == form.id),
        );
        asked.await;
        // Any client may answer, and the one that was asked sees it closed.
        two.answer(form.id, Answer::Decline).await.unwrap();
        let mut closed = Vec::new();
        let ended = loop {
            match within("end", pending.next()).await {
                CallUpdate::Closed(question) => closed.push(question),
                CallUpdate::Ended(ended) => break ended.unwrap(),
                _ => {}
            }
        };
        assert!(text(&ended).contains("decline"));
        assert!(closed.contains(&form.id), "{closed:?}");
        background.finish().await;
    });
}

#[test]
fn every_verb_of_a_host_reaches_it() {
    guarded(async || {
        let background = Background::new(&script());
        let host = background.client().await;
        let tools = host.list::<Tool>(None, None).await.unwrap();
        assert!(tools.is_complete());
        assert!(tools.entries.iter().any(|it| it.qualified == "one/echo"));
        let found = host.find::<Tool>("echo", None).await.unwrap();
        assert_eq!(found.server.as_str(), "one");
        let missing = host.find::<Tool>("nothing", None).await;
        assert!(matches!(missing, Err(RemoteError::Failed(_))));
        let known = host.servers(None).await.unwrap();
        assert_eq!(known[0].server.offers.tools, Some(tools.entries.len()));
        assert!(known[0].server_info.is_some());
        let prompts = host.list::<Prompt>(Some("one"), Some(PATIENCE)).await;
        let prompts = prompts.unwrap().entries;
        let local = background.host.list_resources().await.unwrap();
        let uri = &local.entries[0].entry.uri;
        assert_eq!(host.owner_of(uri).await.unwrap().as_str(), "one");
        let read = host.read(uri, None).await.unwrap();
        let local = background.host.read(uri).await.unwrap();
        assert_eq!(
            Json::from_serialize(&read.contents).unwrap(),
            Json::from_serialize(&*local.contents).unwrap()
        );
        if let Some(prompt) = prompts.first() {
            let reference = CompletionReference::prompt(&prompt.entry.name);
            let there = host
                .complete("one", reference.clone(), "a", "", Default::default())
                .await;
            let here = background
                .host
                .complete("one", reference, "a", "", Default::default())
                .await;
            assert_eq!(there.is_ok(), here.is_ok());
        }
        let state = || background.host.snapshot().servers[0].state;
        assert_eq!(state(), ServerState::Ready);
        host.stop("one").await.unwrap();
        assert_eq!(state(), ServerState::Configured);
        let watched = SubscriptionFilter {
            tools_list_changed: true,
            ..SubscriptionFilter::default()
        };
        let one = ServerName::new("one").unwrap();
        let mut watch = host.watch(&one, watched).await.unwrap();
        assert!(watch.granted().tools_list_changed);
        let change = json!({"list": "tools"});
        let changing = host.call(&call("change", change)).await;
        within("call", changing.unwrap().result()).await.unwrap();
        let changed = within("change", watch.next()).await.unwrap();
        assert_eq!(changed, Change::Tools);
        // It survives a restart of its server, and says what that means.
        background.host.restart("one").await.unwrap();
        let changed = within("change", watch.next()).await.unwrap();
        assert_eq!(changed, Change::Missed);
        let level = host.set_log_level("one", LogLevel::Debug).await;
        assert_eq!(
            level.is_ok(),
            background
                .host
                .set_log_level("one", LogLevel::Debug)
                .await
                .is_ok()
        );
        host.restart("one").await.unwrap();
        host.set_enabled("one", false).await.unwrap();
        assert_eq!(state(), ServerState::Disabled);
        let disabled = host.servers(None).await.unwrap();
        assert_eq!(disabled[0].server.offers.tools, None);
        host.set_enabled("one", true).await.unwrap();
        assert_eq!(echo(&host, "back").await.unwrap(), "back");
        background.finish().await;
    });
}

#[test]
fn a_task_is_called_off_when_its_caller_leaves() {
    guarded(async || {
        let tool = json!({
            "name": "slow",
            "inputSchema": {"type": "object"},
            "execution": {"taskSupport": "required"},
        });
        let quick = json!({
            "name": "quick",
            "inputSchema": {"type": "object"},
            "execution": {"taskSupport": "required"},
        });
        let done = json!({"content": [{"type": "text", "text": "done"}]});
        let script = script()
            .tools([tool, quick])
            .on(
                When::tool("slow"),
                [Reply::task(TaskPlan::endless()).into()],
            )
            .on(
                When::tool("quick"),
                [Reply::task(TaskPlan::completing(Duration::ZERO, done)).into()],
            );
        let background = Background::new(&script);
        let host = background.client().await;
        let as_task = |tool: &str| RemoteCall {
            task: true,
            ..call(tool, json!({}))
        };
        let quick = host.call(&as_task("quick")).await.unwrap();
        let quick = within("task", quick.result()).await.unwrap();
        assert_eq!(text(&quick), "done");
        let slow = host.call(&as_task("slow")).await.unwrap();
        let asked = background.launch.wait_received_of("tasks/get", 2, PATIENCE);
        asked.unwrap();
        drop(slow);
        let cancelled = background
            .launch
            .wait_received_of("tasks/cancel", 1, PATIENCE);
        cancelled.unwrap();
        background.finish().await;
    });
}

/// C-like honesty: a call whose connection is lost has an unknown outcome, and later requests say
/// that there is no connection.
#[test]
fn the_end_of_the_process_is_told_to_every_request() {
    guarded(async || {
        let never = script().on(When::tool("never"), [Action::never()]);
        let background = Background::new(&never);
        let host = background.client().await;
        let pending = host.call(&call("never", json!({}))).await.unwrap();
        let (_, mut events) = host.follow(None, []).await.unwrap();
        background
            .launch
            .wait_received_of("tools/call", 1, PATIENCE)
            .unwrap();
        assert!(is_held(&background.place));
        let other = background.client().await;
        within("end", other.shut_down()).await;
        within("closed", host.closed()).await;
        let lost = within("call", pending.result()).await;
        assert!(matches!(lost, Err(RemoteError::Lost)), "{lost:?}");
        while within("events", events.next()).await.is_some() {}
        assert!(matches!(host.snapshot().await, Err(RemoteError::NotSent)));
        let late = host.call(&call("echo", json!({}))).await;
        assert!(matches!(late, Err(RemoteError::NotSent)));
        let place = background.place.clone();
        background.finish().await;
        assert!(!is_held(&place));
        assert!(RemoteHost::connect(&place).await.is_none());
    });
}

/// The protocol as a client meets it that does not keep to its limits.
#[test]
fn a_client_that_asks_too_much_is_refused_and_can_still_cancel() {
    guarded(async || {
        let never = script().on(When::tool("never"), [Action::never()]);
        let background = Arc::new(Background::new(&never));
        let place = background.place.clone();
        let raw = tokio::task::spawn_blocking(move || {
            let mut stream = UnixStream::connect(place.socket()).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let mut hear = move || {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                serde_json::from_str::<serde_json::Value>(&line).unwrap()
            };
            let mut say = |what: serde_json::Value| writeln!(stream, "{what}").unwrap();
            let version = env!("CARGO_PKG_VERSION");
            say(json!({"attach": 1, "version": version, "key": place.key()}));
            assert!(hear()["refused"].is_null());
            let never = json!({"server": "one", "tool": "never"});
            for id in 1..=64 {
                say(json!({"id": id, "do": "call", "with": never}));
            }
            let error = |hear: &mut dyn FnMut() -> serde_json::Value, id: u64| loop {
                let line = hear();
                if line["id"] == id && !line["error"].is_null() {
                    return line["error"].clone();
                }
            };
            say(json!({"id": 65, "do": "call", "with": never}));
            assert_eq!(error(&mut hear, 65)["kind"], "usage");
            say(json!({"id": 66, "do": "cancel", "with": {"request": 7}}));
            let cancelled = error(&mut hear, 7);
            assert_eq!(cancelled["kind"], "cancelled", "{cancelled}");
            // An id that is in use is not another request's.
            say(json!({"id": 8, "do": "call", "with": never}));
            assert_eq!(error(&mut hear, 8)["kind"], "usage");
            say(json!({"id": 67, "do": "call", "with": {"server": "one", "tool": 7}}));
            assert_eq!(error(&mut hear, 67)["kind"], "usage");
        });
        within("raw client", raw).await.unwrap();
        let Ok(background) = Arc::try_unwrap(background).map_err(drop) else {
            panic!("the client is gone");
        };
        background.finish().await;
    });
}
