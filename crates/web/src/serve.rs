//! Listening: on both families of this machine's own addresses, or where the user says.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use attache::Host;
use attache::server::http::{HttpSettings, Plain, serve_router};
use axum::Router;
use tokio::net::TcpListener;

use crate::console::{Console, settings};
use crate::guard::{Names, Scheme};
use crate::routes::router;
use crate::tls::Tls;
use crate::token::{NoRandomness, Token};

/// How often a free port of one family is tried in the other.
const PORT_ATTEMPTS: usize = 16;

/// Where a console listens.
#[derive(Debug)]
pub struct Listeners {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

/// Who can reach a console, and how that is kept private.
#[derive(Clone, Debug, Default)]
pub enum Exposure {
    /// This machine only.
    #[default]
    Loopback,
    /// Other machines, over TLS.
    Tls(Tls),
    /// Other machines, over TLS that a proxy before it takes off.
    ProxyTerminatesTls,
}

/// A console that can be served.
#[derive(Debug)]
pub struct Server {
    console: Arc<Console>,
    listeners: Listeners,
    exposure: Exposure,
    settings: HttpSettings,
    /// The name by which browsers ask for it, if the user gave one.
    name: Option<String>,
}

impl Listeners {
    /// Listens at both families of loopback, on one port: browsers take either for `localhost`.
    /// Port 0 is any that is free in both.
    pub async fn loopback(port: u16) -> io::Result<Self> {
        let mut last = None;
        for _ in 0..PORT_ATTEMPTS {
            let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
            let bound = first.local_addr()?;
            match TcpListener::bind((Ipv6Addr::LOCALHOST, bound.port())).await {
                Ok(second) => return Self::of(vec![first, second]),
                // Another program has the port there; another port may be free.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && port == 0 => {
                    last = Some(error);
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                // This machine has one family only.
                Err(_) => return Self::of(vec![first]),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    /// Listens at one address.
    pub async fn at(address: SocketAddr) -> io::Result<Self> {
        Self::of(vec![TcpListener::bind(address).await?])
    }

    fn of(listeners: Vec<TcpListener>) -> io::Result<Self> {
        let addresses = listeners.iter().map(TcpListener::local_addr);
        Ok(Self {
            addresses: addresses.collect::<io::Result<_>>()?,
            listeners,
        })
    }

    /// The addresses.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Whether other machines can reach any of them.
    pub fn are_remote(&self) -> bool {
        self.addresses.iter().any(|it| !it.ip().is_loopback())
    }
}

impl Server {
    /// A console of a host. `names` are names besides its addresses by which browsers ask for it.
    ///
    /// The host should [keep](crate::KEPT_EVENTS) events, so that pages can go on where they were.
    pub fn new(
        host: Host,
        token: Token,
        listeners: Listeners,
        exposure: Exposure,
        names: &[String],
    ) -> Self {
        let scheme = match exposure {
            Exposure::Loopback => Scheme::Http,
            Exposure::Tls(_) | Exposure::ProxyTerminatesTls => Scheme::Https,
        };
        let settings = settings();
        let name = names.first().cloned();
        let names = Names::new(listeners.addresses(), names, scheme);
        Self {
            console: Console::new(host, token, names, settings.clone()),
            listeners,
            exposure,
            settings,
            name,
        }
    }

    /// How long bodies and heads of requests may take, how many connections there are: for tests,
    /// which cannot wait for long.
    #[doc(hidden)]
    #[must_use]
    pub fn impatient(mut self, header: std::time::Duration, body: std::time::Duration) -> Self {
        self.settings.header_timeout = header;
        self.settings.body_timeout = body;
        if let Some(console) = Arc::get_mut(&mut self.console) {
            console.settings = self.settings.clone();
        }
        self
    }

    /// The link that opens the page, with the token in its fragment, which browsers do not send.
    pub fn link(&self) -> String {
        format!("{}/#token={}", self.place(), self.console.token.as_str())
    }

    /// A link that opens the page once, for a command line that others can see.
    pub fn opening_link(&self) -> Result<String, NoRandomness> {
        let address = self.listeners.addresses.first();
        let code = self
            .console
            .opening
            .issue(address.map_or(0, SocketAddr::port))?;
        Ok(format!("{}/#code={}", self.place(), code.as_str()))
    }

    fn place(&self) -> String {
        let address = self.listeners.addresses.first();
        let address = address.copied().unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let name = self.name.as_deref().unwrap_or(&ip);
        let port = address.port();
        match self.exposure {
            Exposure::Loopback => format!("http://{name}:{port}"),
            Exposure::Tls(_) => format!("https://{name}:{port}"),
            // Which port the proxy has is not known here; mostly it is the usual one.
            Exposure::ProxyTerminatesTls => format!("https://{name}"),
        }
    }

    /// Serves until `shutdown` ends; streams end with it, and other requests are let end.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let router = router(self.console.clone());
        let closing = self.console.closing.subscribe();
        let listeners = self.listeners.listeners.into_iter();
        let serving = listeners.map(|listener| {
            let (router, settings) = (router.clone(), self.settings.clone());
            let (exposure, mut closing) = (self.exposure.clone(), closing.clone());
            tokio::spawn(async move {
                let closed = async move {
                    let _ = closing.wait_for(|is_closing| *is_closing).await;
                };
                at(listener, router, &settings, exposure, closed).await;
            })
        });
        let serving: Vec<_> = serving.collect();
        shutdown.await;
        self.console.closing.send_replace(true);
        for one in serving {
            // One that failed serves no more, which is what is waited for.
            let _ = one.await;
        }
    }
}

async fn at(
    listener: TcpListener,
    router: Router,
    settings: &HttpSettings,
    exposure: Exposure,
    closed: impl Future<Output = ()>,
) {
    match exposure {
        Exposure::Loopback | Exposure::ProxyTerminatesTls => {
            serve_router(listener, router, settings, Plain, closed).await;
        }
        Exposure::Tls(tls) => serve_router(listener, router, settings, tls, closed).await,
    }
}
