//! The official Rust SDK's client, used the way its documentation shows.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, CallToolResult, JsonObject};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt};
use serde_json::Value;

use super::{AsyncConnection, ECHO, MESSAGE, expect};
use crate::Result;
use crate::control::ServerCommand;

/// The anchor of every ratio.
#[derive(Clone)]
pub(crate) struct Rmcp {
    service: Arc<RunningService<RoleClient, ()>>,
}

impl Rmcp {
    async fn call(
        &self,
        tool: &'static str,
        argument: &str,
        value: Value,
    ) -> Result<CallToolResult> {
        let arguments = JsonObject::from_iter([(argument.to_owned(), value)]);
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        Ok(self.service.call_tool(params).await?)
    }
}

impl AsyncConnection for Rmcp {
    async fn open(server: &ServerCommand) -> Result<Self> {
        if let Some(address) = server.address() {
            // Its HTTP library is built without a provider of TLS here and wants one, though the
            // address is a plain one. A second connection finds it installed.
            let _ = rustls::crypto::ring::default_provider().install_default();
            // Its own default keeps no connection open between requests, which makes it five times
            // slower than this; the comparison is with what it can do.
            let pooling = reqwest::Client::builder().tcp_nodelay(true).build()?;
            let config = StreamableHttpClientTransportConfig::with_uri(address);
            let transport = StreamableHttpClientTransport::with_client(pooling, config);
            let service = ().serve(transport).await?;
            return Ok(Self {
                service: Arc::new(service),
            });
        }
        let mut command = tokio::process::Command::new(&server.program);
        command.args(&server.arguments);
        let service = ().serve(TokioChildProcess::new(command)?).await?;
        Ok(Self {
            service: Arc::new(service),
        })
    }

    async fn echo(&self) -> Result<()> {
        let result = self.call("echo", "message", MESSAGE.into()).await?;
        expect(&text_of(&result), &ECHO)
    }

    async fn text(&self, bytes: usize) -> Result<()> {
        let result = self.call("text", "bytes", bytes.into()).await?;
        expect(&text_of(&result).len(), &bytes)
    }

    async fn list(&self, tools: usize) -> Result<()> {
        let listed = self.service.list_all_tools().await?;
        expect(&listed.len(), &tools)
    }

    async fn close(self) -> Result<()> {
        if let Some(service) = Arc::into_inner(self.service) {
            service.cancel().await?;
        }
        Ok(())
    }
}

fn text_of(result: &CallToolResult) -> &str {
    result
        .content
        .first()
        .and_then(|content| content.as_text())
        .map_or("", |text| text.text.as_str())
}
