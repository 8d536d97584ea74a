//! Servers behind a URL: the same verbs, headers and tokens of the configuration, logins.

use std::net::SocketAddr;

use attache_host::config::{AuthConfig, HttpFlavor, Secret, ServerConfig, Source, Transport};
use attache_host::policy::Asker;
use attache_host::snapshot::ServerState;
use attache_host::{Accounts, Error, Host};
use attache_server::http::{self, HttpSettings};
use attache_server::{Server, Tool};
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
    let transport = Transport::Http {
        url: format!("http://{address}/mcp"),
        flavor: HttpFlavor::Detect,
        headers: Default::default(),
        ca_file: None,
        auth,
    };
    ServerConfig::new(name("far"), transport, Source::program())
}

fn host(server: ServerConfig) -> Host {
    let accounts = Accounts::in_memory();
    Host::builder(config([server])).accounts(accounts).start()
}

async fn echo(host: &Host) -> Result<String, Error> {
    let call = host.call("far/echo", json!({"message": "hello"}));
    Ok(within("echo", call.origin(Asker::Person)).await?.text())
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
