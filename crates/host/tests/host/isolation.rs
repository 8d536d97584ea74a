//! Promise 5 as counts: whatever one server does, the others answer every call. How much slower
//! they get is measured by the example `isolation`, since no test asserts a time.

use attache_host::policy::CallOrigin;
use attache_testkit::chaos::{Action, Emit, Script, When};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Fleet, guarded, script, within};

/// Healthy servers beside the faulty one; the example uses 49.
const HEALTHY: usize = 5;
/// Calls of each.
const CALLS: usize = 40;

fn fault_classes() -> Vec<(&'static str, Script)> {
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    vec![
        (
            "crashes at start",
            script().on(When::start(), [Action::exit(1)]),
        ),
        (
            "never gets ready",
            script().on(When::start(), [Action::wait_gate("never")]),
        ),
        (
            "never answers",
            script().on(When::tool("echo"), [Action::never()]),
        ),
        (
            "dies of a call",
            script().on(When::tool("echo"), [Action::exit(1)]),
        ),
        (
            "floods notifications",
            script().on(
                When::tool("echo"),
                [Emit::message(&notice).times(20_000).into(), Action::usual()],
            ),
        ),
        (
            "floods stderr",
            script().on(
                When::tool("echo"),
                [
                    Emit::line("x".repeat(999)).times(5_000).on_stderr().into(),
                    Action::usual(),
                ],
            ),
        ),
        (
            "endless line",
            script().on(When::tool("echo"), [Action::endless_line()]),
        ),
        (
            "stops reading",
            script().on(
                When::tool("echo"),
                [Action::usual(), Action::stop_reading()],
            ),
        ),
    ]
}

// H-SEC-02.
#[test]
fn promise_5_a_faulty_server_costs_no_other_a_single_call() {
    guarded(async || {
        let names: Vec<String> = (0..HEALTHY).map(|number| format!("good{number}")).collect();
        for (class, faulty) in fault_classes() {
            let good = names.iter().map(|name| (name.as_str(), script()));
            let fleet = Fleet::new(good.chain([("bad", faulty)]));
            let host = fleet.host.clone();
            let nuisance = tokio::spawn(async move {
                loop {
                    let call = host
                        .call("bad/echo", Value::Null)
                        .origin(CallOrigin::Person);
                    let _ = call.await;
                    tokio::task::yield_now().await;
                }
            });
            let mut calls = JoinSet::new();
            for name in &names {
                let (host, tool) = (fleet.host.clone(), format!("{name}/echo"));
                calls.spawn(async move {
                    for number in 0..CALLS {
                        let message = json!({"message": number.to_string()});
                        let call = host.call(&tool, message).origin(CallOrigin::Person);
                        assert_eq!(call.await.unwrap().text(), number.to_string());
                    }
                });
            }
            within(class, calls.join_all()).await;
            nuisance.abort();
            for (name, launch) in names.iter().zip(&fleet.launches) {
                assert_eq!(launch.starts().unwrap().len(), 1, "{class}: {name}");
                let server = fleet.server(name);
                assert_eq!(server.requests.unwrap().open, 0, "{class}: {name}");
            }
            fleet.finish().await;
        }
    });
}
