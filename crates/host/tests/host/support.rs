//! Chaos servers under a host.
//!
//! Owns what every test asserts at its end: no process is left. Refuses to know any particular
//! fault.

use std::time::Duration;

use attache_host::client::{Server, Timeouts};
use attache_host::config::{Config, ServerConfig, ServerName, Source};
use attache_host::policy::CallOrigin;
use attache_host::snapshot::{ServerSnapshot, ServerState};
use attache_host::{Error, Host, HostBuilder};
use attache_testkit::chaos::{Launch, Script};
pub(crate) use attache_testkit::guard::{PATIENCE, eventually, guarded, within};
use attache_testkit::processes::is_running;
use serde_json::{Value, json};

/// The small correct server, to which a test adds its faults.
pub(crate) fn script() -> Script {
    Script::legacy("2025-11-25")
}

pub(crate) fn name(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

/// The configuration of a launch.
pub(crate) fn config_of(server: &str, launch: &Launch) -> ServerConfig {
    let mut described = Server::stdio(&launch.program, &launch.args);
    for (name, value) in &launch.env {
        described = described.env(name, value);
    }
    let mut config = ServerConfig::new(name(server), described, Source::program());
    // The chaos server is legacy unless a test says otherwise; the probe would only cost time.
    config.server.settings.timeouts = Timeouts {
        close_grace: Duration::from_millis(500),
        close_terminate: Duration::from_millis(500),
        ..Timeouts::default()
    };
    config
}

/// A configuration of several servers.
pub(crate) fn config(servers: impl IntoIterator<Item = ServerConfig>) -> Config {
    Config {
        servers: servers
            .into_iter()
            .map(|server| (server.name.clone(), server))
            .collect(),
        ..Config::default()
    }
}

/// Servers under a host. Keeps the launches for as long as they run.
pub(crate) struct Fleet {
    pub(crate) host: Host,
    pub(crate) launches: Vec<Launch>,
}

impl Fleet {
    /// One server named `one`.
    pub(crate) fn one(script: &Script) -> Self {
        Self::new([("one", script.clone())])
    }

    /// Servers of these names.
    pub(crate) fn new<'a>(scripts: impl IntoIterator<Item = (&'a str, Script)>) -> Self {
        Self::with(scripts, |_| {}, |builder| builder)
    }

    /// Servers of these names, with changed configurations and host.
    pub(crate) fn with<'a>(
        scripts: impl IntoIterator<Item = (&'a str, Script)>,
        change: impl Fn(&mut ServerConfig),
        build: impl FnOnce(HostBuilder) -> HostBuilder,
    ) -> Self {
        let mut launches = Vec::new();
        let mut servers = Vec::new();
        for (server, script) in scripts {
            let launch = script.launch().unwrap();
            let mut config = config_of(server, &launch);
            change(&mut config);
            servers.push(config);
            launches.push(launch);
        }
        let host = build(Host::builder().config(config(servers))).start();
        Self { host, launches }
    }

    /// The launch of the first server.
    pub(crate) fn launch(&self) -> &Launch {
        &self.launches[0]
    }

    /// Calls a tool as a person would.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<String, Error> {
        let call = self.host.call(tool, arguments).origin(CallOrigin::Person);
        let answer = within(tool, call).await?;
        Ok(answer.text())
    }

    /// The server works: a call gets its own answer.
    pub(crate) async fn echoes(&self, server: &str) {
        let tool = format!("{server}/echo");
        let said = self.call(&tool, json!({"message": "still here"})).await;
        assert_eq!(said.unwrap(), "still here");
    }

    /// One server as it is now.
    pub(crate) fn server(&self, server: &str) -> ServerSnapshot {
        let servers = self.host.snapshot().servers;
        let found = servers.into_iter().find(|it| it.name.as_str() == server);
        found.unwrap()
    }

    /// Waits until a server is in this state.
    pub(crate) async fn comes_to(&self, server: &str, state: ServerState) -> ServerSnapshot {
        eventually(|| self.server(server), |seen| seen.state == state).await
    }

    /// What every test asserts at its end.
    pub(crate) async fn finish(self) {
        within("close", self.host.close()).await;
        for launch in &self.launches {
            launch.tag().wait_until_gone(PATIENCE).unwrap();
        }
    }
}

/// Kills a server's process outright and waits until it is dead, unnoticed by the host or not:
/// until its last thread has gone, its input is open, and what is written to it counts as sent.
pub(crate) async fn kill(process: u32) {
    let kill = tokio::process::Command::new("kill")
        .args(["-9", &process.to_string()])
        .status();
    assert!(kill.await.unwrap().success());
    eventually(|| is_running(process).unwrap(), |running| !running).await;
}

/// How often a server was asked for this.
pub(crate) fn asked(launch: &Launch, method: &str) -> usize {
    launch.received_of(method).unwrap().len()
}
