//! A console that other machines reach speaks TLS, and asks for its own name (S1).

use std::sync::Arc;

use attache::Host;
use attache_testkit::guard::{guarded, within};
use attache_testkit::scratch::Scratch;
use attache_web::{Exposure, Listeners, Server, Tls, TlsError, Token};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;

#[test]
fn s1_a_console_for_other_machines_speaks_tls_under_its_own_name() {
    guarded(async || {
        let folder = Scratch::new("web-tls").unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["box.example".to_owned()]).unwrap();
        let certificate = certificate.self_signed(&key).unwrap();
        let chain = folder.write("cert.pem", certificate.pem()).unwrap();
        let private = folder.write("key.pem", key.serialize_pem()).unwrap();
        for (one, other) in [(&private, &chain), (&chain, &folder.path().join("none"))] {
            let refused = Tls::from_files(one, other).unwrap_err();
            assert!(
                matches!(refused, TlsError::File { .. } | TlsError::Unfit(_)),
                "{refused}"
            );
        }

        let tls = Tls::from_files(&chain, &private).unwrap();
        let listeners = Listeners::loopback(0).await.unwrap();
        let address = listeners.addresses()[0];
        let token = Token::given("a-token-of-the-user").unwrap();
        let names = ["box.example".to_owned()];
        let server = Server::new(
            Host::builder().start(),
            token,
            listeners,
            Exposure::Tls(tls),
            &names,
        );
        let link = format!(
            "https://box.example:{}/#token=a-token-of-the-user",
            address.port()
        );
        assert_eq!(server.link(), link);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(async move {
            let _ = stopped.await;
        }));

        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        for (host, origin, status) in [
            ("box.example", "https://box.example", "200"),
            ("box.example", "http://box.example", "403"),
            ("evil.example", "https://box.example", "403"),
        ] {
            let stream = TcpStream::connect(address).await.unwrap();
            let name = ServerName::try_from("box.example").unwrap();
            let mut stream = connector.connect(name, stream).await.unwrap();
            let request = format!(
                "GET /api/v1/calls HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\
                 Authorization: Bearer a-token-of-the-user\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut head = [0; 12];
            within("an answer", stream.read_exact(&mut head))
                .await
                .unwrap();
            assert_eq!(&head[9..], status.as_bytes(), "{host} {origin}");
        }

        // Who does not speak TLS is told nothing.
        let mut plain = TcpStream::connect(address).await.unwrap();
        plain
            .write_all(b"GET / HTTP/1.1\r\nHost: box.example\r\n\r\n")
            .await
            .unwrap();
        let mut said = Vec::new();
        let _ = within("the end", plain.read_to_end(&mut said)).await;
        assert!(!said.starts_with(b"HTTP"), "{said:?}");
        stop.send(()).unwrap();
        within("the console to end", serving).await.unwrap();
    });
}
