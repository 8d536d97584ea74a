//! Promise 8, in short: restarts and calls leave nothing behind. `ATTACHE_SOAK_SECONDS` makes it
//! as long as one likes, with fifty servers. It is alone in its process, so that what the process
//! uses is what it uses.

#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach helpers of integration tests"
)]

#[path = "../host/support.rs"]
#[expect(dead_code, reason = "shared with the other tests, which use all of it")]
mod support;

use std::time::{Duration, Instant};

use attache_host::policy::CallOrigin;
use attache_testkit::processes::{Usage, usage};
use serde_json::json;
use tokio::task::JoinSet;

use support::{Fleet, eventually, guarded, script, within};

/// Rounds of the short soak, after those that fill caches and pools.
const ROUNDS: usize = 6;
const WARM_UP: usize = 3;
/// What memory may grow by over all rounds: an allocator's mood, not a leak per round.
const SLACK: u64 = 4 * 1024 * 1024;

async fn round(fleet: &Fleet, names: &[String]) {
    let mut work = JoinSet::new();
    for name in names {
        let (host, name) = (fleet.host.clone(), name.clone());
        work.spawn(async move {
            for number in 0..20 {
                let tool = format!("{name}/echo");
                let message = json!({"message": number.to_string()});
                let call = host.call(&tool, message).origin(CallOrigin::Person);
                assert_eq!(call.await.unwrap().text(), number.to_string());
            }
            host.list_tools().server(&name).await.unwrap();
            host.restart(&name).await.unwrap();
        });
    }
    within("round", work.join_all()).await;
    for name in names {
        within("ready", fleet.host.ready(name)).await.unwrap();
    }
}

fn now() -> Usage {
    usage(std::process::id()).unwrap()
}

#[test]
fn promise_8_restarts_leave_no_descriptor_and_no_memory() {
    let seconds = std::env::var("ATTACHE_SOAK_SECONDS").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse().ok());
    match seconds {
        Some(seconds) => long(Duration::from_secs(seconds)),
        None => guarded(async || soak(4, |round| round < ROUNDS).await),
    }
}

/// By hand: without the guard, which is meant for short tests.
fn long(time: Duration) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let end = Instant::now() + time;
    runtime.block_on(soak(50, |_| Instant::now() < end));
}

async fn soak(servers: usize, goes_on: impl Fn(usize) -> bool) {
    let names: Vec<String> = (0..servers).map(|number| format!("s{number}")).collect();
    let fleet = Fleet::new(names.iter().map(|name| (name.as_str(), script())));
    for _ in 0..WARM_UP {
        round(&fleet, &names).await;
    }
    let before = now();
    let mut rounds = 0;
    while goes_on(rounds) {
        round(&fleet, &names).await;
        rounds += 1;
    }
    eventually(now, |usage| usage.descriptors == before.descriptors).await;
    let after = now();
    assert!(
        after.resident <= before.resident + SLACK,
        "memory grew from {} to {} in {rounds} rounds",
        before.resident,
        after.resident
    );
    let starts: usize = fleet
        .launches
        .iter()
        .map(|launch| launch.starts().unwrap().len())
        .sum();
    assert_eq!(starts, servers * (WARM_UP + rounds + 1));
    fleet.finish().await;
}
