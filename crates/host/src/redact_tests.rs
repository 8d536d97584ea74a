use attache_client::Server;
use proptest::prelude::*;

use super::*;
use crate::config::Source;

thread_local! {
    /// How many bytes were looked at ahead of the single pass, by the test on this thread.
    pub(super) static LOOKED_AHEAD: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[test]
fn json_stays_json_without_its_secrets() {
    for (json, shown) in [
        (r#"{"a":[1,2]}"#, r#"{"a":[1,2]}"#),
        (r#"{"password":"hunter2"}"#, r#"{"password":"***"}"#),
        (r#"{"token":12345678}"#, r#""{\"token\":***}""#),
    ] {
        let json = Json::parse(json).unwrap();
        assert_eq!(Redactor::new().redact_json(&json).as_str(), shown);
    }
}

#[test]
fn what_looks_secret_is_hidden() {
    let redactor = Redactor::new();
    for (text, expected) in [
        ("nothing here", "nothing here"),
        (
            "Authorization: Bearer abc.def-ghi",
            "Authorization: Bearer ***",
        ),
        (
            "authorization: Basic dXNlcjpwYXNz",
            "authorization: Basic ***",
        ),
        ("got bearer 12345678==, next", "got bearer ***, next"),
        ("API_KEY=abcd1234 other", "API_KEY=*** other"),
        (
            "export DB_PASSWORD='two words' x",
            "export DB_PASSWORD='***' x",
        ),
        (
            r#"{"apiKey": "abc\"def", "n": 1}"#,
            r#"{"apiKey": "***", "n": 1}"#,
        ),
        (
            r#"{"token":"abcdef","tool":"x"}"#,
            r#"{"token":"***","tool":"x"}"#,
        ),
        (
            r#"{\"password\": \"abcdef\"}"#,
            r#"{\"password\": \"***\"}"#,
        ),
        ("--api-key s3cr3t --port 80", "--api-key *** --port 80"),
        ("--token=s3cr3t", "--token=***"),
        ("https://me:pw@example.org/x", "https://***@example.org/x"),
        (
            "postgres://u:p%40ss@db:5432/n and more",
            "postgres://***@db:5432/n and more",
        ),
        ("https://example.org/@scope", "https://example.org/@scope"),
        (
            "https://x/y?access_token=abcd&b=1",
            "https://x/y?access_token=***&b=1",
        ),
        ("key ghp_0123456789abcdefABCDEF0123456789abcd", "key ***"),
        ("sk-proj-0123456789abcdef!", "***!"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "***"),
        ("X-Auth-Token: qwertz", "X-Auth-Token: ***"),
        ("Set-Cookie: sid=abcdef; Path=/", "Set-Cookie: ***; Path=/"),
        // Not secrets.
        (
            r#"{"progressToken": "tool-3", "maxTokens": 4096}"#,
            r#"{"progressToken": "tool-3", "maxTokens": 4096}"#,
        ),
        ("the password is wrong", "the password is wrong"),
        ("keyboard: qwertz", "keyboard: qwertz"),
        ("monkey=banana", "monkey=banana"),
        ("task-1234567890123456", "task-1234567890123456"),
        ("é token=ünïcödé é", "é token=*** é"),
    ] {
        assert_eq!(redactor.redact(text), expected, "{text}");
    }
}

#[test]
fn names_tell_secrets() {
    for name in [
        "API_KEY",
        "api-key",
        "apiKey",
        "GITHUB_TOKEN",
        "Authorization",
        "DB_PASS",
        "SENTRY_DSN",
        "AWS_SECRET_ACCESS_KEY",
        "x-auth-token",
        "Cookie",
        "MY_PAT",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "PATH",
        "HOME",
        "NODE_ENV",
        "keyboard",
        "monkey",
        "author",
        "progressToken",
        "",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}

fn config(server: Server) -> ServerConfig {
    ServerConfig::new("a".parse().unwrap(), server, Source::program())
}

#[test]
fn configured_secrets_are_hidden_wherever_they_appear() {
    let stdio = config(
        Server::stdio("x", [""; 0])
            .env("API_KEY", "plain-looking-value")
            .env("MODE", "production")
            .env("PIN_TOKEN", "123")
            .env("DATABASE", "postgres://u:hunter22@db/x"),
    );
    let mut http = config(Server::http("https://x").header("Authorization", "Bearer zzz-yyy-xxx"));
    http.auth.client_secret = Some("the client secret".into());
    let redactor = Redactor::for_servers([&stdio, &http]);
    for (text, expected) in [
        ("saw plain-looking-value!", "saw ***!"),
        ("in production, 123 times", "in production, 123 times"),
        ("sent zzz-yyy-xxx", "sent ***"),
        ("the client secret leaked", "*** leaked"),
        ("aplain-looking-valueb", "a***b"),
        ("db postgres://u:hunter22@db/x", "db ***"),
    ] {
        assert_eq!(redactor.redact(text), expected, "{text}");
    }
    assert!(!format!("{redactor:?}").contains("plain-looking"));
}

#[test]
fn pieces_make_the_same_as_the_whole() {
    let mut redactor = Redactor::new();
    redactor.hide("known-value");
    let text = "one known-value\ntoken=abcdef two\nAuthorization: Bearer qwertz\nlast known-value";
    let whole = redactor.redact(text).into_owned();
    for size in 1..text.len() {
        let mut lines = RedactedLines::new(redactor.clone());
        let mut ready = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            lines.push(piece, &mut ready);
            rest = after;
        }
        lines.finish(&mut ready);
        assert_eq!(ready, whole, "pieces of {size}");
    }
}

#[test]
fn a_long_line_is_bounded_and_no_secret_is_cut_in_two() {
    let mut redactor = Redactor::new();
    redactor.hide("known-value");
    for shift in 0..80 {
        let filler = "word ".repeat((LONGEST_LINE - HELD_BACK) / 5 - 16);
        let text = format!(
            "{}{filler}known-value token = \"a b c\" Authorization: Bearer qwertz \\
             --api-key asdfgh {filler}\n",
            "x".repeat(shift)
        );
        let mut lines = RedactedLines::new(redactor.clone());
        let mut ready = String::new();
        lines.push(&text, &mut ready);
        assert_eq!(ready, redactor.redact(&text), "shift {shift}");
        assert!(lines.held.len() <= LONGEST_LINE);
    }
    let mut lines = RedactedLines::new(redactor);
    let mut ready = String::new();
    lines.push(&"x".repeat(LONGEST_LINE), &mut ready);
    assert_eq!(ready, "", "at the limit it is held");
    lines.push(&"x".repeat(10 * LONGEST_LINE), &mut ready);
    lines.push(" after\n", &mut ready);
    assert_eq!(ready, "[a very long word was left out] after\n");
}

#[test]
fn the_work_grows_with_the_text() {
    let hostile = [
        "://",
        "://a@",
        "token=",
        "token=a ",
        "token=\"a",
        "Bearer ",
        "a@",
        "\"",
        "=:",
        "eyJ.",
        "\\",
    ];
    for part in hostile {
        let text = part.repeat(100_000 / part.len());
        LOOKED_AHEAD.set(0);
        Redactor::new().redact(&text);
        let looked = LOOKED_AHEAD.get();
        assert!(looked <= 2 * text.len(), "{part}: {looked}");
    }
    Redactor::new().redact("token=hidden");
    assert!(LOOKED_AHEAD.get() > 0, "it is counted");
}

proptest! {
    #[test]
    fn nothing_panics_and_known_values_never_show(
        before in "\\PC{0,40}",
        after in "[ -~\n]{0,40}",
        value in "[a-zA-Z0-9é]{6,20}",
    ) {
        let mut redactor = Redactor::new();
        redactor.hide(&value);
        let text = format!("{before}{value}{after}");
        prop_assert!(!redactor.redact(&text).contains(&value));
        let mut lines = RedactedLines::new(redactor);
        let mut ready = String::new();
        for found in text.chars() {
            lines.push(found.encode_utf8(&mut [0; 4]), &mut ready);
        }
        lines.finish(&mut ready);
        prop_assert!(!ready.contains(&value));
    }

    #[test]
    fn marks_in_any_order_do_not_panic(text in "[=:\"'\\\\ @/?#&;,a-cé]{0,60}|(token|://|Bearer |=|\"|é|\\\\){0,20}") {
        Redactor::new().redact(&text);
    }
}
