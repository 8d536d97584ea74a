//! TLS for a console that other machines reach.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache::server::http::Handshake;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate and its key, ready to be used.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or has nothing of the kind.
    #[error("{} cannot be read as PEM: {problem}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The certificate and the key do not fit.
    #[error("the certificate cannot be used: {0}")]
    Unfit(#[from] rustls::Error),
}

impl Tls {
    /// Reads a chain of certificates and the key of the first, both in PEM.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let unreadable = |file: &Path, problem: &dyn fmt::Display| TlsError::File {
            file: file.to_path_buf(),
            problem: problem.to_string(),
        };
        let chain = CertificateDer::pem_file_iter(certificates)
            .map_err(|error| unreadable(certificates, &error))?
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unreadable(certificates, &error))?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, private)?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

impl Handshake for Tls {
    type Stream = TlsStream<TcpStream>;

    async fn shake(&self, stream: TcpStream) -> io::Result<Self::Stream> {
        self.0.accept(stream).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tls")
    }
}
