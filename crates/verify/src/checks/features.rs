//! Resources, prompts, completion, logging, and the pages of lists.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::check;
use super::results::{block_problem, contents_problem};
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered, not_testable};
use crate::facts::LISTS;
use crate::peer::{LOG_LEVEL_KEY, Peer, Trouble};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "resources.declared",
        Resources,
        Must,
        ALL,
        Any,
        ["S-RES-01", "S-RES-03"],
        "Does resources/list answer exactly if resources are declared?",
        Shared(resources_declared)
    ),
    check!(
        "resources.shape",
        Resources,
        Must,
        ALL,
        Any,
        ["S-RES-02", "S-RES-10", "S-RES-11"],
        "Has each resource a name and a URI with a scheme, no two the same?",
        Shared(resources_shape)
    ),
    check!(
        "resources.read",
        Resources,
        Must,
        ALL,
        Any,
        ["S-RES-02", "S-RES-11"],
        "Do reads give contents with uri, and text or valid base64?",
        Shared(resources_read)
    ),
    check!(
        "resources.not-found",
        Resources,
        Should,
        LEGACY,
        Any,
        ["S-RES-04", "X-ERR-02"],
        "Is a resource that is not there answered with -32002 and its uri?",
        Shared(not_found_legacy)
    ),
    check!(
        "resources.not-found-modern",
        Resources,
        Must,
        MODERN,
        Any,
        ["S-RES-05"],
        "Is a resource that is not there answered with -32602, and never with empty contents?",
        Shared(not_found_modern)
    ),
    check!(
        "resources.templates",
        Resources,
        Should,
        ALL,
        Any,
        ["S-TPL-01"],
        "Has each template a name and a URI template of balanced braces?",
        Shared(templates)
    ),
    check!(
        "resources.subscribe",
        Resources,
        Should,
        LEGACY,
        Any,
        ["S-SUBL-02", "S-RES-01"],
        "Are subscribe and unsubscribe answered if resources.subscribe is declared?",
        Shared(subscribe)
    ),
    check!(
        "prompts.declared",
        Prompts,
        Must,
        ALL,
        Any,
        ["S-PRM-01", "S-PRM-02"],
        "Does prompts/list answer exactly if prompts are declared?",
        Shared(prompts_declared)
    ),
    check!(
        "prompts.get",
        Prompts,
        Must,
        ALL,
        Any,
        ["S-PRM-05"],
        "Do prompts give messages with a role and content of known shape?",
        Shared(prompts_get)
    ),
    check!(
        "prompts.errors",
        Prompts,
        Should,
        ALL,
        Any,
        ["S-PRM-03", "S-PRM-04"],
        "Are an unknown prompt and a missing argument answered with -32602?",
        Shared(prompts_errors)
    ),
    check!(
        "completion.values",
        Completion,
        Should,
        ALL,
        Any,
        ["S-CMP-02", "S-CMP-01"],
        "Does completion give at most 100 texts?",
        Shared(completion)
    ),
    check!(
        "completion.errors",
        Completion,
        Should,
        ALL,
        Any,
        ["S-CMP-04"],
        "Is completion for something that is not there answered with -32602?",
        Shared(completion_errors)
    ),
    check!(
        "pagination.walk",
        Pagination,
        Must,
        ALL,
        Any,
        ["S-TOOL-03", "S-PAG-05", "S-TPL-01"],
        "Do the pages of each list end, with no entry twice?",
        Shared(walk)
    ),
    check!(
        "pagination.bad-cursor",
        Pagination,
        Should,
        ALL,
        Any,
        ["S-PAG-05"],
        "Is a cursor that the server did not give answered with -32602?",
        Shared(bad_cursor)
    ),
    check!(
        "caching.same-scope",
        Caching,
        Must,
        MODERN,
        Any,
        ["S-CACHE-08"],
        "Have all pages of a list the same cacheScope?",
        Shared(same_scope)
    ),
    check!(
        "logging.set-level",
        Logging,
        Should,
        LEGACY,
        Any,
        ["S-LOG-02"],
        "Is logging/setLevel answered for each level, and -32602 for one that is none?",
        Shared(set_level)
    ),
    check!(
        "logging.bad-level",
        Logging,
        Should,
        MODERN,
        Any,
        ["S-LOG-05"],
        "Is an unknown level in _meta refused with -32602?",
        Shared(bad_level)
    ),
];

async fn list_declared(
    peer: &mut Peer,
    method: &'static str,
    capability: &str,
) -> Result<Finding, Trouble> {
    let listed = peer.list(method).await?;
    Ok(
        match (peer.offers(capability), listed.refused, listed.problem) {
            (true, None, None) => kept(format!("{} entries", listed.items.len())),
            (true, Some(refused), _) => broken(format!("declared, but {method} is {refused}")),
            (true, None, Some(problem)) => broken(problem),
            (false, Some(refused), _) => kept(format!("not declared, and {method} is {refused}")),
            (false, None, _) if listed.items.is_empty() => kept("not declared, and an empty list"),
            (false, None, _) => broken(format!(
                "{} entries are listed, but `{capability}` is not declared",
                listed.items.len()
            )),
        },
    )
}

async fn resources_declared(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    list_declared(peer, "resources/list", "resources").await
}

async fn prompts_declared(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    list_declared(peer, "prompts/list", "prompts").await
}

/// A URI begins with a scheme and holds no blanks.
fn has_scheme(uri: &str) -> bool {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    scheme
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic())
        && scheme.bytes().all(inner)
        && !uri.contains(char::is_whitespace)
}

async fn resources_shape(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("resources") {
        return Ok(not_offered("no resources are declared"));
    }
    let listed = peer.list("resources/list").await?;
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    for resource in &listed.items {
        let uri = resource["uri"].as_str().unwrap_or_default();
        if !has_scheme(uri) {
            complaints.push(format!("the URI {}", resource["uri"]));
        }
        if !resource["name"].is_string() {
            complaints.push(format!("{uri} has the name {}", resource["name"]));
        }
        if !seen.insert(uri.to_owned()) {
            complaints.push(format!("{uri} is there twice"));
        }
    }
    Ok(match listed.items.len() {
        0 => not_offered("the list is empty"),
        count => Finding::of(&complaints, format!("{count} resources")),
    })
}

/// How many resources and prompts are looked at closely.
const MOST_LOOKED_AT: usize = 5;

async fn resources_read(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("resources") {
        return Ok(not_offered("no resources are declared"));
    }
    let listed = peer.list("resources/list").await?;
    let mut complaints = Vec::new();
    let mut count = 0;
    for resource in listed.items.iter().take(MOST_LOOKED_AT) {
        let uri = resource["uri"].as_str().unwrap_or_default();
        let answer = peer.ask("resources/read", json!({"uri": uri})).await?;
        let Some(result) = answer.result() else {
            complaints.push(format!("{uri} is listed, but {}", answer.summary()));
            continue;
        };
        if result["resultType"] == "input_required" {
            continue;
        }
        count += 1;
        match result["contents"].as_array() {
            None => complaints.push(format!("{uri}: contents is {}", result["contents"])),
            Some(all) => {
                let problems = all.iter().filter_map(contents_problem);
                complaints.extend(problems.map(|it| format!("{uri}: {it}")));
            }
        }
    }
    Ok(match (count, complaints.as_slice()) {
        (0, []) => not_offered("there is no resource to read"),
        _ => Finding::of(&complaints, format!("{count} reads")),
    })
}

/// Two URIs that no server has: one with a scheme of its own resources, one with a scheme of ours.
async fn absent(peer: &mut Peer) -> Result<Option<(String, crate::peer::Answer)>, Trouble> {
    if !peer.offers("resources") {
        return Ok(None);
    }
    let uri = "attache-verify://no/such/resource".to_owned();
    let answer = peer.ask("resources/read", json!({"uri": uri})).await?;
    Ok(Some((uri, answer)))
}

async fn not_found_legacy(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let Some((uri, answer)) = absent(peer).await? else {
        return Ok(not_offered("no resources are declared"));
    };
    let names_it = answer.value["error"]["data"]["uri"] == uri.as_str();
    Ok(match answer.code() {
        Some(-32002) if names_it => kept("-32002 with the uri"),
        Some(-32002) => broken("-32002 without data.uri"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}

async fn not_found_modern(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let Some((uri, answer)) = absent(peer).await? else {
        return Ok(not_offered("no resources are declared"));
    };
    let names_it = answer.value["error"]["data"]["uri"] == uri.as_str();
    Ok(match answer.code() {
        Some(-32602) if names_it => kept("-32602 with the uri"),
        Some(-32602) => doubtful("-32602 without data.uri"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}

async fn templates(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("resources") {
        return Ok(not_offered("no resources are declared"));
    }
    let listed = peer.list("resources/templates/list").await?;
    if let Some(refused) = listed.refused {
        return Ok(broken(format!("resources/templates/list is {refused}")));
    }
    let mut complaints: Vec<String> = listed.problem.into_iter().collect();
    for template in &listed.items {
        let text = template["uriTemplate"].as_str().unwrap_or_default();
        let mut depth = 0_i32;
        let mut is_balanced = !text.is_empty();
        for character in text.chars() {
            depth += match character {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            is_balanced &= (0..=1).contains(&depth);
        }
        if !is_balanced || depth != 0 {
            complaints.push(format!("the template {}", template["uriTemplate"]));
        }
        if !template["name"].is_string() {
            complaints.push(format!("{text} has the name {}", template["name"]));
        }
    }
    Ok(match (listed.items.len(), complaints.as_slice()) {
        (0, []) => not_offered("there are no templates"),
        (count, _) => Finding::of(&complaints, format!("{count} templates")),
    })
}

async fn subscribe(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("resources.subscribe") {
        return Ok(not_offered("resources.subscribe is not declared"));
    }
    let listed = peer.list("resources/list").await?;
    let Some(uri) = listed.items.first().and_then(|it| it["uri"].as_str()) else {
        return Ok(not_testable("there is no resource to subscribe to"));
    };
    let params = json!({"uri": uri});
    let mut complaints = Vec::new();
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let answer = peer.ask(method, params.clone()).await?;
        if answer.result().is_none() {
            complaints.push(format!("{method} was answered with {}", answer.summary()));
        }
    }
    Ok(Finding::of(&complaints, format!("both, for {uri}")))
}

async fn prompts_get(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("prompts") {
        return Ok(not_offered("no prompts are declared"));
    }
    let listed = peer.list("prompts/list").await?;
    let mut complaints = Vec::new();
    let mut count = 0;
    for prompt in &listed.items {
        if !prompt["name"].is_string() {
            complaints.push(format!("a prompt with the name {}", prompt["name"]));
        }
    }
    for prompt in listed.items.iter().take(MOST_LOOKED_AT) {
        let mut arguments = serde_json::Map::new();
        for argument in prompt["arguments"].as_array().into_iter().flatten() {
            if argument["required"] == true
                && let Some(name) = argument["name"].as_str()
            {
                arguments.insert(name.to_owned(), json!("1"));
            }
        }
        let params = json!({"name": prompt["name"], "arguments": arguments});
        let answer = peer.ask("prompts/get", params).await?;
        // The arguments were made up, so an error about them is no fault.
        let Some(result) = answer.result() else {
            continue;
        };
        if result["resultType"] == "input_required" {
            continue;
        }
        count += 1;
        let Some(messages) = result["messages"].as_array() else {
            complaints.push(format!(
                "{}: messages is {}",
                prompt["name"], result["messages"]
            ));
            continue;
        };
        for message in messages {
            if !matches!(message["role"].as_str(), Some("user" | "assistant")) {
                complaints.push(format!("{}: the role {}", prompt["name"], message["role"]));
            }
            let problem = block_problem(&message["content"]);
            complaints.extend(problem.map(|it| format!("{}: {it}", prompt["name"])));
        }
    }
    Ok(match (count, complaints.as_slice()) {
        (0, []) => not_offered("there is no prompt to get"),
        _ => Finding::of(&complaints, format!("{count} prompts")),
    })
}

async fn prompts_errors(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("prompts") {
        return Ok(not_offered("no prompts are declared"));
    }
    let params = json!({"name": "attache-verify-no-such-prompt"});
    let answer = peer.ask("prompts/get", params).await?;
    let mut complaints = Vec::new();
    if answer.code() != Some(-32602) {
        complaints.push(format!("an unknown prompt: {}", answer.summary()));
    }
    let listed = peer.list("prompts/list").await?;
    let needs = |prompt: &&Value| {
        let arguments = prompt["arguments"].as_array();
        arguments.is_some_and(|all| all.iter().any(|it| it["required"] == true))
    };
    if let Some(prompt) = listed.items.iter().find(needs) {
        let params = json!({"name": prompt["name"], "arguments": {}});
        let answer = peer.ask("prompts/get", params).await?;
        if answer.code() != Some(-32602) {
            let what = format!(
                "{} without its argument: {}",
                prompt["name"],
                answer.summary()
            );
            complaints.push(what);
        }
    }
    Ok(Finding::of(&complaints, "-32602"))
}

/// Something that can be completed: a prompt's argument, or a template's variable.
async fn completable(peer: &mut Peer) -> Result<Option<(Value, String)>, Trouble> {
    if peer.offers("prompts") {
        for prompt in peer.list("prompts/list").await?.items {
            let argument = prompt["arguments"].as_array().and_then(|all| all.first());
            if let Some(argument) = argument.and_then(|it| it["name"].as_str()) {
                let reference = json!({"type": "ref/prompt", "name": prompt["name"]});
                return Ok(Some((reference, argument.to_owned())));
            }
        }
    }
    if peer.offers("resources") {
        for template in peer.list("resources/templates/list").await?.items {
            let text = template["uriTemplate"].as_str().unwrap_or_default();
            let variable = text
                .split_once('{')
                .and_then(|(_, rest)| rest.split_once('}'));
            if let Some((variable, _)) = variable {
                let name = variable.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
                let name = name.split([',', '*', ':']).next().unwrap_or(name);
                let reference = json!({"type": "ref/resource", "uri": text});
                return Ok(Some((reference, name.to_owned())));
            }
        }
    }
    Ok(None)
}

async fn completion(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("completions") {
        return Ok(not_offered("completions is not declared"));
    }
    let Some((reference, name)) = completable(peer).await? else {
        return Ok(not_testable(
            "no prompt has arguments and there is no template",
        ));
    };
    let params = json!({"ref": reference, "argument": {"name": name, "value": ""}});
    let answer = peer.ask("completion/complete", params).await?;
    let values = answer
        .result()
        .and_then(|it| it["completion"]["values"].as_array());
    Ok(match values {
        None => broken(format!("answered with {}", answer.summary())),
        Some(values) if values.len() > 100 => broken(format!("{} values", values.len())),
        Some(values) if !values.iter().all(Value::is_string) => {
            broken("there are values that are no text")
        }
        Some(values) => kept(format!("{} values", values.len())),
    })
}

async fn completion_errors(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("completions") {
        return Ok(not_offered("completions is not declared"));
    }
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "attache-verify-no-such-prompt"},
        "argument": {"name": "x", "value": ""},
    });
    let answer = peer.ask("completion/complete", params).await?;
    Ok(match answer.code() {
        Some(-32602) => kept("-32602"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}

async fn walk(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let mut complaints = Vec::new();
    let mut seen = Vec::new();
    for (method, _, capability) in LISTS {
        if !peer.offers(capability) {
            continue;
        }
        let listed = peer.list(method).await?;
        if listed.refused.is_some() {
            continue;
        }
        if let Some(problem) = &listed.problem {
            complaints.push(format!("{method}: {problem}"));
        }
        if listed.pages > 1 {
            let mut keys = BTreeSet::new();
            for item in &listed.items {
                let key = ["uri", "uriTemplate", "name"]
                    .iter()
                    .find(|key| item[**key].is_string());
                let key = key.map_or_else(String::new, |key| item[*key].to_string());
                if !keys.insert(key.clone()) {
                    complaints.push(format!("{method}: {key} is on two pages"));
                }
            }
        }
        seen.push(format!(
            "{method} {} in {} pages",
            listed.items.len(),
            listed.pages
        ));
    }
    Ok(match seen.is_empty() {
        true => not_offered("there is no list"),
        false => Finding::of(&complaints, seen.join(", ")),
    })
}

async fn bad_cursor(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let mut has_pages = false;
    let mut complaints = Vec::new();
    for (method, _, capability) in LISTS {
        if !peer.offers(capability) || peer.list(method).await?.pages < 2 {
            continue;
        }
        has_pages = true;
        let params = json!({"cursor": "attache-verify-no-such-cursor"});
        let answer = peer.ask(method, params).await?;
        if answer.code() != Some(-32602) {
            complaints.push(format!("{method}: {}", answer.summary()));
        }
    }
    Ok(match has_pages {
        true => Finding::of(&complaints, "-32602"),
        false => not_offered("no list has more than one page"),
    })
}

async fn same_scope(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let mut complaints = Vec::new();
    let mut has_pages = false;
    for (method, _, capability) in LISTS {
        if !peer.offers(capability) {
            continue;
        }
        let listed = peer.list(method).await?;
        has_pages |= listed.pages > 1;
        if listed.scopes.len() > 1 {
            complaints.push(format!("{method} has {:?}", listed.scopes));
        }
    }
    Ok(match (has_pages, complaints.as_slice()) {
        (false, []) => not_offered("no list has more than one page"),
        _ => Finding::of(&complaints, "one scope for each list"),
    })
}

async fn set_level(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("logging") {
        return Ok(not_offered("logging is not declared"));
    }
    let mut complaints = Vec::new();
    let answer = peer
        .ask("logging/setLevel", json!({"level": "loud"}))
        .await?;
    if answer.code() != Some(-32602) {
        complaints.push(format!("the level \"loud\": {}", answer.summary()));
    }
    for level in ["debug", "notice", "emergency", "info"] {
        let answer = peer
            .ask("logging/setLevel", json!({"level": level}))
            .await?;
        if answer.result().is_none() {
            complaints.push(format!("{level}: {}", answer.summary()));
        }
    }
    Ok(Finding::of(
        &complaints,
        "levels are taken, what is none is refused",
    ))
}

async fn bad_level(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("logging") {
        return Ok(not_offered("logging is not declared"));
    }
    let method = match peer.offers("tools") {
        true => "tools/list",
        false => "server/discover",
    };
    let params = json!({"_meta": {LOG_LEVEL_KEY: "loud"}});
    let answer = peer.ask(method, params).await?;
    Ok(match answer.code() {
        Some(-32602) => kept("-32602"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}
