//! Recordings that others wrote, and streams that pass a tap.

use std::io::Cursor;

use attache_record::fuzzing::pieces;
use attache_record::mock::{Mock, Settings};
use attache_record::{
    Conversation, Framing, Normaliser, Reader, Recording, Thresholds, answer_differences, diff,
};

/// Any file is read or refused with its line; what is read can be shown, compared and served.
pub fn recording(bytes: &[u8]) {
    let read = Reader::new(Cursor::new(bytes.to_vec())).and_then(Recording::collect);
    let recording = match read {
        Ok(recording) => recording,
        Err(error) => {
            assert!(error.to_string().starts_with("line "), "{error}");
            return;
        }
    };
    let mut last = 0;
    for entry in &recording.entries {
        assert!(entry.seq >= last, "{} after {last}", entry.seq);
        last = entry.seq;
    }
    let conversation = Conversation::of(&recording);
    let normaliser = Normaliser::ignoring(&["/content/*/text".to_owned()]);
    for exchange in &conversation.exchanges {
        let _ = (exchange.what(), exchange.ending(), exchange.duration_us());
        if let Some(answer) = &exchange.answer {
            let changed = answer_differences(exchange, &answer.outcome, &normaliser);
            assert!(changed.is_empty(), "{changed:?}");
        }
    }
    let same = diff(&conversation, &conversation, &normaliser, Thresholds::default());
    assert!(same.is_empty(), "{same:?}");
    let mock = Mock::new(conversation, Settings::default(), Box::new(|_| {}));
    let _ = mock.revisions();
}

/// Any chunking gives the same pieces, and lines can be put together again. The first byte chooses
/// the size of the chunks.
pub fn tap(bytes: &[u8]) {
    let Some((&size, stream)) = bytes.split_first() else {
        return;
    };
    let size = usize::from(size).max(1);
    for framing in [Framing::Lines, Framing::Events, Framing::Whole] {
        let at_once = pieces(framing, [stream]);
        assert_eq!(at_once, pieces(framing, stream.chunks(size)), "{framing:?}");
    }
    let mut again = Vec::new();
    for (content, length, _, is_unended) in pieces(Framing::Lines, [stream]) {
        assert_eq!(content.len() as u64, length);
        again.extend_from_slice(&content);
        if !is_unended {
            again.push(b'\n');
        }
    }
    assert_eq!(again, stream);
}
