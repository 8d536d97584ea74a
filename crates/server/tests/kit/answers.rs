//! What every answer of a server carries, whatever was asked: its kind, who says it, how long it is
//! fresh; and which errors are given.

use std::sync::Arc;

use attache_server::protocol::{
    CreateMessageParams, ElicitParams, Entries, Json, LogLevel, SamplingMessage, ToolChoice,
};
use attache_server::{
    Caching, Context, Failure, Identify, NoArguments, Prompt, Resource, Server, ServerBuilder,
    Template, Tool, Typed,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{Wire, call, hello, modern, modern_with, text};

/// A server with one of everything, on pages of one entry.
fn one_of_everything() -> ServerBuilder {
    let resource = |uri: &str| {
        Resource::new(
            uri,
            "x",
            |_, it| async move { Ok(it.text("text/plain", "x")) },
        )
    };
    hello()
        .limits(|it| it.page_size = 1)
        .tool(Tool::new("again", "x", |_, _: NoArguments| async {
            Ok("again")
        }))
        .resource(resource("a://1"))
        .resource(resource("a://2"))
        .template(
            Template::new("a://number/{n}", "number", |_, it| async move {
                Ok(it.text("text/plain", it.variable("n").to_owned()))
            })
            .complete("n", |typed: Typed| async move {
                match typed.value.as_str() {
                    "bad" => Err(Failure::internal("broken")),
                    value => Ok(vec![format!("{value}0")]),
                }
            }),
        )
        .prompt(
            Prompt::new("greet", "Greets.", |_, it| async move {
                match it["who"].as_str() {
                    "nobody" => Err(Failure::internal("broken")),
                    who => Ok(format!("Greet {who}")),
                }
            })
            .required("who", "Whom to greet."),
        )
}

fn greet(arguments: Value) -> Value {
    json!({"name": "greet", "arguments": arguments})
}

fn complete(reference: Value, argument: &str, value: &str) -> Value {
    json!({"ref": reference, "argument": {"name": argument, "value": value}})
}

fn number() -> Value {
    json!({"type": "ref/resource", "uri": "a://number/{n}"})
}

#[tokio::test]
async fn s_base_10_s_mod_07_and_12_every_modern_result_says_its_kind_and_its_server() {
    for (identify, is_told) in [(Identify::InEveryResult, true), (Identify::Never, false)] {
        let server = one_of_everything().identify(identify).build().unwrap();
        let mut wire = Wire::new(&server);
        for (method, params, is_cacheable) in [
            ("server/discover", json!({}), true),
            ("tools/list", json!({}), true),
            ("prompts/list", json!({}), true),
            ("resources/list", json!({}), true),
            ("resources/templates/list", json!({}), true),
            ("resources/read", json!({"uri": "a://1"}), true),
            ("prompts/get", greet(json!({"who": "Ada"})), false),
            ("completion/complete", complete(number(), "n", "1"), false),
            (
                "tools/call",
                json!({"name": "hello", "arguments": {}}),
                false,
            ),
        ] {
            let answer = wire.ask(modern(1, method, params)).await;
            let result = &answer["result"];
            assert_eq!(result["resultType"], "complete", "{method}: {answer}");
            let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
            assert_eq!(server == "test", is_told, "{method}: {answer}");
            assert_eq!(result.get("serverInfo"), None, "{method}");
            // S-CACHE-01: how long it is fresh and for whom, on these and no others.
            assert_eq!(result["ttlMs"].as_i64().is_some(), is_cacheable, "{method}");
            let scope = &result["cacheScope"];
            assert_eq!(scope == "private", is_cacheable, "{method}: {answer}");
        }
    }
}

/// S-CACHE-10: what may be shared is what was called public, and each resource may differ.
#[tokio::test]
async fn s_cache_08_all_pages_of_a_list_have_one_scope() {
    let long = std::time::Duration::from_secs(60);
    let builder = one_of_everything().caching(Caching::public(long));
    let own = Resource::new("a://own", "own", |_, it| async move {
        Ok(it.text("text/plain", "mine"))
    });
    let server = builder.resource(own.caching(Caching::private(long)));
    let mut wire = Wire::new(&server.build().unwrap());
    let (mut cursor, mut pages) = (json!({}), 0);
    loop {
        let answer = wire.ask(modern(1, "resources/list", cursor)).await;
        assert_eq!(answer["result"]["cacheScope"], "public");
        assert_eq!(answer["result"]["ttlMs"], 60_000);
        pages += 1;
        match &answer["result"]["nextCursor"] {
            Value::Null => break,
            next => cursor = json!({"cursor": next}),
        }
    }
    assert_eq!(pages, 3);
    let read = modern(2, "resources/read", json!({"uri": "a://own"}));
    assert_eq!(wire.ask(read).await["result"]["cacheScope"], "private");
}

/// S-MOD-18: neither the connection nor what was asked on it before changes a list.
#[tokio::test]
async fn s_mod_18_lists_are_the_same_on_every_connection() {
    let server = one_of_everything().build().unwrap();
    let mut used = Wire::new(&server);
    let params = json!({"name": "hello", "arguments": {}});
    used.ask(modern(1, "tools/call", params)).await;
    for method in ["tools/list", "prompts/list", "resources/list"] {
        let list = || modern(2, method, json!({}));
        let fresh = Wire::new(&server).ask(list()).await;
        assert_eq!(used.ask(list()).await, fresh, "{method}");
        // S-TOOL-03: the order is stable, too.
        assert_eq!(used.ask(list()).await, fresh, "{method}");
    }
}

/// What is registered is declared, and what is declared answers, be it with an empty list.
#[tokio::test]
async fn s_tool_01_s_res_01_s_prm_01_s_cmp_01_s_log_01_what_there_is_is_declared() {
    let resource = || {
        Resource::new("a://1", "x", |_, it| async move {
            Ok(it.text("text/plain", "x"))
        })
    };
    let prompt = || Prompt::new("p", "x", |_, _| async { Ok("x".to_owned()) });
    let completed = || {
        let completer = |_: Typed| async { Ok(Vec::new()) };
        prompt().required("a", "x").complete("a", completer)
    };
    let bare = || Server::builder("test", "1");
    for (builder, expected) in [
        (hello(), json!({"tools": {}})),
        (
            hello().list_changes(),
            // Any of them may come later.
            json!({
                "tools": {"listChanged": true}, "prompts": {"listChanged": true},
                "resources": {"listChanged": true},
            }),
        ),
        (bare().resource(resource()), json!({"resources": {}})),
        (
            bare().resource(resource()).subscriptions(),
            json!({"resources": {"subscribe": true}}),
        ),
        (bare().prompt(prompt()), json!({"prompts": {}})),
        (
            bare().prompt(completed()),
            json!({"prompts": {}, "completions": {}}),
        ),
        (hello().logging(), json!({"tools": {}, "logging": {}})),
    ] {
        let mut wire = Wire::new(&builder.build().unwrap());
        let found = wire.ask(modern(1, "server/discover", json!({}))).await;
        let mut declared = found["result"]["capabilities"].clone();
        // What the kit can do by itself is not what was registered here.
        declared.as_object_mut().unwrap().remove("extensions");
        assert_eq!(declared, expected);
    }
}

/// S-TOOL-03, S-RES-03, S-PRM-02: what was declared answers also once nothing is left of it.
#[tokio::test]
async fn s_tool_03_s_res_03_s_prm_02_empty_lists_are_lists() {
    let server = one_of_everything().list_changes().build().unwrap();
    let emptied = server.changes().change(|registry| {
        registry.remove_tool("hello").remove_tool("again");
        registry.remove_resource("a://1").remove_resource("a://2");
        registry.remove_prompt("greet");
    });
    emptied.unwrap();
    let mut wire = Wire::new(&server);
    for (method, member) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("prompts/list", "prompts"),
    ] {
        let answer = wire.ask(modern(1, method, json!({}))).await;
        assert_eq!(answer["result"][member], json!([]), "{method}: {answer}");
    }
}

// X-PRM-08.
#[tokio::test]
async fn s_prm_03_and_04_s_cmp_04_mistakes_have_their_codes() {
    let server = one_of_everything().build().unwrap();
    let mut legacy = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let mut wire = Wire::new(&server);
    let prompt = || json!({"type": "ref/prompt", "name": "nobody"});
    for (method, params, code) in [
        ("prompts/get", json!({"name": "nobody"}), -32602),
        ("prompts/get", greet(json!({})), -32602),
        ("prompts/get", greet(json!({"who": 7})), -32602),
        ("prompts/get", greet(json!({"who": "nobody"})), -32603),
        ("completion/complete", complete(prompt(), "a", ""), -32602),
        ("completion/complete", json!({"ref": number()}), -32602),
        (
            "completion/complete",
            complete(number(), "n", "bad"),
            -32603,
        ),
    ] {
        let answer = wire.ask(modern(1, method, params.clone())).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        assert_eq!(legacy.ask(request).await["error"]["code"], code, "{method}");
    }
    let mut without = Wire::new(&hello().build().unwrap());
    let refused = without.ask(modern(
        1,
        "completion/complete",
        complete(number(), "n", ""),
    ));
    assert_eq!(refused.await["error"]["code"], -32601);
}

/// S-LOG-02: a session's level is one of the eight.
#[tokio::test]
async fn s_log_02_an_unknown_level_is_refused() {
    let loud = Tool::new("loud", "x", |context: Context, _: NoArguments| async move {
        context.log(LogLevel::Warning, "said");
        Ok("done")
    });
    let server = hello().tool(loud).logging().build().unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let set = |level: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": level}});
    assert_eq!(wire.ask(set(json!("error"))).await["result"], json!({}));
    for level in [json!("loud"), json!(3), Value::Null] {
        assert_eq!(wire.ask(set(level)).await["error"]["code"], -32602);
    }
    // The level that was set before holds.
    assert_eq!(text(&wire.ask(call(2, "loud", json!({}))).await), "done");
}

/// A tool that asks in the way that `how` says.
fn asking() -> Server {
    let schema = Json::from(json!({"type": "object"}));
    let ask = |context: Context, arguments: Json| async move {
        let how = arguments.to_value()?;
        let mut question = CreateMessageParams {
            messages: Entries::from(Vec::<SamplingMessage>::new()),
            max_tokens: 10,
            ..CreateMessageParams::default()
        };
        match how["how"].as_str().unwrap_or_default() {
            "form" => drop(context.elicit(ElicitParams::default()).await?),
            "page" => {
                let page = ElicitParams {
                    mode: Some("url".to_owned()),
                    url: Some("https://example.org/in".to_owned()),
                    ..ElicitParams::default()
                };
                drop(context.elicit(page).await?);
            }
            "roots" => drop(context.roots().await?),
            "tools" => {
                question.tool_choice = Some(ToolChoice::default());
                drop(context.sample(question).await?);
            }
            "context" => {
                question.include_context = Some("allServers".to_owned());
                drop(context.sample(question).await?);
            }
            _ => drop(context.sample(question).await?),
        }
        Ok("answered")
    };
    let tool = Tool::raw("ask", "Asks.", schema, ask);
    Server::builder("test", "1").tool(tool).build().unwrap()
}

fn ask(how: &str, capabilities: Value) -> Value {
    let params = json!({"name": "ask", "arguments": {"how": how}});
    modern_with(1, "tools/call", params, capabilities)
}

/// S-STDIO-09: nothing but the answer is written, so no request is. S-MRTR-06, S-MRTR-11: the round
/// is over with it, and nothing waits for another.
#[tokio::test]
async fn s_base_13_s_mrtr_01_and_03_a_modern_server_asks_in_its_result_only() {
    let server = asking();
    for (how, capabilities, method) in [
        ("form", json!({"elicitation": {}}), "elicitation/create"),
        (
            "page",
            json!({"elicitation": {"url": {}}}),
            "elicitation/create",
        ),
        ("roots", json!({"roots": {}}), "roots/list"),
        ("model", json!({"sampling": {}}), "sampling/createMessage"),
        (
            "tools",
            json!({"sampling": {"tools": {}}}),
            "sampling/createMessage",
        ),
    ] {
        let mut wire = Wire::new(&server);
        let answer = wire.ask(ask(how, capabilities)).await;
        let result = &answer["result"];
        assert_eq!(result["resultType"], "input_required", "{how}: {answer}");
        assert_eq!(result["inputRequests"]["input-1"]["method"], method);
        assert!(result["requestState"].is_string(), "{how}");
        assert_eq!(
            result.get("ttlMs"),
            None,
            "S-CACHE-01: nothing of it is kept"
        );
        let (rest, _) = wire.finish().await;
        assert_eq!(rest, Vec::<Value>::new(), "{how}");
    }
}

/// S-ELIC-02, S-SAMP-04: neither a kind nor a mode that this client did not declare.
/// S-ROOT-06.
#[tokio::test]
async fn s_mrtr_05_s_elic_02_s_samp_04_undeclared_modes_are_not_asked() {
    let server = asking();
    for (how, capabilities, required) in [
        ("form", json!({}), json!({"elicitation": {}})),
        (
            "form",
            json!({"elicitation": {"url": {}}}),
            json!({"elicitation": {}}),
        ),
        (
            "page",
            json!({"elicitation": {}}),
            json!({"elicitation": {"url": {}}}),
        ),
        ("roots", json!({"sampling": {}}), json!({"roots": {}})),
        ("model", json!({"roots": {}}), json!({"sampling": {}})),
        (
            "tools",
            json!({"sampling": {}}),
            json!({"sampling": {"tools": {}}}),
        ),
    ] {
        let answer = Wire::new(&server).ask(ask(how, capabilities)).await;
        assert_eq!(answer["error"]["code"], -32021, "{how}: {answer}");
        let data = &answer["error"]["data"];
        assert_eq!(data["requiredCapabilities"], required, "{how}");
    }
    // The context of other servers is only asked for where it may be.
    for (capabilities, expected) in [
        (json!({"sampling": {}}), Value::Null),
        (json!({"sampling": {"context": {}}}), json!("allServers")),
    ] {
        let answer = Wire::new(&server).ask(ask("context", capabilities)).await;
        let asked = &answer["result"]["inputRequests"]["input-1"]["params"];
        assert_eq!(asked["includeContext"], expected, "{answer}");
    }
}

#[tokio::test]
async fn s_elic_11_only_2025_11_25_names_pages() {
    let server = asking();
    let able = json!({"elicitation": {"form": {}, "url": {}}});
    let answer = Wire::new(&server).ask(ask("page", able.clone())).await;
    let modern = &answer["result"]["inputRequests"]["input-1"]["params"];
    let mut wire = Wire::legacy(&server, "2025-11-25", able).await;
    wire.send(&call(1, "ask", json!({"how": "page"}))).await;
    let question = wire.next().await;
    for (params, is_named) in [(modern, false), (&question["params"], true)] {
        assert_eq!(params["mode"], "url");
        assert_eq!(params["url"], "https://example.org/in");
        assert!(params["message"].is_string());
        assert_eq!(params["elicitationId"].is_string(), is_named, "{params}");
    }
}

/// What a handler says after the cancel is not sent either.
#[tokio::test]
async fn s_stdio_12_after_a_cancel_nothing_more_is_said() {
    let (started, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (starting, ending) = (Arc::clone(&started), Arc::clone(&ended));
    let wait = Tool::new("wait", "Waits.", move |context: Context, _: NoArguments| {
        let (starting, ending) = (Arc::clone(&starting), Arc::clone(&ending));
        async move {
            tokio::spawn(async move {
                context.cancelled().await;
                context.progress(2.0, None);
                ending.notify_one();
            });
            starting.notify_one();
            std::future::pending::<()>().await;
            Ok("never")
        }
    });
    let mut wire = Wire::new(&hello().tool(wait).build().unwrap());
    let mut request = modern(1, "tools/call", json!({"name": "wait", "arguments": {}}));
    request["params"]["_meta"]["progressToken"] = json!("t");
    wire.send(&request).await;
    started.notified().await;
    wire.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    )
    .await;
    ended.notified().await;
    let hello = json!({"name": "hello", "arguments": {}});
    assert_eq!(
        text(&wire.ask(modern(2, "tools/call", hello)).await),
        "hello"
    );
    let (rest, _) = wire.finish().await;
    assert_eq!(rest, Vec::<Value>::new());
}
