//! What client and guardian say to each other over their socket.
//!
//! Owns the bytes: one launch with the server's three descriptors, then orders one
//! way and reports the other, all of fixed size. Refuses to know what is done about
//! them. Both sides are the same build, so there is no version; bytes that make no
//! sense are an error all the same.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, send, sendmsg,
};

use crate::resolve::{LAUNCH_LIMIT, Prepared};
use crate::{ExitReason, Ladder, Order};

/// Descriptors that travel with a launch: the server's 0, 1 and 2.
const STREAMS: usize = 3;

/// Length of the number in front of a launch and of every text in it.
const LENGTH_SIZE: usize = size_of::<u32>();

/// Most bytes of an encoded launch: the texts, and a length for each of them. The
/// kernel charges a pointer for every text, so a launch of mostly empty texts that
/// would fill this could not start either.
const ENCODED_LIMIT: usize = 2 * LAUNCH_LIMIT;

/// What the guardian tells the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The server runs under this id.
    Spawned(u32),
    /// The system refused to start the server with this error code.
    Refused(i32),
    /// The server process has ended.
    Exited(ExitReason),
}

pub(super) const REPORT_SIZE: usize = 5;
pub(super) const ORDER_SIZE: usize = 17;

/// The message that starts a server: the length first, to be sent together with
/// the descriptors, then everything else.
pub(super) struct EncodedLaunch {
    pub(super) length: [u8; LENGTH_SIZE],
    pub(super) body: Vec<u8>,
}

impl EncodedLaunch {
    /// Encodes a launch, or says that it is too large for any system.
    pub(super) fn new(launch: &Prepared) -> Option<Self> {
        let mut body = Vec::new();
        put_text(&mut body, launch.program.as_os_str());
        put_text(&mut body, &launch.name);
        put_length(&mut body, launch.args.len());
        for argument in &launch.args {
            put_text(&mut body, argument);
        }
        // No directory can have an empty name, so that stands for none.
        put_text(
            &mut body,
            launch
                .cwd
                .as_ref()
                .map_or(OsStr::new(""), |cwd| cwd.as_os_str()),
        );
        put_length(&mut body, launch.environment.len());
        for (name, value) in &launch.environment {
            put_text(&mut body, name);
            put_text(&mut body, value);
        }
        if body.len() > ENCODED_LIMIT {
            return None;
        }
        let length = u32::try_from(body.len()).ok()?.to_le_bytes();
        Some(Self { length, body })
    }
}

fn put_length(body: &mut Vec<u8>, length: usize) {
    // A length beyond the range makes the body too large as well, which is found out
    // before it is sent.
    body.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_text(body: &mut Vec<u8>, text: &OsStr) {
    put_length(body, text.len());
    body.extend_from_slice(text.as_bytes());
}

/// Sends the length of a launch with the server's descriptors. The socket is fresh,
/// so these few bytes always fit and nothing blocks.
pub(super) fn send_descriptors(
    socket: &UnixStream,
    launch: &EncodedLaunch,
    streams: &[OwnedFd; STREAMS],
) -> io::Result<()> {
    let descriptors = streams.each_ref().map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(STREAMS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(
        socket,
        &[IoSlice::new(&launch.length)],
        &mut ancillary,
        SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
    )?;
    if sent == launch.length.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::WriteZero.into())
    }
}

/// Receives what [`send_descriptors`] and the body after it carry.
pub(super) fn receive_launch(
    mut socket: &UnixStream,
) -> io::Result<(Prepared, [OwnedFd; STREAMS])> {
    let mut length = [0; LENGTH_SIZE];
    let streams = receive_descriptors(socket, &mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| nonsense())?;
    if length > ENCODED_LIMIT {
        return Err(nonsense());
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    let launch = decode_launch(&body).ok_or_else(nonsense)?;
    Ok((launch, streams))
}

fn receive_descriptors(
    socket: &UnixStream,
    length: &mut [u8; LENGTH_SIZE],
) -> io::Result<[OwnedFd; STREAMS]> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(STREAMS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(length)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let descriptors: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    match received.bytes {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        LENGTH_SIZE => descriptors.try_into().map_err(|_| nonsense()),
        _ => Err(nonsense()),
    }
}

fn decode_launch(body: &[u8]) -> Option<Prepared> {
    let mut rest = body;
    let program = take_text(&mut rest)?.into();
    let name = take_text(&mut rest)?;
    let args = (0..take_length(&mut rest)?)
        .map(|_| take_text(&mut rest))
        .collect::<Option<_>>()?;
    let cwd = take_text(&mut rest)?;
    let environment = (0..take_length(&mut rest)?)
        .map(|_| Some((take_text(&mut rest)?, take_text(&mut rest)?)))
        .collect::<Option<_>>()?;
    rest.is_empty().then_some(Prepared {
        program,
        name,
        args,
        cwd: (!cwd.is_empty()).then(|| cwd.into()),
        environment,
    })
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    let (length, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}

fn take_text(rest: &mut &[u8]) -> Option<OsString> {
    let length = take_length(rest)?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(OsString::from_vec(text.to_vec()))
}

/// Sends a report or an order; either is far smaller than the socket's buffer, so
/// it is sent whole or not at all, and never blocks.
pub(super) fn send_whole(socket: impl AsFd, message: &[u8]) -> io::Result<()> {
    let sent = send(socket, message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    if sent == message.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::WriteZero.into())
    }
}

impl Report {
    pub(super) fn encode(self) -> [u8; REPORT_SIZE] {
        let (tag, number) = match self {
            Self::Spawned(id) => (0, id.to_le_bytes()),
            Self::Refused(code) => (1, code.to_le_bytes()),
            Self::Exited(ExitReason::Code(code)) => (2, code.to_le_bytes()),
            Self::Exited(ExitReason::Signal(signal)) => (3, signal.to_le_bytes()),
            Self::Exited(ExitReason::Unknown) => (4, [0; 4]),
        };
        let [a, b, c, d] = number;
        [tag, a, b, c, d]
    }

    pub(super) fn decode([tag, number @ ..]: [u8; REPORT_SIZE]) -> io::Result<Self> {
        match tag {
            0 => Ok(Self::Spawned(u32::from_le_bytes(number))),
            1 => Ok(Self::Refused(i32::from_le_bytes(number))),
            2 => Ok(Self::Exited(ExitReason::Code(i32::from_le_bytes(number)))),
            3 => Ok(Self::Exited(ExitReason::Signal(i32::from_le_bytes(number)))),
            4 => Ok(Self::Exited(ExitReason::Unknown)),
            _ => Err(nonsense()),
        }
    }
}

impl Order {
    pub(super) fn encode(self) -> [u8; ORDER_SIZE] {
        let (tag, ladder) = match self {
            Self::Close(ladder) => (0, ladder),
            Self::Kill => (
                1,
                Ladder {
                    grace: Duration::ZERO,
                    term: Duration::ZERO,
                },
            ),
        };
        let mut bytes = [tag; ORDER_SIZE];
        bytes[1..9].copy_from_slice(&milliseconds(ladder.grace));
        bytes[9..].copy_from_slice(&milliseconds(ladder.term));
        bytes
    }

    pub(super) fn decode(bytes: [u8; ORDER_SIZE]) -> io::Result<Self> {
        let [tag, waits @ ..] = bytes;
        let wait = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&waits[at..at + 8]);
            Duration::from_millis(u64::from_le_bytes(number))
        };
        match tag {
            0 => Ok(Self::Close(Ladder {
                grace: wait(0),
                term: wait(8),
            })),
            1 => Ok(Self::Kill),
            _ => Err(nonsense()),
        }
    }
}

fn milliseconds(wait: Duration) -> [u8; 8] {
    u64::try_from(wait.as_millis())
        .unwrap_or(u64::MAX)
        .to_le_bytes()
}

fn nonsense() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn launch() -> Prepared {
        Prepared {
            program: "/bin/server".into(),
            name: "server".into(),
            args: vec![
                OsString::from_vec(vec![0xff, 0xfe, b'\n']),
                OsString::new(),
                "x".repeat(300_000).into(),
            ],
            cwd: Some("/srv".into()),
            environment: vec![("NAME".into(), OsString::from_vec(vec![0x80]))],
        }
    }

    fn streams() -> [OwnedFd; STREAMS] {
        let open = || std::fs::File::open("/dev/null").unwrap().into();
        [open(), open(), open()]
    }

    #[test]
    fn a_launch_larger_than_the_socket_buffer_arrives_whole_with_its_descriptors() {
        for cwd in [None, Some("/srv".into())] {
            let sent = Prepared { cwd, ..launch() };
            let (ours, theirs) = UnixStream::pair().unwrap();
            let receiver = std::thread::spawn(move || receive_launch(&theirs).unwrap().0);
            let encoded = EncodedLaunch::new(&sent).unwrap();
            send_descriptors(&ours, &encoded, &streams()).unwrap();
            (&ours).write_all(&encoded.body).unwrap();
            assert_eq!(receiver.join().unwrap(), sent);
        }
    }

    #[test]
    fn a_launch_cut_anywhere_is_an_error() {
        let whole = EncodedLaunch::new(&Prepared {
            args: vec!["a".into()],
            ..launch()
        })
        .unwrap();
        for cut in 0..whole.body.len() {
            assert_eq!(decode_launch(&whole.body[..cut]), None, "cut at {cut}");
        }
        assert!(decode_launch(&whole.body).is_some());
        let mut longer = whole.body.clone();
        longer.push(0);
        assert_eq!(decode_launch(&longer), None);
    }

    #[test]
    fn a_launch_at_the_limit_is_encoded_and_one_beyond_is_not() {
        let mut launch = launch();
        launch.args = vec![OsString::new()];
        let overhead = EncodedLaunch::new(&launch).unwrap().body.len();
        launch.args = vec!["x".repeat(ENCODED_LIMIT - overhead).into()];
        let encoded = EncodedLaunch::new(&launch).unwrap();
        assert_eq!(encoded.body.len(), ENCODED_LIMIT);
        assert_eq!(decode_launch(&encoded.body), Some(launch.clone()));
        launch.args[0].push("x");
        assert!(EncodedLaunch::new(&launch).is_none());
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_anything_is_reserved() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let lie = EncodedLaunch {
            length: u32::MAX.to_le_bytes(),
            body: Vec::new(),
        };
        send_descriptors(&ours, &lie, &streams()).unwrap();
        let refused = receive_launch(&theirs).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_launch_without_descriptors_is_refused() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (&ours).write_all(&[0; LENGTH_SIZE]).unwrap();
        let refused = receive_launch(&theirs).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn reports_and_orders_survive_the_wire() {
        for report in [
            Report::Spawned(u32::MAX),
            Report::Refused(-7),
            Report::Exited(ExitReason::Code(255)),
            Report::Exited(ExitReason::Signal(9)),
            Report::Exited(ExitReason::Unknown),
        ] {
            assert_eq!(Report::decode(report.encode()).unwrap(), report);
        }
        for order in [
            Order::Kill,
            Order::Close(Ladder {
                grace: Duration::from_millis(1),
                term: Duration::from_secs(3_600),
            }),
        ] {
            assert_eq!(Order::decode(order.encode()).unwrap(), order);
        }
        assert!(Report::decode([9; REPORT_SIZE]).is_err());
        assert!(Order::decode([9; ORDER_SIZE]).is_err());
    }
}
