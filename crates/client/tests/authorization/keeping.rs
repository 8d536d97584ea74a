//! Where credentials are kept, who may see them, and how they are given up.

use std::sync::Arc;
use std::time::Duration;

use attache_client::authorization::{
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
