//! Which addresses authorization may touch (S5, S6, C-SEC-05, C-SEC-07).
//!
//! A server names the addresses of its authorization server, so they are as trustworthy as the
//! server. This module owns the decision what may be fetched or opened: schemes, and which part of
//! the network a host or an IP address belongs to. It resolves no names and opens nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// How far requests may go. It follows from the server's own address: a server out in the world has
/// no business with addresses of this machine or its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses, by https.
    Public,
    /// Also addresses of the private network, by https.
    Private,
    /// Also this machine, by http or https.
    Loopback,
}

impl Reach {
    /// What a server at this address may point to.
    pub fn of_server(server: &Url) -> Self {
        match zone_of_host(server) {
            Some(Zone::Loopback) => Self::Loopback,
            Some(Zone::Private) => Self::Private,
            _ => Self::Public,
        }
    }

    /// Whether this address may be fetched or shown to a browser, as far as its text says. A name
    /// must be checked again when it is resolved, with [`Reach::check_ip`].
    pub fn check(self, url: &Url) -> Result<(), UnsafeAddress> {
        let refuse = |problem| Err(UnsafeAddress::new(url, problem));
        if !url.username().is_empty() || url.password().is_some() {
            return refuse(AddressProblem::Credentials);
        }
        let zone = zone_of_host(url);
        match (url.scheme(), zone) {
            ("https", _) | ("http", Some(Zone::Loopback)) => {}
            _ => return refuse(AddressProblem::Scheme),
        }
        match zone {
            Some(zone) if !self.includes(zone) => refuse(AddressProblem::Zone(zone)),
            _ => Ok(()),
        }
    }

    /// Whether a resolved address may be connected to.
    pub fn check_ip(self, address: IpAddr) -> Result<(), Zone> {
        let zone = zone_of_ip(address);
        if self.includes(zone) {
            Ok(())
        } else {
            Err(zone)
        }
    }

    fn includes(self, zone: Zone) -> bool {
        match zone {
            Zone::Public => true,
            Zone::Private => self == Self::Private,
            Zone::Loopback => self == Self::Loopback,
            Zone::Special => false,
        }
    }
}

/// A part of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Routed in the world.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
    /// Link-local, multicast, documentation, transition and reserved ranges; cloud metadata
    /// services live here.
    Special,
}

/// An address that authorization refuses to touch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnsafeAddress {
    /// The address, without credentials and query.
    pub address: String,
    /// What is wrong with it.
    pub problem: AddressProblem,
}

/// Why an address is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressProblem {
    /// Neither https, nor http to this machine.
    Scheme,
    /// A user name or password in it.
    Credentials,
    /// A part of the network that this server may not point to.
    Zone(Zone),
}

impl UnsafeAddress {
    pub(crate) fn new(url: &Url, problem: AddressProblem) -> Self {
        Self {
            address: shown(url),
            problem,
        }
    }
}

impl fmt::Display for UnsafeAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} is not used for authorization: ",
            self.address
        )?;
        formatter.write_str(match self.problem {
            AddressProblem::Scheme => "it must begin with https (http only on this machine)",
            AddressProblem::Credentials => "it holds a user name or password",
            AddressProblem::Zone(Zone::Loopback) => "it is on this machine, but the server is not",
            AddressProblem::Zone(Zone::Private) => {
                "it is in the private network, but the server is not known to be"
            }
            AddressProblem::Zone(_) => "it is in a range reserved for special purposes",
        })
    }
}

/// An address as messages may show it: nothing that could be a secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Addresses that cannot have these parts have nothing to hide there.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// The zone, as far as the host's text tells it.
fn zone_of_host(url: &Url) -> Option<Zone> {
    match url.host()? {
        Host::Ipv4(address) => Some(zone_of_ip(IpAddr::V4(address))),
        Host::Ipv6(address) => Some(zone_of_ip(IpAddr::V6(address))),
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            (name == "localhost" || name.ends_with(".localhost")).then_some(Zone::Loopback)
        }
    }
}

fn zone_of_ip(address: IpAddr) -> Zone {
    match address {
        IpAddr::V4(address) => zone_of_ipv4(address),
        IpAddr::V6(address) => zone_of_ipv6(address),
    }
}

fn zone_of_ipv4(address: Ipv4Addr) -> Zone {
    match address.octets() {
        [127, ..] => Zone::Loopback,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => Zone::Private,
        [0, ..]
        | [169, 254, ..]
        | [192, 0, 0, _]
        | [192, 0, 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => Zone::Special,
        _ => Zone::Public,
    }
}

fn zone_of_ipv6(address: Ipv6Addr) -> Zone {
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        zone_of_ipv4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Zone::Loopback,
        // IPv4 in other clothes leads where the IPv4 address leads.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfc00..=0xfdff, ..] => Zone::Private,
        // Teredo, ORCHID and documentation lie inside the global range.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Zone::Special,
        [0x2000..=0x3fff, ..] => Zone::Public,
        _ => Zone::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_belong_to_zones() {
        let check = |text: &str, expected: Zone| {
            assert_eq!(zone_of_ip(text.parse().unwrap()), expected, "{text}");
        };
        for public in [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "169.253.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2002:101:101::",
            "::ffff:1.1.1.1",
        ] {
            check(public, Zone::Public);
        }
        for private in [
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:a00:1::",
        ] {
            check(private, Zone::Private);
        }
        for loopback in ["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"] {
            check(loopback, Zone::Loopback);
        }
        for special in [
            "0.0.0.0",
            "169.254.169.254",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "::ffff:169.254.169.254",
            "64:ff9b:1::1",
            "100::1",
            "64:ff9b::169.254.169.254",
        ] {
            check(special, Zone::Special);
        }
    }

    /// S5, S6, C-SEC-05.
    #[test]
    fn only_safe_addresses_pass() {
        let check = |reach: Reach, text: &str, expected: Result<(), AddressProblem>| {
            let url = Url::parse(text).unwrap();
            let found = reach.check(&url).map_err(|error| error.problem);
            assert_eq!(found, expected, "{reach:?} {text}");
        };
        let everywhere = [Reach::Public, Reach::Private, Reach::Loopback];
        for reach in everywhere {
            check(reach, "https://as.example.com/x", Ok(()));
            check(
                reach,
                "http://as.example.com/x",
                Err(AddressProblem::Scheme),
            );
            check(reach, "javascript:alert(1)", Err(AddressProblem::Scheme));
            check(reach, "data:text/html,x", Err(AddressProblem::Scheme));
            check(reach, "file:///etc/passwd", Err(AddressProblem::Scheme));
            check(
                reach,
                "https://u:p@as.example.com/",
                Err(AddressProblem::Credentials),
            );
            check(
                reach,
                "https://169.254.169.254/latest",
                Err(AddressProblem::Zone(Zone::Special)),
            );
            // The parser understands the other spellings of an IPv4 address.
            check(
                reach,
                "https://0xa9fea9fe/",
                Err(AddressProblem::Zone(Zone::Special)),
            );
            check(
                reach,
                "https://[::ffff:169.254.1.1]/",
                Err(AddressProblem::Zone(Zone::Special)),
            );
        }
        let local = Err(AddressProblem::Zone(Zone::Loopback));
        check(Reach::Public, "http://localhost:1/", local);
        check(Reach::Private, "https://127.1/", local);
        check(Reach::Loopback, "http://localhost:1/", Ok(()));
        check(Reach::Loopback, "http://a.localhost./", Ok(()));
        check(Reach::Loopback, "http://[::1]:1/", Ok(()));
        check(
            Reach::Public,
            "https://10.0.0.1/",
            Err(AddressProblem::Zone(Zone::Private)),
        );
        check(Reach::Private, "https://10.0.0.1/", Ok(()));
        check(
            Reach::Private,
            "http://10.0.0.1/",
            Err(AddressProblem::Scheme),
        );
        check(
            Reach::Loopback,
            "https://10.0.0.1/",
            Err(AddressProblem::Zone(Zone::Private)),
        );
    }

    #[test]
    fn the_server_decides_the_reach() {
        let check = |text: &str, expected: Reach| {
            assert_eq!(
                Reach::of_server(&Url::parse(text).unwrap()),
                expected,
                "{text}"
            );
        };
        check("https://mcp.example.com/mcp", Reach::Public);
        check("http://localhost:8000/mcp", Reach::Loopback);
        check("http://127.0.0.1:8000/mcp", Reach::Loopback);
        check("https://192.168.0.7/mcp", Reach::Private);
        check("https://169.254.169.254/mcp", Reach::Public);
    }

    #[test]
    fn messages_hide_what_may_be_secret() {
        let url = Url::parse("https://user:pass@a.b/c?code=1#d").unwrap();
        assert_eq!(shown(&url), "https://a.b/c");
    }
}
