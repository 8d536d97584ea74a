//! The queue of questions: who can answer, what waits, and that the first answer wins.
//!
//! A question waits only while a face is attached that can answer its kind; without one it is
//! refused at once, so that none waits for ever. It is withdrawn when the asking task is gone: its
//! call was cancelled or has ended, the server took it back, the connection was lost. The time of a
//! call stands still meanwhile, which is the connection's affair.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use attache_client::protocol::{CallTool, GetPrompt, Method as _, ReadResource, Root};
use tokio::sync::oneshot;

use super::{Answer, AnswerError, Question, QuestionKind, Topic};
use crate::config::ServerName;
use crate::events::EventKind;
use crate::journal::{Core, State, now_ms};

/// How many questions wait at once; any further one is refused as if no face were attached.
pub const MOST_QUESTIONS: usize = 256;

tokio::task_local! {
    /// The request that is being worked on, for the questions a server asks before it answers it.
    pub(crate) static CURRENT_REQUEST: u64;
}

/// The questions of a host, for faces. Clones are the same queue.
#[derive(Clone, Debug)]
pub struct Questions {
    core: Arc<Core>,
}

/// A face that answers questions, until it is dropped.
#[derive(Debug)]
pub struct Attached {
    core: Arc<Core>,
    number: u64,
    face: Face,
    /// The number of the last question it was given.
    seen: u64,
}

/// What a face can answer.
#[derive(Clone, Debug)]
struct Face {
    topics: Vec<Topic>,
    /// The only call it is there for.
    call: Option<(ServerName, Arc<AtomicU64>)>,
}

/// What the journal keeps besides the open questions themselves.
#[derive(Default)]
pub(crate) struct Queue {
    /// What each attached face can answer.
    faces: BTreeMap<u64, Face>,
    faces_ever: u64,
    asked_ever: u64,
    /// Who waits for the answer to each open question.
    waiting: BTreeMap<u64, oneshot::Sender<Answer>>,
    /// The folders that the user has named, for each server that asked.
    roots: BTreeMap<ServerName, Vec<Root>>,
}

/// A question that was put. If it is still open when this is dropped, it is withdrawn.
struct Asking<'a> {
    core: &'a Core,
    id: u64,
}

impl Questions {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The questions that wait for an answer, oldest first.
    pub fn open(&self) -> Vec<Arc<Question>> {
        self.core.lock().now.questions.iter().cloned().collect()
    }

    /// Says that a face is here that answers questions of these kinds. While one is, they wait for
    /// an answer; when the last has gone, they are refused.
    pub fn attach(&self, topics: impl IntoIterator<Item = Topic>) -> Attached {
        self.add(Face {
            topics: topics.into_iter().collect(),
            call: None,
        })
    }

    /// The same for a face that is there for one call only, whose number is put into `call` as soon
    /// as there is one. Questions of its server that belong to no known request are its as well.
    pub fn attach_to_call(
        &self,
        topics: impl IntoIterator<Item = Topic>,
        server: ServerName,
        call: Arc<AtomicU64>,
    ) -> Attached {
        self.add(Face {
            topics: topics.into_iter().collect(),
            call: Some((server, call)),
        })
    }

    fn add(&self, face: Face) -> Attached {
        let queue = &mut self.core.lock().queue;
        queue.faces_ever += 1;
        queue.faces.insert(queue.faces_ever, face.clone());
        Attached {
            core: self.core.clone(),
            number: queue.faces_ever,
            face,
            seen: 0,
        }
    }

    /// Whether a face is attached that answers such questions, of some call at least.
    pub fn can_ask(&self, topic: Topic) -> bool {
        let faces = &self.core.lock().queue.faces;
        faces.values().any(|face| face.topics.contains(&topic))
    }

    /// Answers a question. The first answer that fits wins.
    pub fn answer(&self, id: u64, answer: Answer) -> Result<(), AnswerError> {
        // Checked without the lock: a form may be long.
        let question = self.find(id)?;
        let fits = question.kind.check(&answer);
        fits.map_err(|problem| AnswerError::Misfit { id, problem })?;
        let taken = self.core.change(|state| {
            let waiting = state.queue.waiting.remove(&id)?;
            if let Answer::Roots(roots) = &answer {
                let server = question.server.clone();
                state.queue.roots.insert(server, roots.clone());
            }
            let answered = EventKind::Answered {
                question: id,
                answer: answer.kind(),
            };
            state.record(&question.server, answered);
            // The asking task may be leaving in this instant.
            let _ = waiting.send(answer);
            Some(())
        });
        self.core.asked.notify_waiters();
        taken.ok_or(AnswerError::Closed(id))
    }

    /// Resolves when a question does not wait any more; at once if there is none of that number.
    pub async fn closed(&self, id: u64) {
        loop {
            // Made before looking, so that no end can come unnoticed in between.
            let changed = self.core.asked.notified();
            if !self.core.lock().queue.waiting.contains_key(&id) {
                return;
            }
            changed.await;
        }
    }

    fn find(&self, id: u64) -> Result<Arc<Question>, AnswerError> {
        let state = self.core.lock();
        let open = state.now.questions.iter().find(|it| it.id == id);
        match open {
            Some(question) => Ok(question.clone()),
            None if id > 0 && id <= state.queue.asked_ever => Err(AnswerError::Closed(id)),
            None => Err(AnswerError::Unknown(id)),
        }
    }

    /// Asks, and waits for the answer for as long as it takes; none if there is no face to answer
    /// it, or not any more. Dropping the future withdraws the question.
    ///
    /// Without a request the question belongs to the one that is being worked on here, or to the
    /// only one of its server that a server may ask about.
    pub(crate) async fn ask(
        &self,
        request: Option<u64>,
        server: &ServerName,
        kind: QuestionKind,
    ) -> Option<Answer> {
        let request = request.or_else(|| CURRENT_REQUEST.try_with(|it| *it).ok());
        let (id, answer) = self.core.change(|state| state.put(request, server, kind))?;
        self.core.asked.notify_waiters();
        let _asking = Asking {
            core: &self.core,
            id,
        };
        answer.await.ok()
    }

    /// The folders a server may work in, asked for once.
    pub(crate) async fn roots(&self, server: &ServerName) -> Option<Answer> {
        let known = self.core.lock().queue.roots.get(server).cloned();
        match known {
            Some(roots) => Some(Answer::Roots(roots)),
            None => self.ask(None, server, QuestionKind::Roots).await,
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let reason = "whoever asked does not wait any more";
        let withdrawn = self
            .core
            .change(|state| state.withdraw_all(reason, |question| question.id == self.id));
        if withdrawn {
            self.core.asked.notify_waiters();
        }
    }
}

impl Attached {
    /// The next question that this face can answer, oldest first, beginning with those that waited
    /// already; `None` when the host is gone. [`Questions::closed`] tells when another face was
    /// faster.
    pub async fn next(&mut self) -> Option<Arc<Question>> {
        loop {
            let changed = self.core.asked.notified();
            if let Some(question) = self.unseen() {
                self.seen = question.id;
                return Some(question);
            }
            if self.core.is_closed() {
                return None;
            }
            changed.await;
        }
    }

    fn unseen(&self) -> Option<Arc<Question>> {
        let state = self.core.lock();
        let mut open = state.now.questions.iter();
        open.find(|it| it.id > self.seen && self.face.can_answer(it))
            .cloned()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let withdrawn = self.core.change(|state| {
            state.queue.faces.remove(&self.number);
            let faces = std::mem::take(&mut state.queue.faces);
            let nobody = |question: &Question| !can_answer(&faces, question);
            let withdrawn = state.withdraw_all("no face is left to answer it", nobody);
            state.queue.faces = faces;
            withdrawn
        });
        if withdrawn {
            self.core.asked.notify_waiters();
        }
    }
}

impl Queue {
    /// Has the user asked again which folders a server may work in.
    pub(crate) fn forget_roots(&mut self, server: &ServerName) {
        self.roots.remove(server);
    }
}

impl Face {
    fn can_answer(&self, question: &Question) -> bool {
        let is_its = match (&self.call, question.request) {
            (None, _) => true,
            (Some((_, call)), Some(request)) => call.load(Ordering::Acquire) == request,
            (Some((server, _)), None) => *server == question.server,
        };
        is_its && self.topics.contains(&question.kind.topic())
    }
}

fn can_answer(faces: &BTreeMap<u64, Face>, question: &Question) -> bool {
    faces.values().any(|face| face.can_answer(question))
}

impl State {
    /// Puts a question, if a face can answer it.
    fn put(
        &mut self,
        request: Option<u64>,
        server: &ServerName,
        kind: QuestionKind,
    ) -> Option<(u64, oneshot::Receiver<Answer>)> {
        let id = self.queue.asked_ever + 1;
        let question = Question {
            id,
            since_ms: now_ms(),
            request: request.or_else(|| self.only_asker(server)),
            server: server.clone(),
            who: kind.who(),
            kind,
        };
        let is_full = self.now.questions.len() >= MOST_QUESTIONS;
        if is_full || !can_answer(&self.queue.faces, &question) {
            return None;
        }
        self.queue.asked_ever = id;
        let question = Arc::new(question);
        self.record(server, EventKind::Asked { question });
        let (sender, answer) = oneshot::channel();
        self.queue.waiting.insert(id, sender);
        Some((id, answer))
    }

    /// The request that a question of a legacy server belongs to: the only one of this server that
    /// servers ask about.
    fn only_asker(&self, server: &ServerName) -> Option<u64> {
        const ASKERS: [&str; 3] = [CallTool::NAME, GetPrompt::NAME, ReadResource::NAME];
        let is_asker = |method: &str| ASKERS.contains(&method);
        let open = self.now.requests.iter();
        let mut open = open.filter(|it| it.server == *server && is_asker(&it.method));
        let only = open.next()?;
        open.next().is_none().then_some(only.request)
    }

    /// Takes back the open questions that `which` chooses, and says whether there were any.
    pub(crate) fn withdraw_all(&mut self, reason: &str, which: impl Fn(&Question) -> bool) -> bool {
        if self.now.questions.is_empty() {
            return false;
        }
        let chosen = self.now.questions.iter().filter(|it| which(it));
        let chosen: Vec<Arc<Question>> = chosen.cloned().collect();
        for question in &chosen {
            self.queue.waiting.remove(&question.id);
            let withdrawn = EventKind::Withdrawn {
                question: question.id,
                reason: reason.to_owned(),
            };
            self.record(&question.server, withdrawn);
        }
        !chosen.is_empty()
    }
}
