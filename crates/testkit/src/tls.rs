//! Servers behind TLS: a private root, certificates good and bad, and a door that speaks TLS.
//!
//! The door stands before any plain HTTP/1.1 server, so that whatever is scripted there is heard
//! over TLS too, in HTTP/1.1 or HTTP/2. Knows nothing of MCP.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A root that nobody trusts who is not told to.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// When a certificate is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Now.
    Now,
    /// No longer.
    Over,
    /// Not yet.
    NotYet,
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    /// A new root.
    pub fn new() -> io::Result<Self> {
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        root.distinguished_name
            .push(DnType::CommonName, "A root for tests");
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let pem = root.self_signed(&key).map_err(io::Error::other)?.pem();
        Ok(Self {
            issuer: Issuer::new(root, key),
            pem,
        })
    }

    /// The root's own certificate, as a file for `ca_file` holds it.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for a name or an address.
    pub fn identity(&self, name: &str, validity: Validity) -> io::Result<Identity> {
        let mut leaf = CertificateParams::new([name.to_owned()]).map_err(io::Error::other)?;
        (leaf.not_before, leaf.not_after) = match validity {
            Validity::Now => (date_time_ymd(2001, 1, 1), date_time_ymd(2100, 1, 1)),
            Validity::Over => (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1)),
            Validity::NotYet => (date_time_ymd(2099, 1, 1), date_time_ymd(2100, 1, 1)),
        };
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let signed = leaf
            .signed_by(&key, &self.issuer)
            .map_err(io::Error::other)?;
        Ok(Identity {
            certificate: signed.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        })
    }
}

/// Which HTTP a door offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 first.
    Http2,
}

/// A running door. It closes when it is dropped.
#[derive(Debug)]
pub struct TlsDoor {
    address: SocketAddr,
    chosen: Arc<Mutex<Vec<String>>>,
    listening: JoinHandle<()>,
}

impl TlsDoor {
    /// Opens a door to a plain server on a free port of the loopback interface.
    pub async fn open(upstream: SocketAddr, identity: Identity, offer: Offer) -> io::Result<Self> {
        let acceptor = acceptor(identity, offer)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let chosen = Arc::<Mutex<Vec<String>>>::default();
        let noted = chosen.clone();
        let listening = tokio::spawn(async move {
            // Dropping the set ends the connections with the listener.
            let mut passing = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, noted) = (acceptor.clone(), noted.clone());
                // A client that does not like the certificate goes away.
                passing.spawn(async move { drop(pass(stream, &acceptor, upstream, &noted).await) });
                while passing.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            chosen,
            listening,
        })
    }

    /// Where an MCP server behind it is.
    pub fn url(&self) -> String {
        format!("https://{}/mcp", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The protocol that was agreed on, for each connection that got as far as that.
    pub fn chosen(&self) -> Vec<String> {
        let chosen = self.chosen.lock();
        chosen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TlsDoor {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn acceptor(identity: Identity, offer: Offer) -> io::Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate], identity.key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = match offer {
        Offer::Http1 => vec![b"http/1.1".to_vec()],
        Offer::Http2 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn pass(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    upstream: SocketAddr,
    noted: &Mutex<Vec<String>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = acceptor.accept(stream).await?;
    let chosen = stream.get_ref().1.alpn_protocol().unwrap_or_default();
    let chosen = String::from_utf8_lossy(chosen).into_owned();
    noted
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(chosen.clone());
    if chosen == "h2" {
        return speak_http2(stream, upstream).await;
    }
    let mut server = TcpStream::connect(upstream).await?;
    tokio::io::copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

/// Each request goes to the plain server on a connection of its own, and its answer comes back as
/// it arrives.
async fn speak_http2(stream: TlsStream<TcpStream>, upstream: SocketAddr) -> io::Result<()> {
    let service = service_fn(move |request| forward(request, upstream));
    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}

async fn forward(
    request: Request<Incoming>,
    upstream: SocketAddr,
) -> io::Result<Response<Incoming>> {
    let stream = TokioIo::new(TcpStream::connect(upstream).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream)
        .await
        .map_err(io::Error::other)?;
    // It ends with the answer, or when the client gives that up.
    tokio::spawn(connection);
    let (mut head, body) = request.into_parts();
    let authority = head
        .uri
        .authority()
        .map_or("", |authority| authority.as_str());
    let host = HeaderValue::from_str(authority).map_err(io::Error::other)?;
    head.headers.insert(HOST, host);
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse::<Uri>().map_err(io::Error::other)?;
    head.version = Version::HTTP_11;
    let answer = sender.send_request(Request::from_parts(head, body)).await;
    answer.map_err(io::Error::other)
}
