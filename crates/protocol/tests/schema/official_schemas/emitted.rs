//! Every message a client sends is valid in each revision that has it, and has no member of a later
//! one (X-INIT-09).

use std::collections::BTreeMap;

use attache_protocol::frame::{self, EmptyParams, MetaFields, Params};
use attache_protocol::{
    CallTool, CallToolParams, CancelTask, Cancelled, CancelledParams, ClientCapabilities, Complete,
    CompleteParams, CompletionReference, Content, CreateMessageResult, CreateTaskResult, Discover,
    ElicitResult, EmptyResult, Era, ErrorObject, GetPrompt, GetPromptParams, GetTask,
    Implementation, Initialize, InitializeParams, Initialized, InputResponses, Json, ListPrompts,
    ListResources, ListRootsResult, ListTasks, ListTemplates, ListTools, Listen, ListenParams,
    LogLevel, MediaContent, Method, NoParams, Notification, PageParams, Ping, Progress,
    ProgressParams, ReadResource, ReadResourceParams, Revision, Root, RootsChanged, SetLevel,
    SetLevelParams, Subscribe, SubscribeParams, SubscriptionFilter, Task, TaskPage, TaskParams,
    TaskRequest, TaskResult, TaskStatusChanged, Unsubscribe, codes, meta, retry_params,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Schema;
use crate::official_schemas::known_members::unknown_members;

const FIRST: Revision = Revision::V2024_11_05;
const WITH_ELICITATION: Revision = Revision::V2025_06_18;
const LAST_LEGACY: Revision = Revision::V2025_11_25;
const WITH_TASKS: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

fn everything() -> ClientCapabilities {
    let all = json!({
        "roots": {"listChanged": true},
        "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}},
        "tasks": {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}},
        "extensions": {meta::TASKS_EXTENSION: {}},
        "experimental": {"com.example/x": {}},
    });
    Json::from(all).decode().unwrap()
}

fn client() -> Implementation {
    Implementation {
        title: Some("A client".to_owned()),
        description: Some("For tests".to_owned()),
        website_url: Some("https://example.org".to_owned()),
        icons: Some(json!([{"src": "https://example.org/icon.png", "sizes": ["48x48"]}]).into()),
        ..Implementation::new("client", "1.0.0")
    }
}

/// What travels with every request of a revision.
fn request_meta(revision: Revision) -> MetaFields {
    let mut fields = MetaFields::default();
    fields.add(meta::PROGRESS_TOKEN, &7).unwrap();
    if revision.era() == Era::Modern {
        fields.add(meta::PROTOCOL_VERSION, &revision).unwrap();
        let capabilities = everything().for_revision(revision);
        fields
            .add(meta::CLIENT_CAPABILITIES, &capabilities)
            .unwrap();
        let client = client().for_revision(revision);
        fields.add(meta::CLIENT_INFO, &client).unwrap();
        fields.add(meta::LOG_LEVEL, &LogLevel::Info).unwrap();
    }
    fields
}

/// One kind of message and the revisions that have it.
struct Case {
    definition: &'static str,
    from: Revision,
    to: Revision,
    /// Everything this kind can say, in the shape of a revision.
    write: Box<dyn Fn(Revision) -> Vec<Value>>,
}

fn case(
    definition: &'static str,
    (from, to): (Revision, Revision),
    write: impl Fn(Revision) -> Vec<Value> + 'static,
) -> Case {
    Case {
        definition,
        from,
        to,
        write: Box::new(write),
    }
}

/// A line as the value it holds.
fn parsed(line: Vec<u8>) -> Value {
    let body = line.strip_suffix(b"\n").unwrap();
    assert!(!body.contains(&b'\n'));
    serde_json::from_slice(body).unwrap()
}

fn request<M: Method>(
    definition: &'static str,
    range: (Revision, Revision),
    params: impl Fn(Revision) -> Vec<M::Params> + 'static,
) -> Case {
    case(definition, range, move |revision| {
        let with_meta = request_meta(revision);
        let write = |params: &M::Params| {
            let bare = frame::request(1, M::NAME, params, &[], EmptyParams::Omit);
            let full = frame::request(2, M::NAME, params, &[&with_meta], EmptyParams::Omit);
            // A modern request cannot do without its metadata (C-MOD-01).
            let bare = (revision.era() == Era::Legacy).then(|| parsed(bare.unwrap()));
            bare.into_iter().chain([parsed(full.unwrap())])
        };
        params(revision).iter().flat_map(write).collect()
    })
}

fn notification<N: Notification>(
    definition: &'static str,
    range: (Revision, Revision),
    params: impl Fn(Revision) -> N::Params + 'static,
) -> Case {
    case(definition, range, move |revision| {
        vec![parsed(
            frame::notification(N::NAME, &params(revision), &[]).unwrap(),
        )]
    })
}

/// What a client answers; the definition is that of the bare result.
fn result<R: Serialize + 'static>(
    definition: &'static str,
    range: (Revision, Revision),
    results: Vec<R>,
) -> Case {
    case(definition, range, move |_| {
        let write = |result: &R| parsed(frame::result(&"s-1".into(), result).unwrap());
        results.iter().map(write).collect()
    })
}

fn pages() -> Vec<PageParams> {
    let second = PageParams {
        cursor: Some(String::new()),
        ..PageParams::default()
    };
    vec![PageParams::default(), second]
}

fn text(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), "v".to_owned())])
}

fn client_requests() -> Vec<Case> {
    let all = (FIRST, MODERN);
    let legacy = (FIRST, LAST_LEGACY);
    let modern = (MODERN, MODERN);
    let tasks = (WITH_TASKS, WITH_TASKS);
    vec![
        request::<Initialize>("InitializeRequest", legacy, |revision| {
            vec![InitializeParams::new(revision, &everything(), &client())]
        }),
        request::<Ping>("PingRequest", legacy, |_| vec![NoParams::default()]),
        request::<Discover>("DiscoverRequest", modern, |_| vec![NoParams::default()]),
        request::<ListTools>("ListToolsRequest", all, |_| pages()),
        request::<ListPrompts>("ListPromptsRequest", all, |_| pages()),
        request::<ListResources>("ListResourcesRequest", all, |_| pages()),
        request::<ListTemplates>("ListResourceTemplatesRequest", all, |_| pages()),
        request::<CallTool>("CallToolRequest", all, |revision| {
            let plain = CallToolParams::new("t", None);
            let mut full = CallToolParams::new("t", Some(json!({"n": 1, "deep": [{}]}).into()));
            if revision.features().experimental_tasks {
                full.task = Some(TaskRequest::new(Some(60_000)));
            }
            vec![plain, full]
        }),
        request::<GetPrompt>("GetPromptRequest", all, |_| {
            vec![
                GetPromptParams::new("p", BTreeMap::new()),
                GetPromptParams::new("p", text("a")),
            ]
        }),
        request::<ReadResource>("ReadResourceRequest", all, |_| {
            vec![ReadResourceParams::new("file:///a%20b")]
        }),
        request::<Complete>("CompleteRequest", all, |revision| {
            let prompt = CompletionReference::Prompt {
                name: "p".to_owned(),
                title: Some("P".to_owned()),
            };
            let resource = CompletionReference::resource("file:///{path}");
            vec![
                CompleteParams::new(prompt, "a", "v").with_chosen(text("b")),
                CompleteParams::new(resource, "path", ""),
            ]
            .into_iter()
            .map(|params| params.for_revision(revision))
            .collect()
        }),
        request::<SetLevel>("SetLevelRequest", legacy, |_| {
            LogLevel::ALL.map(SetLevelParams::new).into()
        }),
        request::<Subscribe>("SubscribeRequest", legacy, |_| {
            vec![SubscribeParams::new("file:///a")]
        }),
        request::<Unsubscribe>("UnsubscribeRequest", legacy, |_| {
            vec![SubscribeParams::new("file:///a")]
        }),
        request::<Listen>("SubscriptionsListenRequest", modern, |_| {
            let all = SubscriptionFilter {
                tools_list_changed: true,
                prompts_list_changed: true,
                resources_list_changed: true,
                resource_subscriptions: Some(vec!["file:///a".to_owned()]),
                ..SubscriptionFilter::default()
            };
            [SubscriptionFilter::default(), all]
                .map(ListenParams::new)
                .into()
        }),
        request::<GetTask>("GetTaskRequest", tasks, |_| vec![TaskParams::new("t")]),
        request::<TaskResult>("GetTaskPayloadRequest", tasks, |_| {
            vec![TaskParams::new("t")]
        }),
        request::<CancelTask>("CancelTaskRequest", tasks, |_| vec![TaskParams::new("t")]),
        request::<ListTasks>("ListTasksRequest", tasks, |_| pages()),
    ]
}

fn client_notifications() -> Vec<Case> {
    let legacy = (FIRST, LAST_LEGACY);
    let tasks = (WITH_TASKS, WITH_TASKS);
    vec![
        notification::<Initialized>("InitializedNotification", legacy, |_| NoParams::default()),
        notification::<RootsChanged>("RootsListChangedNotification", legacy, |_| {
            NoParams::default()
        }),
        notification::<Cancelled>("CancelledNotification", (FIRST, MODERN), |_| {
            CancelledParams::new(7, "no longer wanted")
        }),
        // A client runs tasks too.
        notification::<TaskStatusChanged>("TaskStatusNotification", tasks, |_| task()),
        notification::<Progress>("ProgressNotification", legacy, |_| ProgressParams {
            total: Some(2.5),
            ..ProgressParams::new("token".into(), 1.0)
        }),
    ]
}

fn client_messages() -> Vec<Case> {
    let mut cases = client_requests();
    cases.extend(client_notifications());
    cases
}

fn task() -> Task {
    Task {
        status_message: Some("at work".to_owned()),
        poll_interval: Some(500),
        ..Task::new("t", "2026-01-01T00:00:00Z")
    }
}

/// What a client answers to a legacy server, or puts into a retry for a modern one.
fn client_results() -> Vec<Case> {
    let tasks = (WITH_TASKS, WITH_TASKS);
    vec![
        result(
            "EmptyResult",
            (FIRST, LAST_LEGACY),
            vec![EmptyResult::default()],
        ),
        result(
            "ListRootsResult",
            (FIRST, MODERN),
            vec![
                ListRootsResult::new(vec![]),
                ListRootsResult::new(vec![Root::new("file:///a").named("a")]),
            ],
        ),
        result(
            "CreateMessageResult",
            (FIRST, MODERN),
            vec![
                CreateMessageResult {
                    stop_reason: Some("endTurn".to_owned()),
                    ..CreateMessageResult::new("model", Content::text("words"))
                },
                CreateMessageResult::new(
                    "model",
                    Content::Image(MediaContent::new("AA==", "image/png")),
                ),
            ],
        ),
        result(
            "CreateMessageResult",
            (WITH_TASKS, MODERN),
            vec![CreateMessageResult::new(
                "model",
                vec![Content::text("words")],
            )],
        ),
        result(
            "ElicitResult",
            (WITH_ELICITATION, MODERN),
            vec![
                ElicitResult::accept(json!({"a": "x", "b": 1, "c": true}).into()),
                ElicitResult::accept_url(),
                ElicitResult::decline(),
                ElicitResult::cancel(),
            ],
        ),
        result(
            "ElicitResult",
            (WITH_TASKS, MODERN),
            vec![ElicitResult::accept(json!({"a": ["x", "y"]}).into())],
        ),
        result(
            "CreateTaskResult",
            tasks,
            vec![CreateTaskResult::new(task())],
        ),
        result("GetTaskResult", tasks, vec![task()]),
        result("CancelTaskResult", tasks, vec![task()]),
        result(
            "ListTasksResult",
            tasks,
            vec![TaskPage {
                tasks: vec![task()].into(),
                ..TaskPage::default()
            }],
        ),
    ]
}

/// The envelope of a message, by the names a revision has for it.
fn envelope(schema: &Schema, message: &Value) -> &'static str {
    let members = ["method", "id", "result", "error"].map(|it| message.get(it).is_some());
    let named = |new: &'static str, old: &'static str| match schema.definition(new) {
        Some(_) => new,
        None => old,
    };
    match members {
        [true, true, false, false] => "JSONRPCRequest",
        [true, false, false, false] => "JSONRPCNotification",
        [false, true, true, false] => named("JSONRPCResultResponse", "JSONRPCResponse"),
        [false, true, false, true] => named("JSONRPCErrorResponse", "JSONRPCError"),
        _ => panic!("no JSON-RPC message: {message}"),
    }
}

fn check_case(schema: &Schema, case: &Case) {
    let name = case.definition;
    for message in (case.write)(schema.revision) {
        // A modern client sends no responses: there a result is an entry of `inputResponses`.
        let is_response = message.get("method").is_none();
        if !is_response || schema.revision.era() == Era::Legacy {
            schema.check(envelope(schema, &message), &message);
        }
        let body = match message.get("result") {
            Some(result) => result,
            None => &message,
        };
        schema.check(name, body);
        let definition = schema.definition(name).unwrap();
        let (definition, mut said) = match message.get("method") {
            Some(_) => (
                &definition["properties"]["params"],
                message.get("params").cloned().unwrap_or_default(),
            ),
            None => (definition, body.clone()),
        };
        // Metadata is open by design, and checked by the definition.
        if let Some(members) = said.as_object_mut() {
            members.remove("_meta");
        }
        let unknown = unknown_members(schema, definition, &said);
        assert!(
            unknown.is_empty(),
            "{name} of {} has no {unknown:?}: {said}",
            schema.revision
        );
    }
}

#[test]
fn every_message_of_a_client_is_valid_in_each_revision_that_has_it() {
    let schemas = Schema::all();
    let mut cases = client_messages();
    cases.extend(client_results());
    for schema in &schemas {
        for case in &cases {
            if (case.from..=case.to).contains(&schema.revision) {
                check_case(schema, case);
            }
        }
    }
}

/// The ranges above are those of the protocol: what a revision has, a client can say.
#[test]
fn a_client_can_say_all_that_a_revision_defines_for_it() {
    let schemas = Schema::all();
    let cases = client_messages();
    for schema in &schemas {
        let mut defined = Vec::new();
        for union in ["ClientRequest", "ClientNotification"] {
            let union = schema.definition(union).unwrap();
            match union.get("anyOf").and_then(Value::as_array) {
                Some(branches) => defined.extend(branches.iter().map(|branch| {
                    let name = branch["$ref"].as_str().unwrap();
                    name.rsplit('/').next().unwrap().to_owned()
                })),
                // The union of one is written out.
                None => defined.push("CancelledNotification".to_owned()),
            }
        }
        defined.sort();
        let mut said: Vec<&str> = cases
            .iter()
            .filter(|case| (case.from..=case.to).contains(&schema.revision))
            .map(|case| case.definition)
            .collect();
        said.sort_unstable();
        assert_eq!(said, defined, "{}", schema.revision);
    }
}

#[test]
fn c_mrtr_15_retries_are_valid_requests() {
    let schemas = Schema::all();
    let schema = schemas
        .iter()
        .find(|schema| schema.revision == MODERN)
        .unwrap();
    let answers: InputResponses = [
        ("roots", Json::from_serialize(&ListRootsResult::default())),
        (
            "elicitation",
            Json::from_serialize(&ElicitResult::decline()),
        ),
        (
            "sampling",
            Json::from_serialize(&CreateMessageResult::new("m", Content::text("t"))),
        ),
    ]
    .map(|(key, answer)| (key.to_owned(), answer.unwrap()))
    .into();
    let state = Json::from(json!("opaque"));
    for (definition, method, params) in [
        ("CallToolRequest", CallTool::NAME, json!({"name": "t"})),
        ("GetPromptRequest", GetPrompt::NAME, json!({"name": "p"})),
        (
            "ReadResourceRequest",
            ReadResource::NAME,
            json!({"uri": "file:///a"}),
        ),
    ] {
        let params = Params::write(&params).unwrap();
        let params = retry_params(&params, &answers, Some(&state)).unwrap();
        let meta = request_meta(MODERN);
        let request = frame::Request {
            id: 9,
            method,
            params: &params,
            meta: &[&meta],
            empty: EmptyParams::Omit,
        };
        let message = parsed(request.to_line().unwrap());
        assert_eq!(message["params"]["requestState"], "opaque");
        schema.check(definition, &message);
        let params = &schema.definition(definition).unwrap()["properties"]["params"];
        let unknown = unknown_members(schema, params, &message["params"]);
        assert!(unknown.is_empty(), "{definition} has no {unknown:?}");
    }
}

#[test]
fn x_base_07_errors_of_a_client_are_valid() {
    let schemas = Schema::all();
    for schema in schemas
        .iter()
        .filter(|schema| schema.revision.era() == Era::Legacy)
    {
        for code in [codes::METHOD_NOT_FOUND, codes::USER_REFUSED] {
            let error = ErrorObject {
                data: Some(json!({"method": "x"}).into()),
                ..ErrorObject::new(code, "no")
            };
            let message = parsed(frame::error(&7.into(), &error).unwrap());
            schema.check(envelope(schema, &message), &message);
        }
    }
}
