//! Servers in containers, with a fake engine at the process boundary: a script that does what the
//! engine's command line does with ids and files.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use attache_host::Host;
use attache_host::config::Transport;
use attache_testkit::chaos::{Action, When};
use attache_testkit::scratch::Scratch;
use serde_json::json;

use crate::support::{Fleet, config, config_of, eventually, guarded, script, within};

/// `docker run` writes the container's id where it is told and becomes the server; every other
/// command is written down.
const ENGINE: &str = r#"#!/bin/sh
folder="${0%/*}"
if [ "$1" = run ]; then
    file="${2#--cidfile=}"
    [ -e "$file" ] && { echo "cid file exists" >&2; exit 125; }
    printf %s "c0ffee$$" > "$file"
    echo "$file" >> "$folder/files"
    echo "run c0ffee$$" >> "$folder/commands"
    shift 3
    exec "$@"
fi
echo "$@" >> "$folder/commands"
"#;

fn commands(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("commands")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn fault_12_the_container_is_stopped_with_its_server_however_that_ends() {
    guarded(async || {
        let folder = Scratch::new("engine").unwrap();
        let engine = folder.path().join("docker");
        std::fs::write(&engine, ENGINE).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&engine, executable).unwrap();
        let launch = script()
            .on(When::tool("die"), [Action::exit(1)])
            .launch()
            .unwrap();
        let mut server = config_of("boxed", &launch);
        if let Transport::Stdio(launch) = server.server.transport_mut() {
            let program = std::mem::replace(&mut launch.program, engine.clone().into());
            launch
                .args
                .splice(0..0, ["run".into(), "-i".into(), program]);
        }
        let host = Host::builder().config(config([server])).start();
        let fleet = Fleet {
            host,
            launches: vec![launch],
        };
        fleet.echoes("boxed").await;
        let id = |line: &str| line.rsplit_once(' ').unwrap().1.to_owned();
        let first = id(&commands(folder.path())[0]);

        // A crash stops what is left of the container before the next one is run.
        assert!(fleet.call("boxed/die", json!({})).await.is_err());
        fleet.echoes("boxed").await;
        let seen = commands(folder.path());
        assert_eq!(seen[1], format!("stop -t 2 {first}"));
        let second = id(&seen[2]);
        assert_ne!(first, second);

        within("close", fleet.host.close()).await;
        assert_eq!(commands(folder.path())[3], format!("stop -t 2 {second}"));
        assert_eq!(commands(folder.path()).len(), 4);
        let files = std::fs::read_to_string(folder.path().join("files")).unwrap();
        for file in files.lines() {
            assert!(!Path::new(file).exists(), "{file}");
        }
        fleet.finish().await;
    });
}

#[test]
fn fault_12_a_runtime_that_ends_without_closing_tells_the_engine_too() {
    let folder = Scratch::new("engine").unwrap();
    let engine = folder.path().join("podman");
    std::fs::write(&engine, ENGINE).unwrap();
    std::fs::set_permissions(&engine, std::fs::Permissions::from_mode(0o755)).unwrap();
    let launch = script().launch().unwrap();
    let mut server = config_of("boxed", &launch);
    if let Transport::Stdio(launch) = server.server.transport_mut() {
        let program = std::mem::replace(&mut launch.program, engine.clone().into());
        launch
            .args
            .splice(0..0, ["run".into(), "-i".into(), program]);
    }
    let path = folder.path().to_owned();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let host = runtime.block_on(async {
        let host = Host::builder().config(config([server])).start();
        within("ready", host.ready("boxed")).await.unwrap();
        host
    });
    drop(runtime);
    drop(host);
    guarded(async move || {
        let told = |commands: &Vec<String>| commands.iter().any(|it| it.starts_with("kill "));
        eventually(|| commands(&path), told).await;
    });
}
