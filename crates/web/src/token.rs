//! The token of one launch, and how often a peer may be wrong about it.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};

/// How many wrong tokens of one peer are answered as such within [`WINDOW`].
const MOST_WRONG: u32 = 5;
const WINDOW: Duration = Duration::from_secs(1);
/// How many peers are counted at once.
const MOST_PEERS: usize = 1024;

/// What lets a page or a program in. It is shown once, in the link, and never written down.
#[derive(Clone)]
pub struct Token(String);

/// There is no randomness to make a token of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes to make a token of")]
pub struct NoRandomness;

/// A token is too short to be safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token needs at least {} characters, of those that a header may hold",
    Token::LEAST
)]
pub struct WeakToken;

impl Token {
    /// The least length of a token that the user brings.
    pub const LEAST: usize = 16;

    /// A new one, of 256 random bits.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0_u8; 32];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| NoRandomness)?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// One that the user brings.
    pub fn given(text: &str) -> Result<Self, WeakToken> {
        // It travels in a header and in the fragment of a link.
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-._~".contains(&it);
        match text.len() >= Self::LEAST && text.bytes().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(WeakToken),
        }
    }

    /// The text, for the link.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether that is it. Digests of equal length are compared, so that the time tells nothing
    /// about the token.
    pub(crate) fn is(&self, given: &str) -> bool {
        let digest = |text: &str| digest::digest(&digest::SHA256, text.as_bytes());
        let (own, given) = (digest(&self.0), digest(given));
        let pairs = own.as_ref().iter().zip(given.as_ref());
        pairs.fold(0, |all, (one, other)| all | (one ^ other)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(***)")
    }
}

/// Counts wrong tokens by peer. The right one is always let in: a page that guesses must not lock
/// out the user on the same machine.
#[derive(Debug, Default)]
pub(crate) struct WrongTokens {
    peers: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl WrongTokens {
    /// Notes a wrong token; false if there were too many of that peer just now.
    pub(crate) fn note(&self, peer: IpAddr, now: Instant) -> bool {
        let mut peers = self.peers.lock();
        if peers.len() >= MOST_PEERS {
            peers.retain(|_, (since, _)| now.duration_since(*since) < WINDOW);
        }
        if peers.len() >= MOST_PEERS && !peers.contains_key(&peer) {
            return false;
        }
        let (since, count) = peers.entry(peer).or_insert((now, 0));
        if now.duration_since(*since) >= WINDOW {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= MOST_WRONG
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn s1_a_token_has_256_random_bits_and_does_not_show() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.as_str().len(), 64);
        assert_ne!(one.as_str(), other.as_str());
        assert_eq!(format!("{one:?}"), "Token(***)");
        assert!(one.is(one.as_str()));
        for wrong in [
            "",
            other.as_str(),
            &one.as_str()[1..],
            &one.as_str().to_uppercase(),
        ] {
            assert!(!one.is(wrong) || wrong == one.as_str(), "{wrong}");
        }
    }

    #[test]
    fn a_given_token_is_long_and_fits_into_a_link() {
        assert!(Token::given("0123456789abcdef").is_ok());
        for weak in [
            "",
            "0123456789abcde",
            "0123456789abcdef#",
            "0123456789 abcdef",
        ] {
            assert!(Token::given(weak).is_err(), "{weak}");
        }
    }

    #[test]
    fn s1_five_wrong_tokens_per_second_and_peer() {
        let wrong = WrongTokens::default();
        let (one, other) = ([127, 0, 0, 1], [127, 0, 0, 2]);
        let peer = |bytes: [u8; 4]| IpAddr::V4(Ipv4Addr::from(bytes));
        let now = Instant::now();
        let answers: Vec<bool> = (0..7).map(|_| wrong.note(peer(one), now)).collect();
        assert_eq!(answers, [true, true, true, true, true, false, false]);
        assert!(wrong.note(peer(other), now));
        assert!(wrong.note(peer(one), now + WINDOW));
    }

    #[test]
    fn s1_the_count_of_wrong_tokens_is_bounded() {
        let wrong = WrongTokens::default();
        let now = Instant::now();
        let peer = |number: usize| IpAddr::V4(Ipv4Addr::from(u32::try_from(number).unwrap()));
        for number in 0..MOST_PEERS {
            assert!(wrong.note(peer(number), now));
        }
        assert!(!wrong.note(peer(MOST_PEERS), now));
        assert!(wrong.note(peer(MOST_PEERS), now + WINDOW));
        assert_eq!(wrong.peers.lock().len(), 1);
    }
}
