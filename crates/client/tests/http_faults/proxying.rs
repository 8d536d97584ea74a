//! Proxies between client and server: tunnels for TLS, refusals, and proxies that are not there.

use attache_client::{Error, Proxy, Server, UnreachableKind};
use attache_testkit::http::{HttpScript, Tunnel, TunnelProxy};
use attache_testkit::tls::Offer;

use crate::tls::{Root, unreachable};
use crate::{echo, legacy, server};

const PLAIN: &str = "http://nowhere.invalid/mcp";
const SECURE: &str = "https://nowhere.invalid/mcp";

fn through(server: Server, proxy: &str) -> Server {
    server.proxy(Proxy::Address(proxy.to_owned()))
}

#[tokio::test]
async fn https_goes_through_a_tunnel_that_the_proxy_cannot_look_into() {
    let root = Root::new();
    let web = legacy().start().await.unwrap();
    let door = root.door(&web, Offer::Http2).await;
    let proxy = TunnelProxy::start(Tunnel::To(door.address()))
        .await
        .unwrap();
    let address = format!("http://me:s3cret@{}", proxy.address());
    let server = root.server(&door.url()).header("X-Key", "for the server");
    let client = through(server, &address).connect().await.unwrap();
    echo(&client).await.unwrap();
    let asked = proxy.asked();
    assert!(!asked.is_empty());
    for asked in asked {
        assert_eq!(asked.verb, "CONNECT");
        assert_eq!(asked.path, door.address().to_string());
        let credentials = asked.header("proxy-authorization");
        assert_eq!(credentials, Some("Basic bWU6czNjcmV0"));
        assert_eq!(asked.header("x-key"), None, "S8");
    }
    assert_eq!(door.chosen(), ["h2"]);
    for request in web.requests() {
        assert_eq!(request.header("proxy-authorization"), None, "S8");
        assert_eq!(request.header("x-key"), Some("for the server"));
    }
}

#[tokio::test]
async fn a_certificate_is_checked_through_a_tunnel_too() {
    let root = Root::new();
    let web = legacy().start().await.unwrap();
    let door = root.door(&web, Offer::Http1).await;
    let proxy = TunnelProxy::start(Tunnel::To(door.address()))
        .await
        .unwrap();
    let address = format!("http://{}", proxy.address());
    let found = unreachable(through(root.server(SECURE), &address)).await;
    assert_eq!(found.kind, UnreachableKind::OtherName, "{found}");
    assert_eq!(found.proxy.as_deref(), Some(&*address));
    let found = unreachable(through(server(door.url()), &address)).await;
    assert_eq!(found.kind, UnreachableKind::UnknownRoot, "{found}");
    assert!(found.to_string().contains(&address), "{found}");
    assert_eq!(web.connections(), 0);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    for (status, url, expected) in [
        (407, SECURE, UnreachableKind::ProxyCredentials),
        (407, PLAIN, UnreachableKind::ProxyCredentials),
        (502, SECURE, UnreachableKind::ProxyRefused),
        (403, SECURE, UnreachableKind::ProxyRefused),
    ] {
        let proxy = TunnelProxy::start(Tunnel::Refused(status)).await.unwrap();
        let address = format!("http://me:s3cret@{}", proxy.address());
        let found = unreachable(through(server(url), &address)).await;
        assert_eq!(found.kind, expected, "{status} {url}: {found}");
        let told = found.to_string();
        assert!(told.contains(&proxy.address().to_string()), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named_and_not_the_server() {
    let gone = HttpScript::nothing().start().await.unwrap().address();
    for url in [PLAIN, SECURE] {
        for proxy in [
            format!("http://me:s3cret@{gone}"),
            "http://no-such-proxy.invalid:3128".to_owned(),
        ] {
            let found = unreachable(through(server(url), &proxy)).await;
            assert_eq!(found.kind, UnreachableKind::ProxyUnreachable, "{found}");
            let told = found.to_string();
            assert!(told.contains("NO_PROXY"), "{told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_proxy_behind_tls_is_verified_though_the_server_is_plain() {
    let root = Root::new();
    let web = legacy().start().await.unwrap();
    let door = root.door(&web, Offer::Http1).await;
    let address = format!("https://{}", door.address());
    let client = through(root.server(PLAIN), &address).connect().await;
    echo(&client.unwrap()).await.unwrap();
    assert!(web.requests().iter().all(|it| it.path == PLAIN));

    let stranger = Root::new();
    let found = unreachable(through(stranger.server(PLAIN), &address)).await;
    assert_eq!(found.kind, UnreachableKind::ProxyUnreachable, "{found}");
    assert!(found.text.contains("certificate"), "{found}");
}

#[tokio::test]
async fn a_socks_proxy_is_refused_rather_than_spoken_to_in_http() {
    let refused = through(server(PLAIN), "socks5://127.0.0.1:1080");
    let error = refused.connect().await.unwrap_err();
    assert!(matches!(error, Error::Input(_)), "{error}");
    assert!(error.to_string().contains("SOCKS"), "{error}");
}
