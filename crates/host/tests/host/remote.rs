//! Servers behind a URL: the same verbs, headers and tokens of the configuration, logins.

use std::net::SocketAddr;
use std::time::Duration;

use attache_host::client::protocol::SubscriptionFilter;
use attache_host::config::{AuthConfig, HttpFlavor, Secret, ServerConfig, Source};
use attache_host::policy::CallOrigin;
use attache_host::snapshot::ServerState;
use attache_host::{Accounts, Error, Host, Watched, client};
use attache_server::http::{self, HttpSettings};
use attache_server::{Server, Tool};
use attache_testkit::http::{Answer, HttpScript, HttpServer, On};
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::{config, guarded, name, within};

/// A server on a port of its own, for as long as the runtime of the test lasts.
async fn serve(settings: HttpSettings) -> SocketAddr {
    let echo = Tool::raw(
        "echo",
        "Says it again.",
        json!({"type": "object", "properties": {"message": {"type": "string"}}}).into(),
        |_, arguments| async move {
            let arguments = arguments.to_value().unwrap_or_default();
            Ok(arguments["message"]
                .as_str()
                .unwrap_or("nothing")
                .to_owned())
        },
    );
    let server = Server::builder("remote", "1").tool(echo).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let running = http::serve(listener, server, settings, std::future::pending());
    tokio::spawn(async move { running.await.unwrap() });
    address
}

fn remote(address: SocketAddr, auth: AuthConfig) -> ServerConfig {
    let url = format!("http://{address}/mcp");
    at(url, HttpFlavor::Detect, auth)
}

fn at(url: String, flavor: HttpFlavor, auth: AuthConfig) -> ServerConfig {
    let server = client::Server::http(url).http_flavor(flavor);
    ServerConfig {
        auth,
        ..ServerConfig::new(name("far"), server, Source::program())
    }
}

/// A host whose only server is a scripted one.
fn host_of(web: &HttpServer, flavor: HttpFlavor) -> Host {
    host(at(web.url(), flavor, AuthConfig::default()))
}

fn host(server: ServerConfig) -> Host {
    let accounts = Accounts::in_memory();
    Host::builder()
        .config(config([server]))
        .accounts(accounts)
        .start()
}

async fn echo(host: &Host) -> Result<String, Error> {
    let call = host.call("far/echo", json!({"message": "hello"}));
    Ok(within("echo", call.origin(CallOrigin::Person))
        .await?
        .text())
}

#[test]
fn a_url_is_all_it_takes() {
    guarded(async || {
        let host = host(remote(
            serve(HttpSettings::default()).await,
            AuthConfig::default(),
        ));
        assert_eq!(echo(&host).await.unwrap(), "hello");
        let tools = within("tools", host.list_tools()).await;
        assert_eq!(tools.unwrap().entries.len(), 1);
        assert_eq!(host.snapshot().servers[0].state, ServerState::Ready);
        host.close().await;
    });
}

#[test]
fn a_ready_token_goes_on_every_request() {
    guarded(async || {
        let settings = HttpSettings::default().bearer_token("let me in");
        let address = serve(settings).await;
        let auth = AuthConfig {
            token: Some(Secret::new("let me in")),
            ..AuthConfig::default()
        };
        let host = host(remote(address, auth));
        assert_eq!(echo(&host).await.unwrap(), "hello");
        host.close().await;
    });
}

/// The address belongs to no machine; if anything were sent there, this would take its time.
#[test]
fn s12_a_token_does_not_cross_the_network_in_plain() {
    guarded(async || {
        let auth = AuthConfig {
            token: Some(Secret::new("let me in")),
            ..AuthConfig::default()
        };
        let url = "http://192.0.2.1:9/mcp".to_owned();
        let host = host(at(url, HttpFlavor::Detect, auth));
        let error = echo(&host).await.unwrap_err().to_string();
        assert!(error.contains("allow_plain_http = true"), "{error}");
        assert!(!error.contains("let me in"), "{error}");
        host.close().await;
    });
}

/// Nobody can log in here: the server is parked at once, and says that it wants a login.
#[test]
fn a_server_that_wants_a_login_is_parked_without_trying_again() {
    guarded(async || {
        let settings = HttpSettings::default().bearer_token("let me in");
        let host = host(remote(serve(settings).await, AuthConfig::default()));
        let error = echo(&host).await.unwrap_err();
        assert!(matches!(error, Error::Parked { .. }), "{error:?}");
        assert!(error.to_string().contains("requires a login"), "{error}");
        host.close().await;
    });
}

#[test]
fn the_configured_transport_is_the_one_that_is_spoken() {
    guarded(async || {
        for (flavor, expected) in [
            (HttpFlavor::Detect, &["POST", "GET"][..]),
            (HttpFlavor::Streamable, &["POST"]),
            (HttpFlavor::Sse, &["GET"]),
        ] {
            let web = HttpScript::nothing().start().await.unwrap();
            let host = host_of(&web, flavor);
            echo(&host).await.unwrap_err();
            let mut verbs: Vec<_> = web.requests().into_iter().map(|it| it.verb).collect();
            // Every attempt is like the first one.
            verbs.dedup();
            verbs.truncate(expected.len());
            assert_eq!(verbs, expected, "{flavor:?}");
            assert_eq!(
                web.requests_by("GET").is_empty(),
                flavor == HttpFlavor::Streamable
            );
            host.close().await;
        }
    });
}

/// However often it is wanted, and whatever it is taken for.
#[test]
fn promise_9_an_address_that_closes_at_once_sees_few_connections() {
    guarded(async || {
        let older = Answer::events().raw("event: endpoint\ndata: /messages\n\n");
        let short_lived = HttpScript::nothing().on(On::verb("GET"), older);
        for (script, flavor) in [
            (
                HttpScript::nothing().on(On::any(), Answer::close()),
                HttpFlavor::Detect,
            ),
            (
                HttpScript::nothing().on(On::any(), Answer::reset()),
                HttpFlavor::Detect,
            ),
            (
                HttpScript::nothing().on(On::any(), Answer::close()),
                HttpFlavor::Sse,
            ),
            (short_lived.clone(), HttpFlavor::Detect),
            (short_lived, HttpFlavor::Sse),
        ] {
            let described = format!("{script:?}");
            let web = script.start().await.unwrap();
            let host = host_of(&web, flavor);
            for _ in 0..20 {
                echo(&host).await.unwrap_err();
            }
            assert_eq!(host.snapshot().servers[0].state, ServerState::Parked);
            assert!(
                web.connections() <= 10,
                "{}: {described} {flavor:?}",
                web.connections()
            );
            host.close().await;
        }
    });
}

/// A subscription that the server itself ends is not lost, so nothing below the host paces it. A
/// minute passes at once: with nothing to do but to wait, a paused clock goes on by itself.
#[tokio::test(start_paused = true)]
async fn promise_9_a_subscription_that_is_ended_at_once_is_renewed_ever_more_slowly() {
    let acknowledged = json!({
        "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "notifications": {"toolsListChanged": true},
            "_meta": {"io.modelcontextprotocol/subscriptionId": "$id"},
        },
    });
    let end = json!({"jsonrpc": "2.0", "id": "$id", "result": {"resultType": "complete"}});
    let ended = Answer::events().message(&acknowledged).message(&end);
    let listen = || On::rpc("subscriptions/listen");
    for (others, then) in [
        (ended.clone(), "ended"),
        (Answer::close(), "closed"),
        (Answer::status(503), "failed"),
    ] {
        let script = HttpScript::modern()
            .on(listen(), others)
            .on(listen().nth(1), ended.clone());
        let web = script.start().await.unwrap();
        let host = host_of(&web, HttpFlavor::Detect);
        let wanted = SubscriptionFilter {
            tools_list_changed: true,
            ..SubscriptionFilter::default()
        };
        let mut watch = host.watch_all("far", wanted).await.unwrap();
        let told = async {
            while let Some(told) = watch.next().await {
                assert!(matches!(told, Watched::Resubscribed), "{then}: {told:?}");
            }
            panic!("{then}: the watch ended");
        };
        let _ = tokio::time::timeout(Duration::from_secs(60), told).await;
        let count = web.count_of("subscriptions/listen");
        assert!((6..=10).contains(&count), "{then}: {count}");
        host.close().await;
    }
}
