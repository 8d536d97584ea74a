//! Where credentials are kept, who may see them, and how they are given up.

use std::sync::Arc;
use std::time::Duration;

use attache_auth::{
    AuthorizationError, CredentialStore, Entry, FileStore, LoginStatus, Logout, MAX_ENTRY_LENGTH,
    MemoryStore, RenewalOutlook, Secret,
};
use attache_testkit::http::Answer;
use serde_json::json;

use crate::web;
use crate::world::{Knobs, World, admitted};

/// The one entry that a login leaves; stores are tested with it because names are made inside.
#[cfg(unix)]
async fn entry_of(store: Arc<FileStore>, folder: &std::path::Path) -> std::path::PathBuf {
    let world = World::new().await;
    world.oauth_with(store).login().await.unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("tokens")
        })
        .collect();
    assert_eq!(files.len(), 1);
    files.remove(0)
}

/// X-AUTH-36: nobody else can read what is kept.
#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("credentials");
    let file = entry_of(Arc::new(FileStore::new(&folder)), &folder).await;
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }

    // A file that somebody opened to others is not used.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let world = World::new().await;
    let copy = folder.join(format!("{}.json", entry(&world).file_name()));
    std::fs::rename(&file, copy).unwrap();
    let store = Arc::new(FileStore::new(&folder));
    let error = world.oauth_with(store).status().await.unwrap_err();
    assert!(error.to_string().contains("others can read it"), "{error}");
}

fn entry(world: &World) -> Entry {
    Entry::of_server(&world.server())
}

/// The limit of an entry, and what lies beyond it.
#[tokio::test]
async fn an_entry_has_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    let world = World::new().await;
    let entry = entry(&world);
    let fits = Secret::new("x".repeat(MAX_ENTRY_LENGTH));
    store.save(&entry, fits.clone()).await.unwrap();
    assert_eq!(store.load(&entry).await.unwrap(), Some(fits));
    let too_long = Secret::new("x".repeat(MAX_ENTRY_LENGTH + 1));
    assert!(store.save(&entry, too_long.clone()).await.is_err());
    // Nor is one read that somebody else has put there.
    let path = folder.path().join(format!("{}.json", entry.file_name()));
    std::fs::write(path, too_long.expose()).unwrap();
    assert!(store.load(&entry).await.is_err());
    store.delete(&entry).await.unwrap();
    store.delete(&entry).await.unwrap();
    assert_eq!(store.load(&entry).await.unwrap(), None);
}

/// A lock is waited for in bounds, and free when its holder is gone.
#[tokio::test]
async fn a_lock_has_one_holder() {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn CredentialStore>; 2] = [
        Arc::new(FileStore::new(folder.path())),
        Arc::new(MemoryStore::new()),
    ];
    let world = World::new().await;
    let entry = entry(&world);
    let short = Duration::from_millis(100);
    for store in stores {
        let held = store.lock(&entry, short).await.unwrap();
        let error = store.lock(&entry, short).await.unwrap_err();
        assert_eq!(error, AuthorizationError::Busy { after: short });
        drop(held);
        store.lock(&entry, short).await.unwrap();
    }
}

/// The role of the processes in the next test: this executable, run again to write one record over
/// and over until it is killed.
const WRITER: &str = "ATTACHE_TEST_WRITER";

#[tokio::test]
async fn writer() {
    // Without the variable this is no writer, and there is nothing to do.
    let Ok(role) = std::env::var(WRITER) else {
        return;
    };
    let (folder, letter) = role.split_once('|').unwrap();
    let store = FileStore::new(folder);
    loop {
        let text = Secret::new(letter.repeat(MAX_ENTRY_LENGTH));
        store.save(&contested(), text).await.unwrap();
    }
}

fn contested() -> Entry {
    Entry::of_server(&"https://example.org/mcp".parse().unwrap())
}

/// A record is replaced as a whole or not at all, whoever else writes it and however they end.
#[tokio::test]
async fn a_record_is_whole_while_processes_write_it_and_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut writers = ["a", "b"].map(|letter| {
        tokio::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "keeping::writer"])
            .env(WRITER, format!("{}|{letter}", folder.path().display()))
            .stdout(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    });
    let store = FileStore::new(folder.path());
    let read = async || -> Option<char> {
        let text = store.load(&contested()).await.unwrap()?;
        let text = text.expose().to_owned();
        assert_eq!(text.len(), MAX_ENTRY_LENGTH);
        let first = text.chars().next()?;
        assert!(text.chars().all(|letter| letter == first));
        Some(first)
    };
    let mut seen = std::collections::BTreeMap::new();
    let both = async {
        while seen.len() < 2 || seen.values().any(|count| *count < 20) {
            if let Some(letter) = read().await {
                *seen.entry(letter).or_insert(0) += 1;
            }
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(40), both).await;
    assert!(in_time.is_ok(), "{seen:?}");
    for writer in &mut writers {
        writer.kill().await.unwrap();
    }
    assert!(read().await.is_some());
    // What a killed writer has left behind stands in nobody's way.
    let last = Secret::new("c".repeat(MAX_ENTRY_LENGTH));
    store.save(&contested(), last).await.unwrap();
    assert_eq!(read().await, Some('c'));
}

/// The draft of a process that was killed may hold a token; that of one at work is not touched.
#[tokio::test]
async fn drafts_that_nobody_finishes_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    let draft = |name: &str, age: Duration| {
        let path = folder.path().join(name);
        let file = std::fs::File::create(&path).unwrap();
        let written = std::time::SystemTime::now() - age;
        file.set_modified(written).unwrap();
        path
    };
    let hour = Duration::from_secs(60 * 60);
    let left = draft(".draft-left", 2 * hour);
    let at_work = draft(".draft-at-work", hour / 2);
    let other = draft("notes", 2 * hour);
    store.save(&contested(), Secret::new("t")).await.unwrap();
    assert!(!left.exists() && at_work.exists() && other.exists());
    let left = draft(".draft-left", 2 * hour);
    store.delete(&contested()).await.unwrap();
    assert!(!left.exists() && at_work.exists() && other.exists());
}

/// A record that cannot be read costs a login and no more.
#[tokio::test]
async fn a_damaged_record_counts_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(FileStore::new(folder.path()));
    let world = World::new().await;
    store
        .save(&entry(&world), Secret::new("{damaged"))
        .await
        .unwrap();
    let oauth = world.oauth_with(store);
    assert_eq!(oauth.status().await.unwrap(), LoginStatus::LoggedOut);
    admitted(&oauth, &world.server()).await;
}

#[tokio::test]
async fn a_login_is_shown_and_given_up() {
    let world = World::new().await;
    let oauth = world.oauth();
    assert_eq!(oauth.status().await.unwrap(), LoginStatus::LoggedOut);
    let details = oauth.login().await.unwrap();
    assert_eq!(details.issuer, world.issuer.origin());
    assert_eq!(details.client_id, "registered");
    assert_eq!(details.scopes, ["basic"]);
    assert_eq!(details.renewal, RenewalOutlook::Automatic);
    assert!(details.expires_at.is_some());
    assert_eq!(
        oauth.status().await.unwrap(),
        LoginStatus::LoggedIn(details)
    );

    assert_eq!(oauth.logout().await.unwrap(), Logout::Revoked);
    assert_eq!(world.ledger.lock().unwrap().revoked, ["refresh-1"]);
    assert_eq!(oauth.status().await.unwrap(), LoginStatus::LoggedOut);
    assert_eq!(oauth.logout().await.unwrap(), Logout::WasLoggedOut);
}

/// The credentials go also where nobody revokes them.
#[tokio::test]
async fn a_logout_never_fails_for_lack_of_revocation() {
    let world = World::with(Knobs {
        metadata: Some(json!({"revocation_endpoint": null})),
        ..Knobs::default()
    })
    .await;
    let oauth = world.oauth();
    oauth.login().await.unwrap();
    assert_eq!(oauth.logout().await.unwrap(), Logout::NotOffered);

    let broken = web::serve(|_| Answer::status(500)).await;
    let endpoint = web::at(&broken, "/revoke");
    let world = World::with(Knobs {
        metadata: Some(json!({"revocation_endpoint": endpoint.as_str()})),
        ..Knobs::default()
    })
    .await;
    let oauth = world.oauth();
    oauth.login().await.unwrap();
    assert!(matches!(
        oauth.logout().await.unwrap(),
        Logout::NotRevoked(_)
    ));
    assert_eq!(oauth.status().await.unwrap(), LoginStatus::LoggedOut);
}

/// The metadata of a server may be named in its refusal only, also for a login without a request.
#[tokio::test]
async fn a_login_asks_the_server_where_its_metadata_are() {
    let world = World::with(Knobs {
        resource: Some(json!(null)),
        challenge: Some("Bearer resource_metadata=\"/custom\"".to_owned()),
        ..Knobs::default()
    })
    .await;
    let error = world.oauth().login().await.unwrap_err();
    assert!(error.to_string().contains("do not exist"), "{error}");
    assert_eq!(world.resource.requests_at("/custom").len(), 1);
}

/// Nothing that is kept shows up in messages or debug output.
#[tokio::test]
async fn secrets_are_not_shown() {
    let world = World::new().await;
    let store = MemoryStore::new();
    let oauth = world.oauth_with(Arc::new(store.clone()));
    admitted(&oauth, &world.server()).await;
    let shown = format!("{oauth:?} {store:?}");
    for secret in ["token-1", "refresh-1", "the-code"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
