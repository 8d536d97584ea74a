//! Does what the app wants done of the host, beside the thread that draws.
//!
//! Runs on the runtime of the host. Every effect is a task of its own, so none waits for another,
//! and what comes of it goes into the mailbox.

mod lists;
mod work;

use std::collections::HashMap;
use std::sync::Arc;

use attache::host::call_log;
use attache::host::catalog::ListKind;
use attache::host::events::EventKind;
use attache::host::policy::PinState;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

use crate::backend::Backend;
use crate::component::Notice;
use crate::mailbox::Mailbox;
use crate::message::{
    About, Connected, Effect, Failed, JobEnd, JobId, JobNews, Message, Order, PinWord, WatchNews,
};

/// Events that are handed over at once, at most.
const BATCH: usize = 512;
/// Calls of the past that are shown.
const PAST_CALLS: usize = 1000;

/// Serves a UI until it wants no more.
pub(crate) async fn drive(
    backend: Backend,
    about: About,
    mailbox: Mailbox,
    mut effects: UnboundedReceiver<Effect>,
) {
    let following = tokio::spawn(follow(backend.clone(), about, mailbox.clone()));
    let mut driver = Driver {
        backend,
        mailbox,
        jobs: HashMap::new(),
        watches: HashMap::new(),
        frames: None,
        lists: HashMap::new(),
    };
    while let Some(effect) = effects.recv().await {
        if matches!(effect, Effect::Quit) {
            break;
        }
        driver.perform(effect);
    }
    following.abort();
    // Dropped requests are cancelled, and their servers told.
    for task in driver
        .jobs
        .into_values()
        .chain(driver.watches.into_values())
    {
        task.abort();
    }
    let lists = driver.lists.into_values().map(|(_, task)| task);
    for task in lists.chain(driver.frames) {
        task.abort();
    }
}

/// Hands over how things are and then every event, in batches.
async fn follow(backend: Backend, about: About, mailbox: Mailbox) {
    let (snapshot, mut events) = match backend.follow().await {
        Ok(followed) => followed,
        Err(problem) => {
            return mailbox.send(Message::Notice(Notice::failed(problem.to_string())));
        }
    };
    mailbox.send(Message::Connected(Box::new(Connected { snapshot, about })));
    let mut batch = Vec::new();
    while let Some(event) = events.next().await {
        batch.push(event);
        while batch.len() < BATCH
            && let Some(event) = events.try_next()
        {
            batch.push(event);
        }
        let has_gap = batch
            .iter()
            .any(|event| event.server.is_none() && matches!(event.kind, EventKind::Missed { .. }));
        let batch = std::mem::take(&mut batch);
        mailbox
            .send_when_there_is_room(Message::Events(batch))
            .await;
        if has_gap {
            // What was lost may have changed anything.
            let Ok((snapshot, anew)) = backend.follow().await else {
                break;
            };
            events = anew;
            mailbox.send(Message::Resynced(Box::new(snapshot)));
        }
    }
    mailbox.send(Message::HostEnded);
}

struct Driver {
    backend: Backend,
    mailbox: Mailbox,
    jobs: HashMap<JobId, JoinHandle<()>>,
    watches: HashMap<(String, String), JoinHandle<()>>,
    frames: Option<JoinHandle<()>>,
    /// One task for each list, so that a server that changes its lists all the time has them fetched
    /// one after the other.
    lists: HashMap<ListKind, (Arc<Notify>, JoinHandle<()>)>,
}

impl Driver {
    fn perform(&mut self, effect: Effect) {
        let (backend, mailbox) = (self.backend.clone(), self.mailbox.clone());
        match effect {
            Effect::List(kind) => {
                let (wanted, _) = self.lists.entry(kind).or_insert_with(|| {
                    let wanted = Arc::new(Notify::new());
                    let task = tokio::spawn(lists::list(kind, backend, mailbox, wanted.clone()));
                    (wanted, task)
                });
                wanted.notify_one();
            }
            Effect::Begin(id, work) => {
                self.jobs.retain(|_, task| !task.is_finished());
                let task = tokio::spawn(work::begin(id, work, backend, mailbox));
                self.jobs.insert(id, task);
            }
            Effect::Cancel(id) => {
                if let Some(task) = self.jobs.remove(&id) {
                    task.abort();
                    let failed = Failed {
                        cause: "you cancelled it; the server was told".to_owned(),
                        word: "cancelled",
                        ..Failed::default()
                    };
                    mailbox.send(Message::Job(id, JobNews::Ended(JobEnd::Failed(failed))));
                }
            }
            Effect::Answer(question, answer) => {
                tokio::spawn(async move {
                    if let Err(problem) = backend.answer(question, answer).await {
                        let problem = problem.to_string();
                        mailbox.send(Message::NotAnswered { question, problem });
                    }
                });
            }
            Effect::Server(server, order) => {
                tokio::spawn(give_order(server, order, backend, mailbox));
            }
            Effect::Complete(with) => {
                tokio::spawn(async move {
                    let serial = with.question.serial;
                    // A server that cannot complete is no reason to say anything.
                    let values = backend.complete(*with).await.unwrap_or_default();
                    mailbox.send(Message::Completions { serial, values });
                });
            }
            Effect::Watch {
                server,
                uri,
                is_wanted,
            } => self.watch(server, uri, is_wanted),
            Effect::History => {
                tokio::task::spawn_blocking(move || mailbox.send(Message::History(past(&backend))));
            }
            Effect::Frames if self.frames.is_none() => {
                self.frames = Some(tokio::spawn(follow_frames(backend, mailbox)));
            }
            Effect::Drift { server, tool } => {
                tokio::task::spawn_blocking(move || {
                    let drift = match backend.pin_state(&server, &tool) {
                        Ok(PinState::Drifted(drift)) => Some(Box::new(drift)),
                        Ok(_) => None,
                        Err(problem) => {
                            let notice = Notice::warning(problem.to_string());
                            return mailbox.send(Message::Notice(notice));
                        }
                    };
                    let tool = tool.name.clone();
                    mailbox.send(Message::Drift {
                        server,
                        tool,
                        drift,
                    });
                });
            }
            Effect::AcceptPin { server, tool } => {
                tokio::spawn(async move {
                    match backend.accept_pin(&server, &tool).await {
                        Ok(()) => {
                            mailbox.send(Message::Pins(vec![(server, tool, PinWord::Same)]));
                        }
                        Err(problem) => {
                            mailbox.send(Message::Notice(Notice::failed(problem.to_string())));
                        }
                    }
                });
            }
            Effect::Save { path, bytes } => {
                tokio::task::spawn_blocking(move || {
                    mailbox.send(Message::Notice(save(&path, &bytes)));
                });
            }
            // The others are for the thread that has the terminal.
            _ => {}
        }
    }

    fn watch(&mut self, server: String, uri: String, is_wanted: bool) {
        let key = (server.clone(), uri.clone());
        if let Some(task) = self.watches.remove(&key) {
            task.abort();
        }
        if !is_wanted {
            return;
        }
        let (backend, mailbox) = (self.backend.clone(), self.mailbox.clone());
        let task = tokio::spawn(async move {
            let tell = |news| {
                let (server, uri) = (server.clone(), uri.clone());
                mailbox.send(Message::Watched { server, uri, news });
            };
            let mut watch = match backend.watch(&server, &uri).await {
                Ok(watch) => watch,
                Err(problem) => return tell(WatchNews::Ended(problem.to_string())),
            };
            tell(WatchNews::Began);
            while let Some(news) = watch.next().await {
                let is_over = matches!(news, WatchNews::Ended(_));
                let (server, uri) = (server.clone(), uri.clone());
                let told = Message::Watched { server, uri, news };
                mailbox.send_when_there_is_room(told).await;
                if is_over {
                    return;
                }
            }
        });
        self.watches.insert(key, task);
    }
}

async fn give_order(server: String, order: Order, backend: Backend, mailbox: Mailbox) {
    let done = backend.order(&server, order).await;
    let notice = match (done, order) {
        // Its state shows it.
        (Ok(()), Order::Start | Order::Stop | Order::Restart | Order::Enable(_)) => return,
        (Ok(()), Order::LogLevel(level)) => {
            Notice::done(format!("{server} logs from {} on", level.as_str()))
        }
        (Err(problem), _) => Notice::failed(problem.to_string()),
    };
    mailbox.send(Message::Notice(notice));
}

fn past(backend: &Backend) -> Result<Vec<call_log::CallRecord>, String> {
    let Some(folder) = backend.call_log() else {
        return Err("calls are not written down: [log] calls is off".to_owned());
    };
    let filter = call_log::Filter {
        server: None,
        name: None,
        since_ms: 0,
        most: PAST_CALLS,
        actions: false,
    };
    match call_log::history(&folder, &filter) {
        Ok(history) => Ok(history.calls),
        Err(error) => Err(format!("{} cannot be read: {error}", folder.display())),
    }
}

async fn follow_frames(backend: Backend, mailbox: Mailbox) {
    let Some(mut frames) = backend.frames().await else {
        let notice = Notice::warning("the background host does not tell the messages on the wire");
        return mailbox.send(Message::Notice(notice));
    };
    while let Some(frame) = frames.next().await {
        let mut batch = vec![frame];
        while batch.len() < BATCH
            && let Some(frame) = frames.try_next()
        {
            batch.push(frame);
        }
        mailbox
            .send_when_there_is_room(Message::Frames(batch))
            .await;
    }
}

fn save(path: &std::path::Path, bytes: &[u8]) -> Notice {
    let shown = path.display();
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, bytes));
    match written {
        Ok(()) => Notice::done(format!(
            "wrote {} to {shown}",
            crate::text::bytes(bytes.len())
        )),
        Err(error) => Notice::failed(format!("{shown} was not written: {error}")),
    }
}
