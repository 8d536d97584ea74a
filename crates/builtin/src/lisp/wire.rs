//! What goes through the pipes between the evaluator and a worker.
//!
//! Owns the messages and their framing: four bytes of length, least significant first, then that
//! much JSON. Each side knows the longest message it may get and gives up on a longer one.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::confinement::Confinement;
use super::limits::Limits;

/// The longest message in either direction. Source and output are escaped in JSON, which makes a
/// byte six at most.
pub(super) const MAX_MESSAGE: usize = 32 << 20;
/// The largest source or output that surely fits into a message.
pub(super) const MAX_TEXT: u64 = 2 << 20;

/// To the worker.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    Evaluate {
        code: String,
        limits: Limits,
        world: World,
    },
    /// Ends the evaluation that runs, if one does.
    Cancel,
}

/// In which definitions an evaluation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum World {
    /// In new ones that are dropped afterwards.
    Fresh,
    /// In those of this worker, which stay.
    Kept,
}

/// From the worker.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// What the operating system lets it do; said once, before it is ready.
    Confined(Confinement),
    /// It can take an order.
    Ready,
    /// Steps used so far.
    Progress(u64),
    Value {
        value: String,
        output: String,
        steps: u64,
        heap_peak: u64,
    },
    Failure {
        kind: String,
        message: String,
        position: Option<(u32, u32)>,
        output: String,
        world: WorkerState,
    },
}

/// What a failure did to the worker's definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum WorkerState {
    Intact,
    /// They were replaced by new ones.
    Lost,
}

/// The bytes of a message.
pub(super) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    announce(bytes)
}

/// Fills in the length of a message that follows four bytes of room for it.
fn announce(mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let length = bytes.len() - 4;
    if length > MAX_MESSAGE {
        return Err(too_long(length));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// The length that a message announces.
pub(super) fn length(announced: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(announced) as usize;
    if length > MAX_MESSAGE {
        return Err(too_long(length));
    }
    Ok(length)
}

fn too_long(length: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a message of {length} bytes is longer than {MAX_MESSAGE}"),
    )
}

/// Writes a message and does not return before it is on its way.
pub(super) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(message)?)?;
    to.flush()
}

/// Reads a message; nothing at the end of the stream.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut announced = [0; 4];
    match from.read_exact(&mut announced) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let mut bytes = vec![0; length(announced)?];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

#[cfg(test)]
mod tests {
    use super::{MAX_MESSAGE, Order, Report, WorkerState, World, announce, encode, length, read};
    use crate::lisp::Limits;

    #[test]
    fn messages_survive_the_way() {
        let order = Order::Evaluate {
            code: "(display \"ä\\n\u{1}\")".into(),
            limits: Limits::default(),
            world: World::Kept,
        };
        let mut bytes = encode(&order).unwrap();
        bytes.extend(encode(&Order::Cancel).unwrap());
        let mut stream = bytes.as_slice();
        assert_eq!(read(&mut stream).unwrap(), Some(order));
        assert_eq!(read(&mut stream).unwrap(), Some(Order::Cancel));
        assert_eq!(read::<Order>(&mut stream).unwrap(), None);
        let report = Report::Failure {
            kind: "type".into(),
            message: "m".into(),
            position: Some((1, 2)),
            output: "\u{1F600}".into(),
            world: WorkerState::Intact,
        };
        let bytes = encode(&report).unwrap();
        assert_eq!(read(&mut bytes.as_slice()).unwrap(), Some(report));
    }

    #[test]
    fn the_length_is_bounded() {
        let most = u32::try_from(MAX_MESSAGE).unwrap();
        assert_eq!(length(most.to_le_bytes()).unwrap(), MAX_MESSAGE);
        assert!(length((most + 1).to_le_bytes()).is_err());
        assert!(announce(vec![0; 4 + MAX_MESSAGE]).is_ok());
        assert!(announce(vec![0; 4 + MAX_MESSAGE + 1]).is_err());
        // A message that ends early is an error, not an end.
        assert!(read::<Order>(&mut [9, 0, 0, 0, b'{'].as_slice()).is_err());
    }
}
