//! What makes a TLS connection trustworthy: the platform's own roots, and those of a file.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::proxy::Route;

/// The TLS settings for the way to an address. One without TLS never needs them, as no redirect
/// leads there from it, so the platform's roots are not even read then.
pub fn settings(route: &Route, ca_file: Option<&Path>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Option<Arc<dyn ServerCertVerifier>> = if route.needs_tls() {
        Some(Arc::new(verifier(ca_file, provider.clone())?))
    } else {
        None
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let mut config = match verifier {
        Some(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth(),
        None => builder
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The platform decides which certificates are good; a file may add roots of its own, as private
/// networks have them.
fn verifier(ca_file: Option<&Path>, provider: Arc<CryptoProvider>) -> Result<Verifier, String> {
    let verifier = match ca_file {
        None => Verifier::new(provider),
        Some(path) => Verifier::new_with_extra_roots(certificates(path)?, provider),
    };
    verifier.map_err(|error| format!("the trusted certificates cannot be read: {error}"))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |problem: String| format!("the CA file {}: {problem}", path.display());
    let found =
        CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    let found: Result<Vec<_>, _> = found.collect();
    let found = found.map_err(|error| unreadable(error.to_string()))?;
    if found.is_empty() {
        return Err(unreadable("it holds no certificate in PEM form".to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(url: &str) -> Route {
        Route::direct(&url::Url::parse(url).unwrap())
    }

    #[test]
    fn a_ca_file_that_holds_none_is_named() {
        let route = route("https://127.0.0.1/");
        let missing = Path::new("/no/such/file.pem");
        let error = settings(&route, Some(missing)).unwrap_err();
        assert!(error.contains("/no/such/file.pem"), "{error}");
        let empty = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let error = settings(&route, Some(empty)).unwrap_err();
        assert!(error.contains("no certificate"), "{error}");
    }

    #[test]
    fn an_address_without_tls_reads_no_certificates() {
        let route = route("http://127.0.0.1/");
        assert!(settings(&route, Some(Path::new("/no/such/file.pem"))).is_ok());
    }
}
