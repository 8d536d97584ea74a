//! Newline-delimited framing over any chunking of the byte stream (X-STDIO-01).
//!
//! Owns the read buffer and its growth. Gives the same lines however the bytes were cut
//! (faults 21, 22), in linear time (fault 23).

use bytes::{Bytes, BytesMut};

/// The longest line accepted unless settings say otherwise (P4).
pub const DEFAULT_MAX_FRAME: usize = 16 * 1024 * 1024;

/// A connection that talks little needs no more than this to read.
const SMALLEST_READ: usize = 4 * 1024;
/// A connection that fills its buffer reads up to this much at once.
const LARGEST_READ: usize = 256 * 1024;
/// A line from this length on is a long one.
const LONG_LINE: usize = 64 * 1024;
/// So many small reads in a row make a connection count as quiet again.
const QUIET_AFTER: u32 = 32;

/// The byte order mark that some servers put before a message, or before each (fault 20).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What may surround a line of the greatest length: the mark and a carriage return.
const NOT_COUNTED: usize = BYTE_ORDER_MARK.len() + 1;

/// Cuts a byte stream into lines of bounded length.
#[derive(Debug)]
pub struct LineFramer {
    buffer: BytesMut,
    /// How much of `buffer` is known to hold no newline.
    searched: usize,
    max_frame: usize,
    read_size: usize,
    /// How long the last long line was: the next one may well be as long.
    long_line: usize,
    /// How many reads in a row would have fitted the smallest buffer.
    small_reads: u32,
    /// The buffer has outgrown the needs of a quiet connection.
    grown: bool,
}

/// A line grew past the limit before its newline came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message is longer than the limit of {limit} bytes")]
pub struct FrameTooLong {
    /// The limit in bytes.
    pub limit: usize,
}

impl LineFramer {
    /// A framer that refuses lines of more than `max_frame` bytes.
    pub fn new(max_frame: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            max_frame,
            read_size: SMALLEST_READ,
            long_line: 0,
            small_reads: 0,
            grown: false,
        }
    }

    /// The buffer to append what was read, with room for one read.
    pub fn buffer_for_read(&mut self) -> &mut BytesMut {
        if self.grown && self.buffer.is_empty() && self.read_size == SMALLEST_READ {
            // Lines that were handed out keep the old buffer alive as long as they need it.
            self.buffer = BytesMut::new();
            self.grown = false;
        }
        // A long line doubles the buffer, so that its bytes are moved a bounded number of times.
        let mut wanted = self.read_size.max(self.buffer.len().min(self.max_frame));
        if self.buffer.len() >= LONG_LINE {
            wanted = wanted.max(self.long_line.saturating_sub(self.buffer.len()));
        }
        let spare = self.buffer.capacity() - self.buffer.len();
        if spare < self.read_size {
            self.buffer.reserve(wanted);
            self.grown |= wanted > SMALLEST_READ;
        }
        &mut self.buffer
    }

    /// Tells how much the last read brought, to fit the next one to the traffic.
    pub fn note_read(&mut self, length: usize) {
        self.small_reads = if length < SMALLEST_READ {
            self.small_reads + 1
        } else {
            0
        };
        if length >= self.read_size {
            self.read_size = (self.read_size * 4).min(LARGEST_READ);
        } else if self.small_reads >= QUIET_AFTER {
            self.small_reads = 0;
            self.read_size = SMALLEST_READ;
        }
    }

    /// Appends bytes that are already in memory.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line, without its line ending; blank lines and byte order marks are skipped
    /// (fault 20).
    pub fn next_line(&mut self) -> Result<Option<Bytes>, FrameTooLong> {
        let too_long = FrameTooLong {
            limit: self.max_frame,
        };
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                return if self.buffer.len() > self.max_frame + NOT_COUNTED {
                    Err(too_long)
                } else {
                    Ok(None)
                };
            };
            let end = self.searched + found;
            if end >= LONG_LINE {
                self.long_line = end.min(self.max_frame);
            }
            self.searched = 0;
            let mut line = self.buffer.split_to(end + 1);
            line.truncate(end);
            if line.last() == Some(&b'\r') {
                line.truncate(end - 1);
            }
            if line.starts_with(BYTE_ORDER_MARK) {
                let _ = line.split_to(BYTE_ORDER_MARK.len());
            }
            if line.len() > self.max_frame {
                return Err(too_long);
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line.freeze()));
            }
        }
    }

    /// How many bytes of an unfinished line are held.
    pub fn unfinished(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]], max_frame: usize) -> Result<Vec<Bytes>, FrameTooLong> {
        let mut framer = LineFramer::new(max_frame);
        let mut lines = Vec::new();
        for chunk in chunks {
            framer.push(chunk);
            while let Some(line) = framer.next_line()? {
                lines.push(line);
            }
        }
        Ok(lines)
    }

    #[test]
    fn fault_21_any_chunking_gives_the_same_lines() {
        let stream = "{\"a\":\"ä€😀\"}\n\n{\"b\":2}\r\n  \n{\"c\":3}\n".as_bytes();
        let expected: Vec<&[u8]> = vec!["{\"a\":\"ä€😀\"}".as_bytes(), b"{\"b\":2}", b"{\"c\":3}"];
        for size in 1..=stream.len() {
            let chunks: Vec<&[u8]> = stream.chunks(size).collect();
            assert_eq!(lines(&chunks, 64).unwrap(), expected, "chunks of {size}");
        }
    }

    #[test]
    fn fault_20_byte_order_mark_crlf_and_blank_lines_are_tolerated() {
        let stream: &[u8] = b"\xef\xbb\xbf{}\r\n\r\n\n[]\n\xef\xbb\xbf7\n\xef\xbb\xbf\n";
        assert_eq!(lines(&[stream], 64).unwrap(), [&b"{}"[..], b"[]", b"7"]);
    }

    #[test]
    fn fault_22_a_line_at_the_limit_and_its_neighbour_are_both_delivered() {
        assert_eq!(lines(&[b"12345678\n1\n"], 8).unwrap().len(), 2);
        assert_eq!(lines(&[b"12345678\r\n1\n"], 8).unwrap().len(), 2);
        assert_eq!(lines(&[b"123456789\n"], 8), Err(FrameTooLong { limit: 8 }));
        let marked: [&[u8]; 2] = [b"\xef\xbb\xbf12345678\r", b"\n1\n"];
        assert_eq!(lines(&marked, 8).unwrap().len(), 2);
    }

    #[test]
    fn fault_23_an_endless_line_is_refused_at_the_limit() {
        let mut framer = LineFramer::new(1_000);
        for _ in 0..100 {
            framer.push(&[b'x'; 10]);
            assert_eq!(framer.next_line(), Ok(None));
        }
        framer.push(b"xxxxx");
        assert_eq!(framer.next_line(), Err(FrameTooLong { limit: 1_000 }));
    }

    #[test]
    fn the_buffer_grows_with_the_traffic_and_shrinks_after_it() {
        let mut framer = LineFramer::new(DEFAULT_MAX_FRAME);
        for _ in 0..10 {
            let room = framer.buffer_for_read().capacity();
            framer.push(&vec![b' '; room.saturating_sub(1)]);
            framer.push(b"\n");
            framer.note_read(room);
            assert_eq!(framer.next_line(), Ok(None));
        }
        assert_eq!(framer.read_size, LARGEST_READ);
        for _ in 0..QUIET_AFTER {
            framer.buffer_for_read();
            framer.push(b"{}\n");
            framer.note_read(3);
            assert!(framer.next_line().unwrap().is_some());
        }
        assert!(framer.buffer_for_read().capacity() <= 4 * SMALLEST_READ);
    }

    #[test]
    fn fault_25_an_unfinished_line_is_counted_not_delivered() {
        let mut framer = LineFramer::new(64);
        framer.push(b"{}\n{\"half\":");
        assert!(framer.next_line().unwrap().is_some());
        assert_eq!(framer.next_line(), Ok(None));
        assert_eq!(framer.unfinished(), 8);
    }
}
