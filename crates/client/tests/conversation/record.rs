//! What both sides of a connection said, and whether the client may say it.
//!
//! Owns a tap on the stream and the check against the official schemas. Refuses to know what a
//! conversation is about.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};

use attache_testkit::schema::Schemas;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

const MODERN: &str = "2026-07-28";
const VERSION_OF_REQUEST: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// Everything that was said, byte for byte.
#[derive(Clone, Default)]
pub(crate) struct Record {
    client: Arc<Mutex<Vec<u8>>>,
    server: Arc<Mutex<Vec<u8>>>,
}

impl Record {
    /// The messages of the client.
    pub(crate) fn client_messages(&self) -> Vec<Value> {
        messages(&self.client)
    }

    /// Checks what the client said against the schema of the revision it said it in. Does nothing
    /// where the schemas are not at hand.
    pub(crate) fn check_against_schema(&self) {
        self.check_messages(Schemas::check_client_message, &self.client, &self.server);
    }

    /// Checks the server's words too, for conversations that are meant as examples.
    pub(crate) fn check_both_sides(&self) {
        self.check_against_schema();
        self.check_messages(Schemas::check_server_message, &self.server, &self.client);
    }

    fn check_messages(&self, check: Check, speaker: &Mutex<Vec<u8>>, other: &Mutex<Vec<u8>>) {
        static SCHEMAS: OnceLock<Option<Schemas>> = OnceLock::new();
        let Some(schemas) = SCHEMAS.get_or_init(Schemas::from_env) else {
            return;
        };
        let asked: HashMap<String, String> = messages(other)
            .iter()
            .filter_map(|asked| {
                Some((
                    asked.get("id")?.to_string(),
                    asked["method"].as_str()?.to_owned(),
                ))
            })
            .collect();
        let from_server = messages(&self.server);
        let session = from_server
            .iter()
            .find_map(|message| message["result"]["protocolVersion"].as_str())
            .unwrap_or(MODERN);
        for message in messages(speaker) {
            let own = match message["method"].as_str() {
                Some("initialize") => message.pointer("/params/protocolVersion"),
                _ => message.pointer(VERSION_OF_REQUEST),
            };
            let revision = own.and_then(Value::as_str).unwrap_or(session);
            let answering = asked.get(&message["id"].to_string()).map(String::as_str);
            assert_eq!(check(schemas, revision, &message, answering), Ok(()));
        }
    }
}

/// One of the checks of the schemas: revision, message, and the method it answers.
type Check = fn(&Schemas, &str, &Value, Option<&str>) -> Result<(), String>;

fn lines(bytes: &Mutex<Vec<u8>>) -> Vec<String> {
    let bytes = bytes.lock().unwrap();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::to_owned).collect()
}

/// The messages among what was said, those of batches one by one. Servers in tests also say what is
/// no message; that is left out.
fn messages(bytes: &Mutex<Vec<u8>>) -> Vec<Value> {
    let parsed = lines(bytes);
    let parsed = parsed
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok());
    let single = parsed.map(|message| match message {
        Value::Array(batch) => batch,
        single => vec![single],
    });
    single.flatten().collect()
}

/// The server's end of a stream, recorded.
pub(crate) struct Tap {
    stream: DuplexStream,
    record: Record,
}

impl Tap {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        Self {
            stream,
            record: Record::default(),
        }
    }

    pub(crate) fn record(&self) -> Record {
        self.record.clone()
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        let read = &buffer.filled()[before..];
        this.record.client.lock().unwrap().extend_from_slice(read);
        polled
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(length)) = &polled {
            let written = &bytes[..*length];
            this.record
                .server
                .lock()
                .unwrap()
                .extend_from_slice(written);
        }
        polled
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
