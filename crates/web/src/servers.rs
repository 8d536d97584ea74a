//! Servers: how they are, and what a person can do with one. None can be added here, and none of
//! this names a command or a path (S2).

use std::sync::Arc;

use attache::host::call_log::Action;
use attache::host::snapshot::ServerSnapshot;
use attache::protocol::{Json, LogLevel, Prompt, Resource, ResourceTemplate, Tool};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::known_server;

/// A body that says nothing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Empty {}

/// A server as it is.
#[derive(Debug, Serialize)]
struct ServerView {
    #[serde(flatten)]
    server: ServerSnapshot,
    enabled: bool,
    log_level: Option<LogLevel>,
}

#[derive(Serialize)]
struct AllServers {
    servers: Vec<ServerView>,
}

pub(crate) async fn list(console: Arc<Console>, _: Asked) -> Result<Response, ApiError> {
    let servers = console.host.snapshot().servers.into_iter();
    Ok(ok(&AllServers {
        servers: servers.map(|server| view(&console, server)).collect(),
    }))
}

pub(crate) async fn show(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    one(&console, asked.part("server"))
}

pub(crate) async fn start(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = told(&console, &asked, "start")?;
    console.host.ready_in_turn(&server).await?;
    one(&console, &server)
}

pub(crate) async fn stop(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = told(&console, &asked, "stop")?;
    console.host.stop(&server).await?;
    one(&console, &server)
}

pub(crate) async fn restart(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = told(&console, &asked, "restart")?;
    console.host.restart(&server).await?;
    console.host.ready_in_turn(&server).await?;
    one(&console, &server)
}

pub(crate) async fn enable(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = told(&console, &asked, "enable")?;
    console.host.set_enabled(&server, true).await?;
    one(&console, &server)
}

pub(crate) async fn disable(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = told(&console, &asked, "disable")?;
    console.host.set_enabled(&server, false).await?;
    one(&console, &server)
}

/// Asks the server for all its lists again.
pub(crate) async fn refresh(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = told(&console, &asked, "refresh")?;
    let host = &console.host;
    host.refresh(&server)?;
    host.ready_in_turn(&server).await?;
    let lists = tokio::join!(
        host.list::<Tool>().server(server.as_str()),
        host.list::<Resource>().server(server.as_str()),
        host.list::<ResourceTemplate>().server(server.as_str()),
        host.list::<Prompt>().server(server.as_str()),
    );
    lists.0?;
    lists.1?;
    lists.2?;
    lists.3?;
    one(&console, &server)
}

/// How much a server shall log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetLogLevel {
    /// The least serious level that it sends.
    #[schemars(with = "String")]
    level: LogLevel,
}

#[derive(Serialize)]
struct LevelView {
    level: LogLevel,
}

pub(crate) async fn log_level(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = known_server(&console, asked.part("server"))?;
    let SetLogLevel { level } = asked.body()?;
    note(
        &console,
        server.as_str(),
        &format!("log level {}", level.as_str()),
    );
    console.host.set_log_level(server.as_str(), level).await?;
    Ok(ok(&LevelView { level }))
}

/// The server that a verb is about, once it is noted who told it.
fn told(console: &Console, asked: &Asked, verb: &str) -> Result<String, ApiError> {
    let Empty {} = asked.body()?;
    let server = known_server(console, asked.part("server"))?;
    note(console, server.as_str(), verb);
    Ok(server.as_str().to_owned())
}

fn note(console: &Console, server: &str, verb: &str) {
    let nothing = Json::parse("{}").unwrap_or_default();
    console
        .host
        .note_action(Action::Switch, Some(server), verb, nothing);
}

fn one(console: &Console, name: &str) -> Result<Response, ApiError> {
    let server = known_server(console, name)?;
    let mut servers = console.host.snapshot().servers.into_iter();
    match servers.find(|it| it.name == server) {
        Some(found) => Ok(ok(&view(console, found))),
        None => Err(ApiError::not_found("the server was just removed")),
    }
}

fn view(console: &Console, server: ServerSnapshot) -> ServerView {
    let name = server.name.as_str();
    let config = console.host.config(name);
    ServerView {
        enabled: config.is_ok_and(|config| config.enabled),
        log_level: console.host.log_level(name).ok().flatten(),
        server,
    }
}
