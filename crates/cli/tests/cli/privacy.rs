//! What a server can learn of the processes around it.

use std::process::Command;

use crate::configured::{after, home};
use crate::harness::{Folder, finish};

/// A server runs as the same user as the client, so nothing but the system can keep it out. Root
/// may look everywhere, so as root the test is another user.
#[test]
fn s12_a_server_reads_neither_its_guardians_nor_its_clients_environment() {
    let home = home("environ", "");
    let note = home.path().join("note");
    let script = format!(
        r#"client=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$PPID/status)
        {{ cat /proc/self/environ /proc/$PPID/environ /proc/$client/environ
           echo; echo looked; }} > {} 2>&1"#,
        note.display()
    );
    home.write(".config/attache/attache.toml", &after("curious", &script));
    let user = Command::new("id").arg("-u").output().unwrap();
    let mut command = match user.stdout == b"0\n" {
        true => as_nobody(&home),
        false => home.attache(),
    };
    command.env("SECRET_OF_THE_USER", "hunter2");
    finish(command.arg("tools")).expect(0);
    let text = String::from_utf8_lossy(&std::fs::read(&note).unwrap()).into_owned();
    assert!(text.contains("looked"), "{text}");
    assert!(text.contains("HOME="), "it can look: {text}");
    assert!(!text.contains("hunter2"), "{text}");
}

/// The binary run by a user without rights, who can reach all it needs.
fn as_nobody(home: &Folder) -> Command {
    let binary = home.path().join("attache");
    std::fs::copy(env!("CARGO_BIN_EXE_attache"), &binary).unwrap();
    let config = home.path().join(".config/attache/attache.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let ours = binary.display().to_string();
    std::fs::write(&config, text.replace(env!("CARGO_BIN_EXE_attache"), &ours)).unwrap();
    let mut chmod = Command::new("chmod");
    let opened = chmod.args(["-R", "a+rwX"]).arg(home.path()).status();
    assert!(opened.unwrap().success());
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(binary)
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_STATE_HOME")
        .current_dir(home.path());
    command
}
