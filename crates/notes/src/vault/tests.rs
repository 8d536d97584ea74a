//! The vault on real folders: what it knows, how fresh that is, and what damage does.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use attache_testkit::scratch::Scratch;

use super::{HEARTBEAT_AFTER, Results, Vault, VaultSettings, Watching};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

struct Setup {
    notes: Scratch,
    cache: Scratch,
    watching: Watching,
}

impl Setup {
    fn new() -> Self {
        Self {
            notes: Scratch::new("notes").unwrap(),
            cache: Scratch::new("notes-cache").unwrap(),
            watching: Watching::Events,
        }
    }

    fn polling(mut self) -> Self {
        self.watching = Watching::Polling;
        self
    }

    fn with(self, notes: &[(&str, &str)]) -> Self {
        for (path, text) in notes {
            self.notes.write(path, text).unwrap();
        }
        self
    }

    fn open(&self) -> Vault {
        let settings = VaultSettings {
            cache: Some(self.cache.path().to_owned()),
            watching: self.watching,
            ..VaultSettings::default()
        };
        Vault::open(self.notes.path(), settings).unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.notes.path().join(path)
    }
}

fn slugs(results: &Results) -> BTreeSet<&str> {
    results.notes.iter().map(|it| it.slug.as_str()).collect()
}

/// Searches until the answer is about the folder as it is.
async fn fresh(vault: &Vault, query: &str) -> Results {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let results = vault.search(query, 100).await;
        if results.freshness.pending == 0 {
            return results;
        }
        assert!(
            Instant::now() < deadline,
            "{query}: {:?}",
            results.freshness
        );
    }
}

/// Searches until exactly these notes are found.
async fn until(vault: &Vault, query: &str, expected: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    loop {
        let results = vault.search(query, 100).await;
        if slugs(&results) == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{query}: {results:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_query_language_finds_what_it_says() {
    let setup = Setup::new().with(&[
        ("a.md", "---\ntitle: Morning Walk\ntags: [Yoga, out-side]\ndate: 2024-12-01\n---\nTea and meditations by the sea."),
        ("daas/b.md", "# Evening\nGreen tea. Crème brûlée. The walk was long, the morning short."),
        ("c.md", "瞑想法について 登山"),
        ("d.md", "---\nlang: de\ndate: 1999-05-05\n---\nDie Spiele der Kinder, Straße"),
    ]);
    let vault = setup.open();
    for (query, expected) in [
        ("tea", &["a", "daas-b"][..]),
        ("tea -green", &["a"]),
        ("-tea", &["c", "d"]),
        ("meditation", &["a"]),
        ("medit*", &["a"]),
        ("\"green tea\"", &["daas-b"]),
        ("\"tea green\"", &[]),
        ("\"walk morning\"", &[]),
        ("creme BRULEE", &["daas-b"]),
        ("tag:yoga", &["a"]),
        ("tag:out-side tea", &["a"]),
        ("-tag:yoga tea", &["daas-b"]),
        ("title:walk", &["a"]),
        ("title:walking", &["a"]),
        ("walk", &["a", "daas-b"]),
        ("path:daas", &["daas-b"]),
        ("path:daas/b", &["daas-b"]),
        ("after:2024-12-01", &["a", "daas-b", "c"]),
        ("before:2000", &["d"]),
        ("after:2024-12-01 before:2024-12-02", &["a"]),
        ("瞑想", &["c"]),
        ("法", &["c"]),
        ("想法", &["c"]),
        ("山", &["c"]),
        ("法想", &[]),
        ("\"瞑想法について 登山\"", &["c"]),
        ("title:\"walk morning\"", &["a"]),
        ("spielen", &["d"]),
        ("strasse", &["d"]),
        ("\"unclosed tea", &[]),
        ("tea \"", &["a", "daas-b"]),
        ("after:tea", &[]),
        ("!!! ((( ***", &[]),
        ("nothing", &[]),
    ] {
        let results = fresh(&vault, query).await;
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        assert_eq!(slugs(&results), expected, "{query}");
        assert_eq!(results.total, expected.len(), "{query}");
    }
    let best = fresh(&vault, "walk").await;
    assert_eq!(best.notes[0].title, "Morning Walk", "a title counts more");
    assert!(best.notes[1].snippet.contains("The walk was"), "{best:?}");
    assert_eq!(best.notes[0].tags, ["Yoga", "out-side"]);
}

#[tokio::test]
async fn a_blank_query_finds_the_latest_and_a_limit_holds() {
    let setup = Setup::new();
    for number in 0..20_u64 {
        let file = setup.notes.write(&format!("{number:02}.md"), "x").unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1000 + number);
        File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let vault = setup.open();
    let latest = vault.search(" ", 3).await;
    let found: Vec<&str> = latest.notes.iter().map(|it| it.slug.as_str()).collect();
    assert_eq!((found, latest.total), (vec!["19", "18", "17"], 20));
    fresh(&vault, "x").await;
    let some = vault.search("x", 5).await;
    assert_eq!((some.notes.len(), some.total), (5, 20));
}

#[tokio::test]
async fn changes_are_found_and_deleted_notes_are_not() {
    let setup = Setup::new().with(&[("a.md", "alpha"), ("sub/b.md", "beta alpha")]);
    let vault = setup.open();
    until(&vault, "alpha", &["a", "sub-b"]).await;
    fs::write(setup.path("a.md"), "gamma").unwrap();
    until(&vault, "gamma", &["a"]).await;
    until(&vault, "alpha", &["sub-b"]).await;
    // A folder that is new, with folders in it, and one that moves.
    setup.notes.write("new/deep/c.md", "gamma").unwrap();
    until(&vault, "gamma", &["a", "new-deep-c"]).await;
    fs::write(setup.path("new/deep/d.md"), "delta").unwrap();
    until(&vault, "delta", &["new-deep-d"]).await;
    fs::rename(setup.path("new"), setup.path("old")).unwrap();
    until(&vault, "gamma OR delta", &[]).await;
    until(&vault, "delta", &["old-deep-d"]).await;
    fs::remove_dir_all(setup.path("old")).unwrap();
    until(&vault, "delta", &[]).await;
    // Hidden and ignored files are no notes, and rules can change.
    setup.notes.write(".hidden/x.md", "omega").unwrap();
    setup.notes.write("kept.md", "omega").unwrap();
    until(&vault, "omega", &["kept"]).await;
    setup.notes.write(".gitignore", "kept.md\n").unwrap();
    until(&vault, "omega", &[]).await;
    fs::remove_file(setup.path(".gitignore")).unwrap();
    until(&vault, "omega", &["kept"]).await;
}

/// The first search after a note is gone does not name it, whether or not that was noticed.
#[tokio::test]
async fn no_result_is_a_ghost() {
    for setup in [Setup::new(), Setup::new().polling()] {
        for number in 0..30 {
            setup.notes.write(&format!("{number}.md"), "ghost").unwrap();
        }
        let vault = setup.open();
        fresh(&vault, "ghost").await;
        for number in 0..30 {
            fs::remove_file(setup.path(&format!("{number}.md"))).unwrap();
            let results = vault.search("ghost", 100).await;
            let gone = number.to_string();
            assert!(
                !slugs(&results).contains(gone.as_str()),
                "{gone}: {results:?}"
            );
        }
        let results = vault.search("ghost", 100).await;
        assert_eq!((results.notes.len(), results.total), (0, 0));
    }
}

#[tokio::test]
async fn where_nothing_can_be_watched_changes_are_found_by_looking() {
    let setup = Setup::new().polling().with(&[("a.md", "alpha")]);
    let vault = setup.open();
    until(&vault, "alpha", &["a"]).await;
    setup.notes.write("b.md", "beta").unwrap();
    fs::remove_file(setup.path("a.md")).unwrap();
    until(&vault, "beta", &["b"]).await;
    until(&vault, "alpha", &[]).await;
}

/// A watcher that died without a word is noticed by the next searches, and replaced.
#[tokio::test]
async fn a_dead_watcher_is_noticed() {
    let setup = Setup::new().with(&[("a.md", "alpha")]);
    let vault = setup.open();
    fresh(&vault, "alpha").await;
    let beaten = vault.shared.heartbeat.told();
    let Some(long_ago) = Instant::now().checked_sub(HEARTBEAT_AFTER * 2) else {
        return;
    };
    // While it lives it answers.
    vault.shared.care.lock().alive = long_ago;
    vault.search("alpha", 1).await;
    let deadline = Instant::now() + PATIENCE;
    while vault.shared.heartbeat.told() == beaten {
        assert!(Instant::now() < deadline, "no beat was told");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    vault.search("alpha", 1).await;
    assert!(vault.shared.care.lock().beat.is_none());
    *vault.shared.watcher.lock() = None;
    setup.notes.write("b.md", "beta").unwrap();
    vault.shared.care.lock().alive = long_ago;
    until(&vault, "beta", &["b"]).await;
}

#[tokio::test]
async fn what_is_no_regular_file_is_left_alone() {
    let setup = Setup::new().with(&[("a.md", "alpha"), ("sub/b.md", "beta")]);
    let outside = Scratch::new("outside").unwrap();
    let secret = outside.write("secret.md", "alpha secret").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(&secret, setup.path("link.md")).unwrap();
        symlink(outside.path(), setup.path("folder")).unwrap();
        symlink("a.md", setup.path("inner.md")).unwrap();
        symlink("/dev/zero", setup.path("zero.md")).unwrap();
        let fifo = rustix::fs::CWD;
        rustix::fs::mknodat(
            fifo,
            setup.path("pipe.md"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
    }
    let huge = File::create(setup.path("huge.md")).unwrap();
    huge.set_len(64 * 1024 * 1024).unwrap();
    fs::write(setup.path("bytes.md"), b"alpha \xff\xfe beta").unwrap();
    let vault = setup.open();
    let results = fresh(&vault, "alpha").await;
    assert_eq!(slugs(&results), ["a", "bytes"].into());
    // S15: neither slugs nor paths lead out.
    for name in [
        "link",
        "link.md",
        "folder/secret.md",
        "inner",
        "zero",
        "pipe",
        "../secret.md",
        "/etc/passwd",
        "sub/../a.md",
        "folder",
        "",
        "a.md/",
        "\0",
    ] {
        assert!(vault.read(name).await.is_err(), "{name}");
    }
    assert_eq!(vault.read("sub-b").await.unwrap(), "beta");
    assert_eq!(vault.read("sub/b.md").await.unwrap(), "beta");
    assert_eq!(vault.read("sub/b").await.unwrap(), "beta");
    let lossy = vault.read("bytes").await.unwrap();
    assert!(
        lossy.contains("not UTF-8") && lossy.contains("alpha \u{fffd}"),
        "{lossy}"
    );
    let refused = vault.read("huge").await.unwrap_err().to_string();
    assert!(refused.contains("67108864"), "{refused}");
    assert_eq!(
        fresh(&vault, "path:huge").await.total,
        1,
        "found by its name"
    );
}

/// A note that becomes a link after it was listed is not followed.
#[cfg(unix)]
#[tokio::test]
async fn s15_a_note_that_becomes_a_link_is_not_followed() {
    let setup = Setup::new().polling().with(&[("sub/a.md", "alpha")]);
    let outside = Scratch::new("outside").unwrap();
    outside.write("a.md", "alpha secret").unwrap();
    let vault = setup.open();
    fresh(&vault, "alpha").await;
    fs::remove_dir_all(setup.path("sub")).unwrap();
    std::os::unix::fs::symlink(outside.path(), setup.path("sub")).unwrap();
    assert!(vault.read("sub-a").await.is_err());
    let results = vault.search("alpha", 10).await;
    assert!(results.notes.is_empty(), "{results:?}");
}

#[tokio::test]
async fn hostile_names_are_notes_like_others() {
    let setup = Setup::new();
    let names = [
        "a b.md",
        "A B.md",
        "a\nb.md",
        "\u{1b}[31m.md",
        "%2e%2e.md",
        "-rf.md",
        "#?&=.md",
        "'\";.md",
        "ünï.md",
        "\u{202e}gnp.md",
        "..md",
        "tab\t.md",
        "🧘.md",
    ];
    for name in names {
        setup.notes.write(name, "hostile").unwrap();
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(b"\xff\xfe.md");
        fs::write(setup.notes.path().join(name), "hostile").unwrap();
    }
    let vault = setup.open();
    let results = fresh(&vault, "hostile").await;
    // One has a dot in front, and one a name that is no text.
    assert_eq!(results.total, names.len() - 1, "{results:?}");
    for note in &results.notes {
        assert!(!note.title.contains(char::is_control), "{note:?}");
        assert_eq!(vault.read(&note.slug).await.unwrap(), "hostile");
    }
}

/// Clocks go backwards, and a file may be written twice within one tick.
#[tokio::test]
async fn a_note_is_known_by_more_than_its_time() {
    let setup = Setup::new().with(&[("a.md", "aaaa")]);
    let vault = setup.open();
    fresh(&vault, "aaaa").await;
    let file = setup.path("a.md");
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
    fs::write(&file, "bbbb").unwrap();
    File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(old)
        .unwrap();
    until(&vault, "bbbb", &["a"]).await;
    for round in 0..20 {
        let word = format!("w{round:03}");
        fs::write(&file, &word).unwrap();
        until(&vault, &word, &["a"]).await;
    }
}

#[tokio::test]
async fn an_index_is_found_again_and_only_differences_are_read() {
    let setup = Setup::new().with(&[("a.md", "alpha"), ("b.md", "beta"), ("c.md", "alpha")]);
    let vault = setup.open();
    fresh(&vault, "alpha").await;
    closed(vault);
    fs::write(setup.path("b.md"), "alpha beta").unwrap();
    fs::remove_file(setup.path("c.md")).unwrap();
    let vault = setup.open();
    let results = fresh(&vault, "alpha").await;
    assert_eq!(slugs(&results), ["a", "b"].into());
}

/// One process writes, the other reads, and takes over when the first is gone.
#[tokio::test]
async fn two_servers_share_one_folder() {
    let setup = Setup::new().with(&[("a.md", "alpha")]);
    let first = setup.open();
    fresh(&first, "alpha").await;
    let second = setup.open();
    until(&second, "alpha", &["a"]).await;
    setup.notes.write("b.md", "beta").unwrap();
    until(&first, "beta", &["b"]).await;
    until(&second, "beta", &["b"]).await;
    fresh(&second, "beta").await;
    closed(first);
    setup.notes.write("c.md", "gamma").unwrap();
    until(&second, "gamma", &["c"]).await;
    fs::remove_file(setup.path("a.md")).unwrap();
    until(&second, "alpha", &[]).await;
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_is_done_without() {
    let setup = Setup::new().with(&[("a.md", "alpha")]);
    let blocked = setup.cache.write("file", "x").unwrap();
    let settings = VaultSettings {
        cache: Some(blocked),
        ..VaultSettings::default()
    };
    let vault = Vault::open(setup.notes.path(), settings).unwrap();
    until(&vault, "alpha", &["a"]).await;
    setup.notes.write("b.md", "beta").unwrap();
    until(&vault, "beta", &["b"]).await;
}

/// A list shows titles, so another title is another list; another text is none.
#[tokio::test]
async fn a_new_title_is_a_change_of_the_list() {
    let setup = Setup::new().with(&[("a.md", "# One\nalpha"), ("b.md", "beta")]);
    let vault = setup.open();
    fresh(&vault, "alpha").await;
    let is_renamed = Arc::new(AtomicBool::new(false));
    let (lists, told) = std::sync::mpsc::channel();
    let seen = Arc::clone(&is_renamed);
    vault.on_change(move |news| {
        if news.is_other_list {
            let _ = lists.send(seen.load(Ordering::SeqCst));
        }
    });
    // In one step: a note that is half written has another title.
    let save = |text: &str| {
        let draft = setup.notes.write(".draft", text).unwrap();
        fs::rename(draft, setup.path("a.md")).unwrap();
    };
    for text in ["# One\nalpha gamma", "# One\ngamma"] {
        save(text);
        until(&vault, text.trim_start_matches("# One\n"), &["a"]).await;
        fresh(&vault, "gamma").await;
    }
    // A process that only reads the index tells it too.
    let other = setup.open();
    fresh(&other, "gamma").await;
    let (other_lists, other_told) = std::sync::mpsc::channel();
    other.on_change(move |news| {
        if news.is_other_list {
            let _ = other_lists.send(());
        }
    });
    is_renamed.store(true, Ordering::SeqCst);
    save("# Two\ngamma");
    until(&vault, "title:two", &["a"]).await;
    assert!(
        told.recv_timeout(PATIENCE).unwrap(),
        "told without a reason"
    );
    other_told.recv_timeout(PATIENCE).unwrap();
}

/// Closes a vault and waits until nothing works on it any more.
fn closed(vault: Vault) {
    let shared = Arc::downgrade(&vault.shared);
    drop(vault);
    let deadline = Instant::now() + PATIENCE;
    while shared.strong_count() > 0 {
        assert!(Instant::now() < deadline, "the worker does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The files of the index.
fn index_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    files
}

/// The index truncated at random bytes: always an answer, never a wrong one.
#[tokio::test]
async fn a_truncated_index_never_lies() {
    const ROUNDS: u64 = 200;
    let setup = Setup::new().with(&[
        ("a.md", "alpha common"),
        ("b.md", "beta common"),
        ("c.md", "gamma common"),
    ]);
    let mut random = fastrand::Rng::with_seed(15);
    for round in 0..ROUNDS {
        // A note that the index on disk knows in another state.
        let word = format!("round{round}");
        fs::write(setup.path("c.md"), format!("gamma common {word}")).unwrap();
        let vault = setup.open();
        let results = vault.search("common", 10).await;
        let found = slugs(&results);
        let all = ["a", "b", "c"].into();
        assert!(found.is_subset(&all), "{round}: {results:?}");
        assert!(
            found == all || results.freshness.pending > 0,
            "{round}: {results:?}"
        );
        let results = fresh(&vault, &word).await;
        assert_eq!(
            (slugs(&results), results.total),
            (["c"].into(), 1),
            "{round}"
        );
        assert_eq!(fresh(&vault, "common").await.total, 3, "{round}");
        closed(vault);
        let files = index_files(setup.cache.path());
        let file = &files[random.usize(..files.len())];
        let length = fs::metadata(file).unwrap().len();
        let cut = random.u64(..length.max(1));
        let file = File::options().write(true).open(file).unwrap();
        file.set_len(cut).unwrap();
    }
}

/// A checkout renames thousands of files at once.
#[tokio::test]
async fn a_storm_of_renames_is_weathered() {
    const NOTES: usize = 5000;
    let setup = Setup::new();
    for number in 0..NOTES {
        let path = format!("old/{}/{number}.md", number % 50);
        setup
            .notes
            .write(&path, format!("storm note{number}"))
            .unwrap();
    }
    let vault = setup.open();
    assert_eq!(fresh(&vault, "storm").await.total, NOTES);
    for number in 0..NOTES {
        let folder = setup.path(&format!("new/{}", number % 50));
        fs::create_dir_all(&folder).unwrap();
        let old = setup.path(&format!("old/{}/{number}.md", number % 50));
        fs::rename(old, folder.join(format!("{number}.md"))).unwrap();
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let results = vault.search("path:new storm", 1).await;
        assert!(results.total <= NOTES);
        if results.total == NOTES && results.freshness.pending == 0 {
            break;
        }
        assert!(Instant::now() < deadline, "{:?}", results.freshness);
    }
    assert_eq!(fresh(&vault, "path:old").await.total, 0);
    assert_eq!(fresh(&vault, "note4711").await.total, 1);
}

/// Lists come from the walk: pages are whole and in order, while notes come and go.
#[tokio::test]
async fn ten_thousand_notes_are_listed_and_found() {
    const NOTES: usize = 10_000;
    let setup = Setup::new();
    for number in 0..NOTES {
        let text = format!("# Note {number}\nword{} common", number % 100);
        setup
            .notes
            .write(&format!("{}/n{number:05}.md", number % 20), text)
            .unwrap();
    }
    let vault = setup.open();
    vault.scanned().await;
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = vault.page(after.as_deref(), 500);
        seen.extend(page.notes.into_iter().map(|it| it.slug));
        if seen.len() == 1000 {
            // Before the cursor and behind it.
            setup.notes.write("0/a.md", "new").unwrap();
            setup.notes.write("9/z.md", "new").unwrap();
            fs::remove_file(setup.path("0/n00000.md")).unwrap();
            vault.touch(["0/a.md", "9/z.md", "0/n00000.md"].map(str::to_owned));
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert!(seen.is_sorted(), "pages are in order");
    let distinct: BTreeSet<_> = seen.iter().collect();
    assert_eq!(distinct.len(), seen.len());
    assert!((NOTES..=NOTES + 1).contains(&seen.len()), "{}", seen.len());
    assert_eq!(fresh(&vault, "common").await.total, NOTES - 1);
    assert_eq!(fresh(&vault, "word7").await.total, 100);
    let beginning = vault.completions("0-n0000");
    assert!(
        beginning.starts_with(&["0-n00020".to_owned()]),
        "{:?}",
        &beginning[..3]
    );
    assert_eq!(vault.completions("9979n"), Vec::<String>::new());
    assert!(
        vault
            .completions("19n9979")
            .contains(&"19-n09979".to_owned())
    );
}
