//! Recordings written and read again.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use attache_record::tap::{Lane, stdio};
use attache_record::{
    Body, Completeness, Conversation, Direction, Existing, Framing, Header, HttpHead, Limits,
    Policy, Reader, RecordError, Recorder, Recording, Redaction, SecretRules, Transport,
};
use attache_testkit::scratch::Scratch;
use bytes::Bytes;
use proptest::prelude::*;

struct Rules;

impl SecretRules for Rules {
    fn is_secret_name(&self, name: &str) -> bool {
        name == "password" || name == "authorization"
    }

    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match text.contains("hunter2") {
            true => Cow::Owned(text.replace("hunter2", "***")),
            false => Cow::Borrowed(text),
        }
    }
}

fn recorder(path: &Path, policy: Policy, limits: Limits) -> Result<Recorder, RecordError> {
    let header = Header::new(Transport::Stdio, "server", policy.redaction());
    Recorder::create(path, header, policy, limits, Existing::Replace)
}

fn raw(path: &Path) -> Recorder {
    recorder(path, Policy::raw(Arc::new(Rules)), Limits::default()).unwrap()
}

/// The bytes of one direction, put together again.
fn stream(recording: &Recording, dir: Direction) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in recording.entries.iter().filter(|entry| entry.dir == dir) {
        match &entry.body {
            Body::Raw(json) => bytes.extend_from_slice(json.as_str().as_bytes()),
            Body::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            Body::Binary(binary) => bytes.extend_from_slice(binary),
            other => panic!("{other:?}"),
        }
        if !entry.unended {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// Gives the bytes in pieces of any size, and now and then an interruption.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    sizes: Vec<usize>,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.pop().unwrap_or(usize::MAX);
        if size == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let rest = &self.bytes[self.at..];
        let length = rest.len().min(size).min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}

/// Takes a few bytes at a time.
#[derive(Default)]
struct Sink {
    bytes: Vec<u8>,
    at_once: usize,
}

impl Write for &mut Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.at_once);
        self.bytes.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let message = prop_oneof![
        Just(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".to_vec()),
        Just(b" {\"a\" : [1, 2] }\r\n".to_vec()),
        Just("{\"ä\":\"\\ud800 😀\"}\n".as_bytes().to_vec()),
        Just(b"\n".to_vec()),
        Just(b"[]".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    proptest::collection::vec(message, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any byte stream passes a tap unchanged, and its recording gives it back byte for byte.
    #[test]
    fn any_byte_stream_passes_a_tap_unchanged(
        bytes in any_stream(),
        sizes in proptest::collection::vec(0_usize..50, 0..20),
        at_once in 1_usize..30,
    ) {
        let scratch = Scratch::new("tap").unwrap();
        let path = scratch.path().join("s.mcprec");
        let recorder = raw(&path);
        let lane = Lane::new(recorder.tape(), 1, Direction::C2s, Framing::Lines);
        let mut sink = Sink { at_once, ..Sink::default() };
        let pieces = Pieces { bytes: bytes.clone(), at: 0, sizes };
        let stopped = stdio::pass(pieces, &mut sink, Some(&lane));
        prop_assert!(matches!(stopped, stdio::Stopped::EndOfInput));
        prop_assert_eq!(&sink.bytes, &bytes);
        let summary = recorder.finish();
        prop_assert!(summary.error.is_none());
        let recording = Recording::read(&path).unwrap();
        prop_assert_eq!(recording.completeness(), Completeness::Whole);
        prop_assert_eq!(stream(&recording, Direction::C2s), bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A damaged recording is read, or refused with the line; it never brings the reader down.
    #[test]
    fn p7_hostile_recordings_are_refused_by_line(
        damage in proptest::collection::vec((0_usize..700, any::<u8>()), 0..6),
        cut in 0_usize..900,
    ) {
        const TEXT: &str = concat!(
            r#"{"format":1,"tool":"t","started_ms":1,"target":"x","transport":"stdio"}"#, "\n",
            r#"{"seq":1,"t_us":1,"dir":"c2s","conn":1,"bytes":9,"raw":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,{"c":null}]}}}}"#, "\n",
            r#"{"seq":2,"t_us":2,"dir":"stderr","conn":1,"text":"hello"}"#, "\n",
            r#"{"seq":3,"t_us":3,"dir":"s2c","conn":1,"raw":{"jsonrpc":"2.0","id":1,"result":{"content":[]}}}"#, "\n",
            r#"{"seq":4,"t_us":4,"dir":"http","conn":1,"status":200,"headers":{"a":"b"}}"#, "\n",
            r#"{"footer":{"ended_ms":1,"frames":4,"bytes":9,"lost":{"frames":0,"bytes":0}}}"#, "\n",
        );
        let mut bytes = TEXT.as_bytes().to_vec();
        bytes.truncate(cut);
        for (at, byte) in damage {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        let reader = attache_record::Reader::new(io::Cursor::new(bytes));
        match reader.and_then(Recording::collect) {
            Ok(recording) => {
                let conversation = Conversation::of(&recording);
                let same = attache_record::diff(
                    &conversation,
                    &conversation,
                    &attache_record::Normaliser::default(),
                    attache_record::Thresholds::default(),
                );
                prop_assert!(same.is_empty());
            }
            Err(error) => prop_assert!(error.to_string().starts_with("line "), "{}", error),
        }
    }
}

fn small_recording(path: &Path) {
    let recorder = raw(path);
    let tape = recorder.tape();
    let lines = |dir, text: &'static str| {
        tape.bytes(1, dir, Framing::Lines, Bytes::from_static(text.as_bytes()))
    };
    lines(
        Direction::C2s,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    );
    lines(Direction::Stderr, "starting\n");
    lines(
        Direction::S2c,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    );
    tape.state(1, "exited", Some("exited with code 0".to_owned()));
    let summary = recorder.finish();
    assert!(
        summary.error.is_none() && summary.frames == 4,
        "{summary:?}"
    );
}

#[test]
fn a_recording_that_was_cut_anywhere_is_read_up_to_there() {
    let scratch = Scratch::new("cut").unwrap();
    let whole = scratch.path().join("whole.mcprec");
    small_recording(&whole);
    let text = fs::read(&whole).unwrap();
    let header = text.iter().position(|byte| *byte == b'\n').unwrap();
    let all = Recording::read(&whole).unwrap();
    let cut = scratch.path().join("cut.mcprec");
    for length in header..text.len() {
        fs::write(&cut, &text[..length]).unwrap();
        let recording = Recording::read(&cut).unwrap();
        let lines = text[..length].iter().filter(|byte| **byte == b'\n').count();
        // The last line may be whole without its end.
        let count = recording.entries.len();
        assert!(
            count + 1 == lines || count == lines,
            "{count} of {lines} at {length}"
        );
        assert_eq!(recording.entries, all.entries[..count]);
    }
}

#[test]
fn a_compressed_recording_is_the_same_and_readable_when_cut() {
    let scratch = Scratch::new("gz").unwrap();
    let (plain, packed) = (
        scratch.path().join("a.mcprec"),
        scratch.path().join("a.mcprec.gz"),
    );
    small_recording(&plain);
    small_recording(&packed);
    assert!(fs::read(&packed).unwrap().starts_with(&[0x1f, 0x8b]));
    let bodies = |path: &Path| {
        let entries = Recording::read(path).unwrap().entries;
        entries
            .into_iter()
            .map(|entry| entry.body)
            .collect::<Vec<_>>()
    };
    assert_eq!(bodies(&plain), bodies(&packed));
    let bytes = fs::read(&packed).unwrap();
    fs::write(&packed, &bytes[..bytes.len() - 12]).unwrap();
    let recording = Recording::read(&packed).unwrap();
    assert!(recording.entries.len() <= 4);
}

#[test]
fn a_recording_is_continued_also_behind_one_that_was_cut() {
    let scratch = Scratch::new("continue").unwrap();
    for name in ["a.mcprec", "a.mcprec.gz"] {
        let path = scratch.path().join(name);
        for _ in 0..2 {
            let header = Header::new(Transport::Stdio, "server", Redaction::None);
            let policy = Policy::raw(Arc::new(Rules));
            let recorder =
                Recorder::create(&path, header, policy, Limits::default(), Existing::Continue);
            let recorder = recorder.unwrap();
            let line = Bytes::from_static(b"{}\n");
            recorder
                .tape()
                .bytes(1, Direction::C2s, Framing::Lines, line);
            recorder.finish();
        }
        let recording = Recording::read(&path).unwrap();
        let numbers: Vec<_> = recording
            .entries
            .iter()
            .map(|it| (it.seq, it.conn))
            .collect();
        assert_eq!(numbers, [(1, 1), (2, 2)], "{name}");
        assert_eq!(recording.footer.unwrap().frames, 2);
    }
    let cut = scratch.path().join("a.mcprec");
    let text = fs::read(&cut).unwrap();
    fs::write(&cut, &text[..text.len() - 9]).unwrap();
    let header = Header::new(Transport::Stdio, "server", Redaction::None);
    let recorder = Recorder::create(
        &cut,
        header,
        Policy::raw(Arc::new(Rules)),
        Limits::default(),
        Existing::Continue,
    );
    recorder.unwrap().finish();
    let recording = Recording::read(&cut).unwrap();
    assert_eq!(recording.completeness(), Completeness::Cut);
    assert_eq!(recording.entries.len(), 2);
}

#[test]
fn what_is_not_recorded_is_counted_in_the_file() {
    let scratch = Scratch::new("lost").unwrap();
    let path = scratch.path().join("s.mcprec");
    let limits = Limits {
        max_file: 10,
        ..Limits::default()
    };
    let recorder = recorder(&path, Policy::raw(Arc::new(Rules)), limits).unwrap();
    let tape = recorder.tape();
    let text = Bytes::from_static(b"12345\n12345\n1\n{}\n");
    tape.bytes(1, Direction::S2c, Framing::Lines, text);
    let summary = recorder.finish();
    assert_eq!((summary.lost.frames, summary.lost.bytes), (2, 3));
    let recording = Recording::read(&path).unwrap();
    assert_eq!(recording.footer.as_ref().unwrap().lost, summary.lost);
    let full =
        |it: &attache_record::Entry| matches!(&it.body, Body::State(word, _) if word == "full");
    assert_eq!(recording.entries.iter().filter(|it| full(it)).count(), 1);
}

#[test]
fn a_queue_that_is_full_loses_frames_and_never_time() {
    let scratch = Scratch::new("queue").unwrap();
    let path = scratch.path().join("s.mcprec");
    let limits = Limits {
        max_queue: 4096,
        ..Limits::default()
    };
    let recorder = recorder(&path, Policy::raw(Arc::new(Rules)), limits).unwrap();
    let tape = recorder.tape();
    let line = Bytes::from(format!("{}\n", "x".repeat(1000)));
    const SENT: u64 = 2000;
    for _ in 0..SENT {
        tape.bytes(1, Direction::S2c, Framing::Lines, line.clone());
    }
    let summary = recorder.finish();
    assert!(summary.lost.frames > 0, "{summary:?}");
    let recording = Recording::read(&path).unwrap();
    let kept = recording
        .entries
        .iter()
        .filter(|it| it.dir == Direction::S2c)
        .count() as u64;
    // Behind a gap the rest of a line may be skipped, which here is a whole one.
    let gaps = recording
        .entries
        .iter()
        .filter(|it| matches!(it.body, Body::Lost(_)))
        .count() as u64;
    assert!(kept + summary.lost.frames <= SENT && kept + summary.lost.frames + gaps >= SENT);
    assert_eq!(recording.footer.unwrap().lost, summary.lost);
}

#[cfg(unix)]
#[test]
fn s12_recordings_are_for_the_user_alone_and_replace_recordings_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new("file").unwrap();
    let path = scratch.path().join("s.mcprec");
    small_recording(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let first = raw(&path);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let policy = || Policy::raw(Arc::new(Rules));
    let second = recorder(&path, policy(), Limits::default());
    assert!(
        matches!(second, Err(RecordError::Busy { .. })),
        "{second:?}"
    );
    first.finish();
    let other = scratch.write("notes.txt", "keep me").unwrap();
    let refused = recorder(&other, policy(), Limits::default());
    assert!(
        matches!(refused, Err(RecordError::NotReplaced { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read_to_string(&other).unwrap(), "keep me");
    let nowhere = recorder(
        &scratch.path().join("no/where.mcprec"),
        policy(),
        Limits::default(),
    );
    assert!(
        matches!(nowhere, Err(RecordError::Open { .. })),
        "{nowhere:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_before_anything_starts() {
    let refused = recorder(
        Path::new("/dev/full"),
        Policy::raw(Arc::new(Rules)),
        Limits::default(),
    );
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("/dev/full"), "{error}");
}

#[test]
fn s12_redaction_is_marked_and_everything_else_stays() {
    let scratch = Scratch::new("redact").unwrap();
    let path = scratch.path().join("s.mcprec");
    let recorder = recorder(&path, Policy::secrets(Arc::new(Rules)), Limits::default()).unwrap();
    let tape = recorder.tape();
    let call = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"arguments\":{\"password\":\"0123456789\", \"n\":1.50}}}\n";
    tape.bytes(1, Direction::C2s, Framing::Lines, Bytes::from_static(call));
    tape.bytes(
        1,
        Direction::Stderr,
        Framing::Lines,
        Bytes::from_static(b"it is hunter2\n"),
    );
    let mut head = HttpHead::default();
    head.headers
        .insert("authorization".to_owned(), "Bearer x".to_owned());
    tape.http(2, head);
    recorder.finish();
    let text = fs::read_to_string(&path).unwrap();
    for secret in ["0123456789", "hunter2", "Bearer x"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(
        text.contains(r#""arguments":{"password":"[redacted string 9-16]", "n":1.50}"#),
        "{text}"
    );
    let recording = Recording::read(&path).unwrap();
    assert!(recording.is_redacted());
    assert_eq!(
        recording.entries[0].redacted,
        ["/params/arguments/password"]
    );
    assert_eq!(recording.footer.as_ref().unwrap().redacted, 3);
    assert!(Conversation::of(&recording).exchanges[0].is_redacted);
}

#[test]
fn a_recording_is_read_while_it_is_made_and_ends_with_its_recorder() {
    let folder = Scratch::new("follow").unwrap();
    let path = folder.path().join("s.mcprec");
    let recorder = raw(&path);
    let tape = recorder.tape();
    let say = |text: &'static [u8]| {
        tape.bytes(1, Direction::C2s, Framing::Lines, Bytes::from_static(text));
    };
    say(b"one\ntwo\n");
    let mut reader = Reader::follow(&path).unwrap();
    let mut next = || {
        let entry = reader.next_entry().unwrap();
        entry.map(|entry| entry.message().unwrap().to_owned())
    };
    assert_eq!(next().as_deref(), Some("one"));
    assert_eq!(next().as_deref(), Some("two"));
    // Nothing more is there yet, so this waits for what is said now.
    let speaker = std::thread::spawn(move || {
        let tape = recorder.tape();
        tape.bytes(
            1,
            Direction::C2s,
            Framing::Lines,
            Bytes::from_static(b"three\n"),
        );
        drop(recorder.finish());
    });
    assert_eq!(next().as_deref(), Some("three"));
    speaker.join().unwrap();
    assert_eq!(next(), None);
    // One that was cut has no recorder any more, and so an end.
    let text = fs::read_to_string(&path).unwrap();
    let cut = folder
        .write("cut.mcprec", &text[..text.len() - 40])
        .unwrap();
    let mut reader = Reader::follow(&cut).unwrap();
    let mut count = 0;
    while reader.next_entry().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 3);
    let compressed = Reader::follow(&folder.path().join("s.mcprec.gz"));
    assert!(matches!(compressed, Err(RecordError::NotFollowed { .. })));
}
