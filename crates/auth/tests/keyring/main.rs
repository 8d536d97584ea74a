//! The keyring of the operating system, for real: a Secret Service on a private D-Bus, and processes
//! that find it as every program does, by their environment.
//!
//! Needs the feature `keyring-tests` and an installed `dbus-daemon`.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod secret_service;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use attache_auth::{CredentialStore, Entry, SealedOrPlain, SealedStore, Secret, SystemKeyring};
use url::Url;

use crate::secret_service::SecretService;

/// What a process of these tests shall do: `ACT|FOLDER|ENTRY|TEXT`.
const ROLE: &str = "ATTACHE_TEST_KEYRING_ROLE";
const SERVICE: &str = "attache test";

fn entry(name: &str) -> Entry {
    Entry::of_server(&Url::parse(&format!("https://example.org/{name}")).unwrap())
}

/// The role of the processes below: this executable, run again for one use of the keyring.
#[tokio::test]
async fn role() {
    // Without the variable there is no role to play.
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let words: Vec<&str> = role.split('|').collect();
    let [act, folder, name, text] = words[..] else {
        panic!("{role}");
    };
    let keyring = Arc::new(SystemKeyring::new(SERVICE));
    let (entry, text) = (entry(name), Secret::new(text));
    let sealed = SealedStore::new(folder, keyring.clone());
    let either = SealedOrPlain::new(folder, keyring);
    match act {
        "save" => sealed.save(&entry, text).await.unwrap(),
        "load" => assert_eq!(sealed.load(&entry).await.unwrap(), Some(text)),
        "save either" => either.save(&entry, text).await.unwrap(),
        "load either" => assert_eq!(either.load(&entry).await.unwrap(), Some(text)),
        "fail" => {
            let error = sealed.save(&entry, Secret::new("t")).await.unwrap_err();
            let said = error.to_string();
            assert!(said.contains(text.expose()), "{said}");
        }
        other => panic!("no such act: {other}"),
    }
}

fn begin(act: &str, bus: &str, folder: &Path, name: &str, text: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role", "--nocapture"])
        .env(ROLE, format!("{act}|{}|{name}|{text}", folder.display()))
        .env("DBUS_SESSION_BUS_ADDRESS", bus)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[track_caller]
fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[track_caller]
fn play(act: &str, bus: &str, folder: &Path, name: &str, text: &str) {
    finish(begin(act, bus, folder, name, text));
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap();
    files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

#[test]
fn what_one_process_keeps_another_reads() {
    let service = SecretService::start();
    let folder = tempfile::tempdir().unwrap();
    let bus = service.address();
    play("save", bus, folder.path(), "a", "hunter2");
    play("load", bus, folder.path(), "a", "hunter2");
    play("save", bus, folder.path(), "a", "hunter3");
    play("save", bus, folder.path(), "b", "other");
    play("load", bus, folder.path(), "a", "hunter3");
    play("load", bus, folder.path(), "b", "other");

    // The keyring holds one key, and no token however many there are.
    let items = service.items();
    assert_eq!(items.len(), 1, "{items:?}");
    let attribute = |name: &str| items[0].attributes.get(name).map(String::as_str);
    assert_eq!(attribute("service"), Some(SERVICE));
    assert_eq!(attribute("username"), Some("credentials key"));
    assert!(!contains(&items[0].value, "hunter"));
    for file in files(folder.path()) {
        assert!(!contains(&file, "hunter"));
    }
}

#[test]
fn processes_that_need_the_first_key_at_once_make_one() {
    let service = SecretService::start();
    let folder = tempfile::tempdir().unwrap();
    let bus = service.address();
    let names = ["a", "b", "c", "d"];
    let begun = names.map(|name| begin("save", bus, folder.path(), name, name));
    begun.into_iter().for_each(finish);
    assert_eq!(service.items().len(), 1);
    for name in names {
        play("load", bus, folder.path(), name, name);
    }
}

#[test]
fn a_keyring_that_cannot_be_used_is_told_of_or_done_without() {
    let service = SecretService::start();
    let folder = tempfile::tempdir().unwrap();
    let bus = service.address();
    play("save", bus, folder.path(), "a", "hunter2");
    service.lock();
    play("fail", bus, folder.path(), "b", "it is locked");

    let nobody = "unix:path=/nonexistent/bus";
    play("fail", nobody, folder.path(), "b", "the keyring: ");
    for bus in [bus, nobody] {
        let folder = tempfile::tempdir().unwrap();
        play("save either", bus, folder.path(), "a", "hunter2");
        play("load either", bus, folder.path(), "a", "hunter2");
        assert!(
            files(folder.path())
                .iter()
                .any(|file| contains(file, "hunter2"))
        );
    }
}

#[test]
fn with_a_keyring_nothing_is_left_readable() {
    let service = SecretService::start();
    let folder = tempfile::tempdir().unwrap();
    let bus = service.address();
    play("save either", bus, folder.path(), "a", "hunter2");
    play("load either", bus, folder.path(), "a", "hunter2");
    assert_eq!(service.items().len(), 1);
    for file in files(&folder.path().join("sealed")) {
        assert!(!contains(&file, "hunter2"));
    }
}
