//! Fetches lists whenever they are wanted, and tells how tools stand to what was approved.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use attache::host::catalog::{Aggregate, ListKind, Listable};
use attache::host::config::ServerName;
use attache::host::policy::PinState;
use attache::protocol::Tool;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::backend::Backend;
use crate::mailbox::Mailbox;
use crate::message::{Listed, Message, PinWord};
use crate::panes::catalog::Row as _;
use crate::panes::rows::ToolRow;

/// Fetches a list whenever it is wanted; what is wanted meanwhile is one fetch more.
pub(super) async fn list(kind: ListKind, backend: Backend, mailbox: Mailbox, wanted: Arc<Notify>) {
    loop {
        wanted.notified().await;
        match kind {
            ListKind::Tools => list_tools(&backend, &mailbox).await,
            ListKind::Resources => {
                let wrap = |whole| Listed::Resources(Box::new(whole));
                fetch(kind, &backend, &mailbox, wrap).await;
            }
            ListKind::Templates => {
                let wrap = |whole| Listed::Templates(Box::new(whole));
                fetch(kind, &backend, &mailbox, wrap).await;
            }
            ListKind::Prompts => {
                let wrap = |whole| Listed::Prompts(Box::new(whole));
                fetch(kind, &backend, &mailbox, wrap).await;
            }
        }
    }
}

/// Tells of the tools, and then how each stands to what was approved.
async fn list_tools(backend: &Backend, mailbox: &Mailbox) {
    let tools: Arc<Mutex<BTreeMap<String, Vec<Arc<Tool>>>>> = Arc::default();
    let seen = tools.clone();
    let wrap = move |whole: Aggregate<Tool>| {
        let (rows, servers) = ToolRow::all(whole);
        let mut seen = seen.lock();
        for server in &servers {
            seen.insert(server.name.as_str().to_owned(), Vec::new());
        }
        for row in &rows {
            if let Some(tools) = seen.get_mut(row.server()) {
                tools.push(row.tool.clone());
            }
        }
        Listed::Tools(rows, servers)
    };
    fetch(ListKind::Tools, backend, mailbox, wrap).await;
    let tools = std::mem::take(&mut *tools.lock());
    let (backend, mailbox) = (backend.clone(), mailbox.clone());
    let looked = move || pins(&backend, &mailbox, &tools);
    let _ = tokio::task::spawn_blocking(looked).await;
}

/// Tells of every server's part as it comes, and at the end of the servers that were not told of:
/// a long list costs its room once.
async fn fetch<T: Listable>(
    kind: ListKind,
    backend: &Backend,
    mailbox: &Mailbox,
    wrap: impl Fn(Aggregate<T>) -> Listed + Clone + Send + 'static,
) {
    let told: Arc<Mutex<HashSet<ServerName>>> = Arc::default();
    let on_part = {
        let (told, mailbox, wrap) = (told.clone(), mailbox.clone(), wrap.clone());
        move |part: Aggregate<T>| {
            let answered = part.servers.iter().filter(|it| it.outcome.is_answer());
            told.lock().extend(answered.map(|it| it.name.clone()));
            mailbox.send(Message::Listed(wrap(part)));
        }
    };
    match backend.list::<T>(Box::new(on_part)).await {
        Ok(mut whole) => {
            let told = std::mem::take(&mut *told.lock());
            whole.entries.retain(|it| !told.contains(&it.server));
            whole.servers.retain(|it| !told.contains(&it.name));
            mailbox.send(Message::Listed(wrap(whole)));
        }
        Err(problem) => {
            mailbox.send(Message::Listed(Listed::Failed(kind, problem.to_string())));
        }
    }
}

/// How each tool stands to what was approved.
fn pins(backend: &Backend, mailbox: &Mailbox, tools: &BTreeMap<String, Vec<Arc<Tool>>>) {
    // A background host keeps its pins to itself.
    if matches!(backend, Backend::Attached(_)) {
        return;
    }
    let all = tools.iter();
    let all = all.flat_map(|(server, tools)| tools.iter().map(move |tool| (server, tool)));
    let words = all.map(|(server, tool)| {
        let word = match backend.pin_state(server, tool) {
            Ok(PinState::Same) => PinWord::Same,
            Ok(PinState::Drifted(_)) => PinWord::Drifted,
            Ok(PinState::New | PinState::NotLocked { .. }) | Err(_) => PinWord::New,
        };
        (server.clone(), tool.clone(), word)
    });
    mailbox.send(Message::Pins(words.collect()));
}
