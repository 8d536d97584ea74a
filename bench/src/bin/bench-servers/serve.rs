//! The servers: one tool, `echo`, with one argument of text, in each kit's own idiom.

use std::io::Write as _;
use std::sync::Arc;

use attache_server::http::HttpSettings;
use attache_server::schemars;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServiceExt as _};
use serde::Deserialize;
use tokio::net::TcpListener;

use crate::Result;

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What is said back.
    message: String,
}

pub(crate) fn run(kit: &str, face: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match (kit, face) {
            ("attache", "stdio") => {
                attache()?.serve_stdio().await?;
                Ok(())
            }
            ("attache", "http") => {
                let listener = listen().await?;
                let settings = HttpSettings::default();
                let forever = std::future::pending();
                Ok(attache_server::http::serve(listener, attache()?, settings, forever).await?)
            }
            ("rmcp", "stdio") => {
                // The faster of the two ways rmcp has.
                let running = Rmcp.serve(rmcp::transport::io::stdio_pipes()).await?;
                running.waiting().await?;
                Ok(())
            }
            ("rmcp", "http") => {
                let listener = listen().await?;
                // Plain JSON answers where that is possible, as ours are.
                let config = StreamableHttpServerConfig::default()
                    .with_json_response(true)
                    .with_legacy_session_mode(false);
                let sessions = Arc::new(LocalSessionManager::default());
                let service = StreamableHttpService::new(|| Ok(Rmcp), sessions, config);
                let router = axum::Router::new().nest_service("/mcp", service);
                let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
                    let _ = stream.set_nodelay(true);
                });
                Ok(axum::serve(listener, router).await?)
            }
            _ => Err(format!("there is no server {kit} {face}").into()),
        }
    })
}

async fn listen() -> Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    Ok(listener)
}

fn attache() -> Result<attache_server::Server> {
    let echo = attache_server::Tool::new("echo", "Says it back.", |_, it: Echo| async move {
        Ok(it.message)
    });
    Ok(attache_server::Server::builder("bench", "1.0.0")
        .tool(echo)
        .build()?)
}

#[derive(Clone)]
struct Rmcp;

impl ServerHandler for Rmcp {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![echo_tool()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let arguments = serde_json::Value::Object(request.arguments.unwrap_or_default());
        let echo: Echo = serde_json::from_value(arguments)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(echo.message)]).into())
    }
}

fn echo_tool() -> Tool {
    let schema = serde_json::to_value(schemars::schema_for!(Echo)).unwrap_or_default();
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new("echo", "Says it back.", Arc::new(schema))
}
