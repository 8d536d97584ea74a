//! The table of routes: everything in the description answers, and is documented.

use attache_testkit::chaos::Script;
use attache_testkit::guard::guarded;
use serde_json::Value;

use crate::support::{Rig, request};

const MANUAL: &str = include_str!("../../../../docs/web.md");

/// All operations of the description: method and path.
fn operations(document: &Value) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let each = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(|method| (method.to_ascii_uppercase(), path.clone()))
    });
    each.collect()
}

#[test]
fn every_route_of_the_description_answers_and_is_in_the_manual() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", Script::legacy("2025-06-18"))]).await;
        let document = rig.get("/openapi.json").await.json();
        let operations = operations(&document);
        assert!(operations.len() >= 40, "{operations:?}");
        for (method, path) in &operations {
            let entry = format!("`{method} {path}`");
            assert!(MANUAL.contains(&entry), "docs/web.md lacks {entry}");
            let is_stream = path == "/events" || path == "/frames";
            let real = path
                .replace("{server}", "chaos")
                .replace("{tool}", "echo")
                .replace("{prompt}", "greet")
                .replace("{call}", "4711")
                .replace("{question}", "4711")
                .replace("{number}", "4711")
                .replace("{id}", "s4711");
            let full = format!("/api/v1{real}");
            let mut headers = rig.usual();
            if !is_stream {
                headers.push(("Content-Type".to_owned(), "text/plain".to_owned()));
                let body = (method != "GET" && method != "DELETE").then_some("x");
                let answer = request(rig.address(), method, &full, &headers, body).await;
                let expected: &[u16] = match body {
                    Some(_) => &[415],
                    None if real == "/logs" => &[400],
                    None => &[200, 404],
                };
                assert!(
                    expected.contains(&answer.status),
                    "{method} {real}: {answer:?}"
                );
                assert!(
                    !answer.body.contains("nothing at this address"),
                    "{method} {real}"
                );
            }
            headers.truncate(1);
            let answer = request(rig.address(), method, &full, &headers, None).await;
            assert_eq!(answer.status, 401, "{method} {real} without a token");
        }
        rig.close().await;
    });
}

#[test]
fn the_manual_names_no_route_that_there_is_not() {
    guarded(async || {
        let rig = Rig::new(&[]).await;
        let operations = operations(&rig.get("/openapi.json").await.json());
        let words = MANUAL.split('`').skip(1).step_by(2);
        let named = words.filter_map(|word| word.split_once(" /"));
        for (method, path) in
            named.filter(|(method, _)| ["GET", "POST", "PUT", "DELETE"].contains(method))
        {
            let known = operations
                .iter()
                .any(|(m, p)| m == method && *p == format!("/{path}"));
            assert!(known, "{method} /{path}");
        }
        rig.close().await;
    });
}

#[test]
fn s2_no_request_can_name_a_command_a_file_or_a_new_server() {
    guarded(async || {
        let rig = Rig::new(&[]).await;
        let document = rig.get("/openapi.json").await.json();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut names = Vec::new();
        for (_, schema) in schemas.iter().filter(|(name, _)| !name.starts_with("Api")) {
            collect(schema, &mut names);
        }
        assert!(names.iter().any(|name| name == "server_name"));
        for forbidden in [
            "command", "program", "args", "env", "cwd", "file", "folder", "url", "target",
        ] {
            assert!(!names.iter().any(|name| name == forbidden), "{forbidden}");
        }
        for (method, path) in [
            ("POST", "/servers"),
            ("PUT", "/servers/new"),
            ("POST", "/config/open"),
        ] {
            let status = rig.send(method, path, r#"{"command":"id"}"#).await.status;
            assert!(status == 404 || status == 405, "{method} {path}: {status}");
        }
        rig.close().await;
    });
}

/// The names of all properties of a schema.
fn collect(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                if let ("properties", Value::Object(properties)) = (key.as_str(), value) {
                    names.extend(properties.keys().cloned());
                }
                collect(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}
