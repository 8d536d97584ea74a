//! This client, in its manners: results as the server sent them, the same with
//! an observer of all messages, and results decoded into their types.

use attache::process::Guardianship;
use attache::protocol::{CallTool, ListTools};
use attache::{Client, Request, Server, json};

use super::{AsyncConnection, ECHO, MESSAGE, expect};
use crate::Result;
use crate::control::ServerCommand;

/// Results stay the bytes they were.
#[derive(Clone)]
pub(crate) struct AttacheRaw(Client);

/// Results are decoded into their types.
#[derive(Clone)]
pub(crate) struct AttacheTyped(Client);

/// Results stay the bytes they were, and every message is seen by an observer.
#[derive(Clone)]
pub(crate) struct AttacheObserved(AttacheRaw);

async fn connect(server: &ServerCommand) -> Result<Client> {
    if let Some(address) = server.address() {
        return Ok(Server::http(address).connect().await?);
    }
    // The guardian is this executable, named because under valgrind
    // /proc/self/exe would be valgrind.
    let guardian = Guardianship::Helper(std::env::current_exe()?);
    let server = Server::stdio(&server.program, &server.arguments).guardianship(guardian);
    Ok(server.connect().await?)
}

fn echo(client: &Client) -> Request<CallTool> {
    client.call("echo", json!({"message": MESSAGE}))
}

fn text(client: &Client, bytes: usize) -> Request<CallTool> {
    client.call("text", json!({"bytes": bytes}))
}

impl AsyncConnection for AttacheRaw {
    async fn open(server: &ServerCommand) -> Result<Self> {
        Ok(Self(connect(server).await?))
    }

    async fn echo(&self) -> Result<()> {
        let payload = echo(&self.0).raw().await?;
        let mut places = payload.as_bytes().windows(ECHO.len());
        expect(&places.any(|place| place == ECHO.as_bytes()), &true)
    }

    async fn text(&self, bytes: usize) -> Result<()> {
        let payload = text(&self.0, bytes).raw().await?;
        expect(&(payload.as_bytes().len() > bytes), &true)
    }

    async fn list(&self, tools: usize) -> Result<()> {
        let payload = self.0.page::<ListTools>(None).raw().await?;
        expect(&(payload.as_bytes().len() > tools), &true)
    }

    async fn close(self) -> Result<()> {
        self.0.close().await;
        Ok(())
    }
}

impl AsyncConnection for AttacheObserved {
    async fn open(server: &ServerCommand) -> Result<Self> {
        let client = AttacheRaw::open(server).await?;
        let mut frames = client.0.frames();
        tokio::spawn(async move { while frames.next().await.is_some() {} });
        Ok(Self(client))
    }

    async fn echo(&self) -> Result<()> {
        self.0.echo().await
    }

    async fn text(&self, bytes: usize) -> Result<()> {
        self.0.text(bytes).await
    }

    async fn list(&self, tools: usize) -> Result<()> {
        self.0.list(tools).await
    }

    async fn close(self) -> Result<()> {
        self.0.close().await
    }
}

impl AsyncConnection for AttacheTyped {
    async fn open(server: &ServerCommand) -> Result<Self> {
        Ok(Self(connect(server).await?))
    }

    async fn echo(&self) -> Result<()> {
        let result = echo(&self.0).await?;
        let text = result.content.first().and_then(|block| block.as_text());
        expect(&text, &Some(ECHO))
    }

    async fn text(&self, bytes: usize) -> Result<()> {
        let result = text(&self.0, bytes).await?;
        let text = result.content.first().and_then(|block| block.as_text());
        expect(&text.map(str::len), &Some(bytes))
    }

    async fn list(&self, tools: usize) -> Result<()> {
        let listed = self.0.list_tools().await?;
        expect(&listed.items.len(), &tools)
    }

    async fn close(self) -> Result<()> {
        self.0.close().await;
        Ok(())
    }
}
