//! The code that opens the console once.
//!
//! A browser gets its address as an argument, which other users of the machine can see. So that
//! address holds no token but a code, which the page exchanges for the token: once, soon, and where
//! the system tells whose connection it is, only for the user who runs the console.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use parking_lot::Mutex;
use serde::Serialize;

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::token::{NoRandomness, Token};

/// How long a browser may take to start.
const GOOD_FOR: Duration = Duration::from_secs(120);

#[derive(Debug, Default)]
pub(crate) struct OpeningCode {
    issued: Mutex<Option<Issued>>,
}

#[derive(Debug)]
struct Issued {
    code: Token,
    /// The port of the console.
    port: u16,
    since: Instant,
}

impl OpeningCode {
    /// A new code, in place of an earlier one.
    pub(crate) fn issue(&self, port: u16) -> Result<Token, NoRandomness> {
        let code = Token::random()?;
        *self.issued.lock() = Some(Issued {
            code: code.clone(),
            port,
            since: Instant::now(),
        });
        Ok(code)
    }

    /// Whether this is the code, given by this port of the machine for the first time.
    pub(crate) fn redeem(&self, given: &str, peer: Option<u16>, now: Instant) -> bool {
        let mut issued = self.issued.lock();
        let Some(issued) = issued.take_if(|issued| issued.code.is(given)) else {
            return false;
        };
        let is_known = peer.is_none_or(|peer| !user::is_another(peer, issued.port));
        is_known && now.duration_since(issued.since) < GOOD_FOR
    }
}

#[derive(Serialize)]
struct TokenView<'a> {
    token: &'a str,
}

/// The token, for who was let in with a code.
pub(crate) async fn token(console: Arc<Console>, _: Asked) -> Result<Response, ApiError> {
    Ok(ok(&TokenView {
        token: console.token.as_str(),
    }))
}

#[cfg(target_os = "linux")]
mod user {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    /// Whether the connection from one port of this machine to another is of another user. Where
    /// the system does not say, it is not.
    pub(super) fn is_another(from: u16, to: u16) -> bool {
        let Ok(own) = fs::metadata("/proc/self") else {
            return false;
        };
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let tables = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
        let mut users = tables.iter().flat_map(|table| users(table, from, to));
        users.any(|user| user != own.uid())
    }

    /// Whose connections between these ports are, by a table of the kernel.
    pub(super) fn users(table: &str, from: u16, to: u16) -> impl Iterator<Item = u32> {
        let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
        table.lines().skip(1).filter_map(move |line| {
            let mut fields = line.split_whitespace().skip(1);
            let (local, remote) = (port(fields.next()?)?, port(fields.next()?)?);
            let user = fields.nth(4)?.parse().ok()?;
            (local == from && remote == to).then_some(user)
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod user {
    /// Other systems do not say.
    pub(super) fn is_another(_from: u16, _to: u16) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_a_code_opens_once_and_soon() {
        let opening = OpeningCode::default();
        let now = Instant::now();
        assert!(!opening.redeem("", None, now));
        let first = opening.issue(1).unwrap();
        let code = opening.issue(1).unwrap();
        assert!(!opening.redeem(first.as_str(), None, now), "replaced");
        assert!(!opening.redeem("wrong", None, now));
        assert!(opening.redeem(code.as_str(), None, Instant::now()));
        assert!(!opening.redeem(code.as_str(), None, now), "a second time");
        let late = opening.issue(1).unwrap();
        assert!(!opening.redeem(late.as_str(), None, Instant::now() + GOOD_FOR));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn s1_the_kernel_tells_whose_connection_it_is() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1\n   \
            1: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2 1\n   \
            2: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     7        0 3 1\n";
        let users = |from, to| user::users(table, from, to).collect::<Vec<_>>();
        assert_eq!(users(0xc001, 0x1f90), [1000]);
        assert!(users(0xc002, 0x1f90).is_empty());
        // A real one is this user's.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let stream = std::net::TcpStream::connect(to).unwrap();
        let from = stream.local_addr().unwrap().port();
        assert!(!user::is_another(from, to.port()));
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        assert_eq!(user::users(&table, from, to.port()).count(), 1, "{table}");
    }
}
