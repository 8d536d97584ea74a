//! What a server gets, and what it is told when it gets nothing.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use attache_process::{self, ExitReason, Guardianship, Launch, SpawnError, SpawnErrorKind};
use attache_testkit::processes::look;
use attache_testkit::scratch::Scratch;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client_role::{Client, block_on, shell, spawn_up};
use crate::scan;

/// A file for these tests to start.
fn file(folder: &Scratch, name: &str, contents: &str, mode: u32) -> PathBuf {
    let path = folder.write(name, contents).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn failure(launch: Launch) -> SpawnError {
    block_on(attache_process::spawn(&launch)).unwrap_err()
}

fn output_of(launch: Launch) -> Vec<u8> {
    block_on(async {
        let mut spawned = attache_process::spawn(&launch).await.unwrap();
        drop(spawned.stdin);
        let mut output = Vec::new();
        spawned.stdout.read_to_end(&mut output).await.unwrap();
        assert_eq!(spawned.child.wait().await, ExitReason::Code(0));
        output
    })
}

pub(crate) fn fault_13_failures_to_start_are_typed_and_say_what_was_tried() {
    let folder = Scratch::new("process").unwrap();
    let plain = file(&folder, "plain", "", 0o644);
    let nonsense = file(&folder, "nonsense", "\u{1}\u{2}", 0o755);
    let orphan = file(&folder, "orphan", "#!/nonexistent/interpreter\n", 0o755);
    let path = folder.path().as_os_str();

    type Expected = fn(&SpawnErrorKind) -> bool;
    let cases: [(Launch, Expected, Option<&Path>); 8] = [
        (
            Launch::new("no-such-program").var("PATH", path),
            |kind| matches!(kind, SpawnErrorKind::NotFound),
            Some(&folder.path().join("no-such-program")),
        ),
        (
            Launch::new("./no-such-program").cwd(path),
            |kind| matches!(kind, SpawnErrorKind::NotFound),
            Some(&folder.path().join("no-such-program")),
        ),
        (
            Launch::new("plain").var("PATH", path),
            |kind| matches!(kind, SpawnErrorKind::NotExecutable),
            Some(&plain),
        ),
        (
            Launch::new(path),
            |kind| matches!(kind, SpawnErrorKind::NotExecutable),
            Some(folder.path()),
        ),
        (
            Launch::new(&nonsense),
            |kind| matches!(kind, SpawnErrorKind::NotExecutable),
            Some(&nonsense),
        ),
        (
            Launch::new(&orphan),
            |kind| matches!(kind, SpawnErrorKind::InterpreterMissing),
            Some(&orphan),
        ),
        (
            Launch::new("sh").cwd("/nonexistent/directory"),
            |kind| matches!(kind, SpawnErrorKind::BadWorkingDirectory),
            None,
        ),
        (
            Launch::new("sh").args(["x".repeat(200_000)]),
            |kind| matches!(kind, SpawnErrorKind::TooLarge),
            None,
        ),
    ];
    for guardianship in [Guardianship::Automatic, Guardianship::ProcessGroup] {
        for (launch, expected, tried) in &cases {
            let error = failure(launch.clone().guardianship(guardianship.clone()));
            assert!(expected(error.kind()), "{launch:?}: {error:?}");
            assert_eq!(error.program(), launch.program);
            assert_eq!(error.cwd(), launch.cwd.as_deref());
            if let Some(tried) = tried {
                assert_eq!(error.tried().last().map(PathBuf::as_path), Some(*tried));
            }
            let text = error.to_string();
            assert!(text.contains(&*launch.program.to_string_lossy()), "{text}");
        }
    }
}

pub(crate) fn fault_13_a_guardian_that_is_none_is_named() {
    for helper in ["/nonexistent/helper", "/bin/true"] {
        let launch = Launch::new("sh").guardianship(Guardianship::Helper(helper.into()));
        let error = failure(launch);
        assert!(
            matches!(error.kind(), SpawnErrorKind::Guardian(reason) if reason.contains(helper)),
            "{error:?}"
        );
    }
}

pub(crate) fn fault_28_writing_to_a_server_that_ended_is_an_error() {
    block_on(async {
        let mut spawned = attache_process::spawn(&Launch::new("true")).await.unwrap();
        assert_eq!(spawned.child.wait().await, ExitReason::Code(0));
        let error = spawned.stdin.write_all(b"{}\n").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    });
}

pub(crate) fn s12_a_server_inherits_its_three_streams_and_nothing_else() {
    // The client itself was started with descriptors that it does not know of.
    let wrapper = r#"exec 7</dev/null 9</dev/null; exec "$@""#;
    let mut client = Client::start_through(wrapper, "exec cat");
    let server = client.server();
    let guardian = look(server).unwrap().ppid;
    assert_ne!(guardian, client.id());
    assert!(Path::new(&format!("/proc/{}/fd/9", client.id())).exists());

    let descriptors = || {
        let entries = fs::read_dir(format!("/proc/{server}/fd")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    // The loader of a program that just starts has files open for a moment; a leak stays.
    let deadline = Instant::now() + Duration::from_secs(5);
    while descriptors() != ["0", "1", "2"] && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(descriptors(), ["0", "1", "2"]);
    for inherited in ["7", "9"] {
        let path = PathBuf::from(format!("/proc/{guardian}/fd/{inherited}"));
        let target = fs::read_link(path).unwrap_or_default();
        assert_ne!(target, Path::new("/dev/null"), "descriptor {inherited}");
    }

    let groups = [client.id(), guardian, server].map(|id| look(id).unwrap().group);
    assert_eq!(
        groups[1..],
        [guardian, server],
        "a terminal's Ctrl-C is the client's"
    );
}

pub(crate) fn the_guardian_holds_none_of_the_pipes() {
    block_on(async {
        let tag = scan::unique_tag();
        let mut spawned = spawn_up("echo up; exec cat", &tag).await;
        let guardian = look(spawned.child.id()).unwrap().ppid;
        for entry in fs::read_dir(format!("/proc/{guardian}/fd")).unwrap() {
            let target = fs::read_link(entry.unwrap().path()).unwrap();
            assert!(!target.to_string_lossy().starts_with("pipe:"), "{target:?}");
        }
        // So closing our end ends the server, and its end of the others is seen here.
        drop(spawned.stdin);
        let mut rest = Vec::new();
        spawned.stdout.read_to_end(&mut rest).await.unwrap();
        spawned.stderr.read_to_end(&mut rest).await.unwrap();
        assert_eq!(spawned.child.wait().await, ExitReason::Code(0));
        assert_eq!(rest, b"");
    });
}

pub(crate) fn arguments_and_variables_need_not_be_utf_8() {
    let raw = b"a\xff\xfe b\n\x01".to_vec();
    let text = OsString::from_vec(raw.clone());
    let launch = Launch::new("sh")
        .args([
            "-c",
            r#"printf %s "$1"; printf %s "$V"; printf %s "$0""#,
            "name",
        ])
        .args([text.clone()])
        .var("V", text);
    assert_eq!(output_of(launch), [&raw[..], &raw[..], b"name"].concat());
}

pub(crate) fn a_large_environment_arrives_whole() {
    const COUNT: usize = 40;
    const SIZE: usize = 64 * 1024;
    let mut launch = shell(r#"printf '%s %s' "${#V0}" "${#V39}""#, "");
    for number in 0..COUNT {
        let size = if number == 0 { SIZE - 1 } else { SIZE / 13 };
        launch = launch.var(format!("V{number}"), "x".repeat(size));
    }
    let total: usize = launch.vars.values().map(|value| value.len()).sum();
    assert!(total > 200 * 1024, "{total}");
    let expected = format!("{} {}", SIZE - 1, SIZE / 13);
    assert_eq!(output_of(launch), expected.into_bytes());
}

pub(crate) fn signals_the_client_had_ignored_do_not_blind_the_guardian() {
    let wrapper = r#"trap "" CHLD HUP TERM; exec "$@""#;
    let mut client = Client::start_through(wrapper, "exit 5");
    client.server();
    assert_eq!(client.rest().trim(), "exited with code 5");
}

pub(crate) fn signals_the_client_had_blocked_or_ignored_reach_the_server() {
    let wrapper = r#"trap "" CHLD HUP TERM; exec env --block-signal=CHLD --block-signal=TERM "$@""#;
    let mut client = Client::start_through(wrapper, "exec sleep 1000");
    let server = client.server();
    let mask_of = |id: u32, field: &str| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        let mask = line.split_ascii_whitespace().nth(1).unwrap();
        u64::from_str_radix(mask, 16).unwrap()
    };
    let bit = |signal: Signal| 1_u64 << (signal.as_raw() - 1);
    let ended_by = bit(Signal::HUP) | bit(Signal::TERM);
    assert_eq!(mask_of(client.id(), "SigIgn:") & ended_by, ended_by);
    assert_eq!(mask_of(server, "SigIgn:") & ended_by, 0);
    assert_ne!(mask_of(client.id(), "SigBlk:"), 0);
    assert_eq!(mask_of(server, "SigBlk:"), 0);

    let tree = client.tree();
    client.kill_outright();
    scan::gone_within(Duration::from_secs(2), &client.tag, &tree);
}
