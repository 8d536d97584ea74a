//! Standing between a client and a server without being noticed.
//!
//! Every byte is passed on before anything looks at it. For the recording a copy is put into a queue
//! that no call waits for; a recorder that cannot keep up loses frames, not time.

#[cfg(feature = "http")]
pub mod http;
pub mod stdio;

use bytes::Bytes;

use crate::cut::Framing;
use crate::format::Direction;
use crate::recorder::Tape;

/// One stream of one connection, as it is recorded.
#[derive(Clone, Debug)]
pub struct Lane {
    tape: Tape,
    conn: u32,
    dir: Direction,
    framing: Framing,
}

impl Lane {
    /// A stream.
    pub fn new(tape: Tape, conn: u32, dir: Direction, framing: Framing) -> Self {
        Self {
            tape,
            conn,
            dir,
            framing,
        }
    }

    /// These bytes went by.
    pub fn passed(&self, bytes: Bytes) {
        self.tape.bytes(self.conn, self.dir, self.framing, bytes);
    }

    /// The stream ended.
    pub fn ended(&self) {
        self.tape.end(self.conn, self.dir);
    }
}
