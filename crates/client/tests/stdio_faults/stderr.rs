//! What a server writes to stderr: drained always, kept as a bounded tail.

use attache_client::Stderr;
use attache_client::protocol::{Ending, Revision};
use attache_testkit::chaos::{Action, Emit, When};

use crate::support::{BOTH_ERAS, Peer, each, eventually, script, unknown_because};

/// The bytes of stderr that are kept (P4).
const TAIL: usize = 64 * 1024;
/// The longest line that is kept in one piece.
const LONGEST_LINE: usize = 8 * 1024;

/// The size of the tail with the line ends.
fn tail_size(stderr: &Stderr) -> usize {
    stderr.tail().iter().map(|line| line.len() + 1).sum()
}

/// Ten megabytes in lines of a hundred bytes with their line ends.
fn ten_megabytes() -> Action {
    Emit::line("x".repeat(99)).times(100_000).on_stderr().into()
}

async fn assert_drained(stderr: &Stderr) {
    let read = || stderr.dropped_bytes() + tail_size(stderr) as u64;
    eventually(read, |read| *read == 10_000_000).await;
    assert!(tail_size(stderr) <= TAIL, "{}", tail_size(stderr));
    assert!(tail_size(stderr) > TAIL - 100, "{}", tail_size(stderr));
    assert!(stderr.tail().iter().all(|line| *line == "x".repeat(99)));
}

// C-STDIO-04, C-STDIO-05.
#[test]
fn fault_16_ten_megabytes_of_stderr_before_the_answer_do_not_block_it() {
    each(BOTH_ERAS, async |revision| {
        let script =
            script(revision).on(When::tool("noisy"), [ten_megabytes(), Action::text("done")]);
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("noisy").await.unwrap(), "done");
        assert_drained(peer.client.stderr()).await;
        peer.finish().await;
    });
}

#[test]
fn fault_16_ten_megabytes_of_stderr_before_the_handshake_do_not_block_it() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision).on(When::start(), [ten_megabytes()]);
        let peer = Peer::start(revision, &script).await;
        peer.echoes().await;
        assert_drained(peer.client.stderr()).await;
        peer.finish().await;
    });
}

/// What the tail holds after a server has muttered `bytes`, `times` over.
async fn tail_after(revision: Revision, bytes: &[u8], times: u64) -> Vec<String> {
    let mutter = Emit::bytes(bytes).times(times).on_stderr();
    let script = script(revision).on(
        When::tool("mutter"),
        [
            mutter.into(),
            Action::stderr_line("\nend"),
            Action::text("done"),
        ],
    );
    let peer = Peer::start(revision, &script).await;
    assert_eq!(peer.text("mutter").await.unwrap(), "done");
    let stderr = peer.client.stderr();
    let last = || stderr.tail_lines(1);
    eventually(last, |last| *last == ["end"]).await;
    assert!(tail_size(stderr) <= TAIL, "{}", tail_size(stderr));
    let mut tail = stderr.tail();
    tail.pop();
    peer.finish().await;
    tail
}

#[test]
fn fault_17_stderr_without_line_ends_is_cut_into_bounded_lines() {
    each(BOTH_ERAS, async |revision| {
        let lengths = async |bytes: u64| {
            let tail = tail_after(revision, b"x", bytes).await;
            tail.iter().map(String::len).collect::<Vec<_>>()
        };
        assert_eq!(lengths(20_000).await, [LONGEST_LINE, LONGEST_LINE, 3616]);
        let flood = lengths(10_000_000).await;
        assert!(flood.iter().all(|length| *length <= LONGEST_LINE));
        assert!(flood.iter().sum::<usize>() > TAIL - 2 * LONGEST_LINE);
    });
}

#[test]
fn fault_17_a_last_line_without_its_end_is_kept() {
    each(BOTH_ERAS, async |revision| {
        let mutter = Emit::text("whole\nhalf").on_stderr();
        let script = script(revision).on(When::tool("die"), [mutter.into(), Action::exit(0)]);
        let peer = Peer::start(revision, &script).await;
        unknown_because(peer.text("die").await);
        let tail = || peer.client.stderr().tail();
        eventually(tail, |tail| *tail == ["whole", "half"]).await;
        peer.finish().await;
    });
}

#[test]
fn fault_17_binary_and_escape_sequences_are_kept_as_text() {
    each(BOTH_ERAS, async |revision| {
        let binary: Vec<u8> = (0..=u8::MAX).collect();
        let tail = tail_after(revision, &binary, 2000).await;
        assert!(tail.iter().any(|line| line.contains('\u{fffd}')));
        // A terminal never sees these: the text is for whoever escapes it first.
        let tail = tail_after(revision, b"\x1b[31mred\x1b[0m\xff\x07", 1).await;
        assert_eq!(tail, ["\u{1b}[31mred\u{1b}[0m\u{fffd}\u{7}"]);
    });
}

#[test]
fn p4_the_stderr_tail_holds_64_kib_and_not_a_byte_more() {
    each(BOTH_ERAS, async |revision| {
        let full = Emit::line("f".repeat(63)).times(1024).on_stderr();
        let script = script(revision)
            .on(When::tool("fill"), [full.into(), Action::text("full")])
            .on(
                When::tool("overflow"),
                [Action::stderr_line("o"), Action::text("over")],
            );
        let peer = Peer::start(revision, &script).await;
        let stderr = peer.client.stderr();
        let kept = || (stderr.tail().len(), stderr.dropped_bytes());
        peer.text("fill").await.unwrap();
        eventually(kept, |kept| *kept == (1024, 0)).await;
        assert_eq!(tail_size(stderr), TAIL);
        peer.text("overflow").await.unwrap();
        eventually(kept, |kept| *kept == (1024, 64)).await;
        assert_eq!(stderr.tail_lines(1), ["o"]);
        assert_eq!(peer.ended(Ending::OutcomeUnknown), 0);
        peer.finish().await;
    });
}
