//! One question and everything until its answer: the model is asked, its tools are called, and it
//! is asked again.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use attache_host::events::EventKind;
use attache_host::questions::QuestionKind;
use attache_protocol::Json;
use attache_view::safe_text;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::calls::{self, Ended, Wanted};
use crate::chat::Chat;
use crate::context;
use crate::cut;
use crate::error::Error;
use crate::events::{ChatEvent, Face};
use crate::message::{Answer, Message, Part, StopReason, ToolCall, ToolResult};
use crate::model::{Ask, Definition, Delta, Model, Reply};
use crate::session::Record;
use crate::stop::Stop;
use crate::tools::{
    CALL_TOOL, CallTool, FIND_TOOLS, FindTools, READ_RESOURCE, READ_RESULT, ReadResource,
    ReadResult, read_resource, read_result,
};

/// After so many equal calls in one turn the person is asked.
const SAME_CALLS: u32 = 3;

/// How much of a name `/log` shows.
const LOGGED_NAME: usize = 200;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model has answered.
    Answered,
    /// The person stopped it.
    Stopped,
    /// The model wanted more rounds than it may have.
    TooManyRounds,
    /// The answer ended because it may be no longer.
    TooLong,
}

/// What is counted during one turn.
#[derive(Default)]
struct Counts {
    /// How often each call was wished for, by name and arguments.
    same: BTreeMap<(String, String), u32>,
}

impl Chat {
    /// Asks a question and goes on until it is answered.
    ///
    /// However it ends, the conversation is one that can be gone on with: what was said stays, and
    /// every call has a result that tells the truth about it.
    pub async fn turn(
        &mut self,
        question: Vec<Part>,
        face: &mut dyn Face,
        stop: &Stop,
    ) -> Result<TurnEnd, Error> {
        let Some(model) = self.model.clone() else {
            return Err(Error::Setup(
                "there is no model; ask with --offline".to_owned(),
            ));
        };
        self.say(Message::User { parts: question }, face);
        tokio::select! {
            biased;
            () = stop.raised() => return Ok(TurnEnd::Stopped),
            () = async {
                self.list_tools(face).await;
                self.learn_window().await;
            } => {}
        }
        let mut counts = Counts::default();
        for _ in 0..self.settings.max_rounds {
            let reply = match self.ask(&model, face, stop).await? {
                Some(reply) => reply,
                None => return Ok(TurnEnd::Stopped),
            };
            if reply.answer.calls.is_empty() {
                return Ok(self.finished(&reply, face));
            }
            if !self.call(&reply.answer, &mut counts, face, stop).await {
                return Ok(TurnEnd::Stopped);
            }
        }
        let text = format!(
            "the model was asked {} times for this question, which is as often as `max_rounds` \
             allows",
            self.settings.max_rounds
        );
        face.show(ChatEvent::Note { text: &text });
        Ok(TurnEnd::TooManyRounds)
    }

    /// Asks the model once; none if the person stopped it. What it said is part of the
    /// conversation in any case.
    async fn ask(
        &mut self,
        model: &Arc<Model>,
        face: &mut dyn Face,
        stop: &Stop,
    ) -> Result<Option<Reply>, Error> {
        let mut is_second_try = false;
        loop {
            let (system, definitions) = self.prepare(face)?;
            let bytes = request_bytes(&system, &definitions, &self.messages);
            let mut reply = Reply::default();
            let outcome = {
                let ask = Ask {
                    system: &system,
                    tools: &definitions,
                    ..Ask::new(&self.messages, &self.mark)
                };
                let mut on_delta = |delta: Delta<'_>| show(delta, face);
                tokio::select! {
                    biased;
                    () = stop.raised() => None,
                    outcome = model.answer(ask, &mut reply, &mut on_delta) => Some(outcome),
                }
            };
            face.show(ChatEvent::AnswerEnded);
            self.count(&reply, bytes, face);
            match outcome {
                Some(Ok(())) => {
                    if !reply.answer.is_empty() {
                        self.say(Message::Assistant(reply.answer.clone()), face);
                    }
                    return Ok(Some(reply));
                }
                None => {
                    self.keep_part(reply.answer, "stopped by the user", face);
                    return Ok(None);
                }
                // The estimate was wrong; what the endpoint takes is less than it said.
                Some(Err(Error::TooLong { .. })) if !is_second_try && self.shrink(bytes) => {
                    is_second_try = true;
                }
                Some(Err(error)) => {
                    self.keep_part(reply.answer, "broke off", face);
                    return Err(error);
                }
            }
        }
    }

    /// The system text and the definitions of the next request, with everything made to fit.
    fn prepare(&mut self, face: &mut dyn Face) -> Result<(String, Vec<Definition>), Error> {
        let system = self.system();
        let offer = self.toolbox.offer(self.settings.tools, self.budget.window);
        let mut definitions = offer.definitions;
        if self.has_resources {
            definitions.push(read_resource());
        }
        if !self.kept.is_empty() {
            definitions.push(read_result());
        }
        let fixed = request_bytes(&system, &definitions, &[]);
        let fitted = context::fit(&mut self.messages, fixed, &self.budget, &mut self.kept);
        match fitted {
            Ok(None) => {}
            Ok(Some(done)) => {
                self.record(&Record::Compacted {
                    messages: self.messages.clone(),
                });
                face.show(ChatEvent::Compacted(done));
                if !self.kept.is_empty() && !definitions.iter().any(|it| it.name == READ_RESULT) {
                    definitions.push(read_result());
                }
            }
            Err(message) => return Err(Error::TooLong { message }),
        }
        Ok((system, definitions))
    }

    /// Believes the endpoint that so many bytes are too many; false if nothing can be left out.
    fn shrink(&mut self, bytes: usize) -> bool {
        let smaller = self.budget.estimate(bytes) * 3 / 4;
        let shrinks = smaller >= 1_024 && smaller < self.budget.window;
        if shrinks {
            self.budget.window = smaller;
        }
        shrinks
    }

    fn count(&mut self, reply: &Reply, bytes: usize, face: &mut dyn Face) {
        let usage = reply.usage;
        if let Some(input) = usage.input {
            self.budget.learn(bytes, input);
        }
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
        };
        self.total.input = sum(self.total.input, usage.input);
        self.total.output = sum(self.total.output, usage.output);
        if usage.input.is_some() || usage.output.is_some() {
            self.record(&Record::Used { usage });
        }
        let estimated = self.budget.estimate(bytes);
        let context = usage.input.unwrap_or(estimated) + usage.output.unwrap_or(0);
        face.show(ChatEvent::Used {
            usage,
            context,
            window: self.budget.window,
        });
    }

    /// What was shown of an answer that did not come to its end stays; its calls are not made.
    fn keep_part(&mut self, answer: Answer, why: &str, face: &mut dyn Face) {
        if !answer.text.is_empty() {
            let text = format!("{} [{why}]", answer.text);
            let part = Answer {
                text,
                ..Answer::default()
            };
            self.say(Message::Assistant(part), face);
        }
    }

    fn finished(&self, reply: &Reply, face: &mut dyn Face) -> TurnEnd {
        let note = match &reply.stop {
            StopReason::Length => Some("the answer is cut off: the model may say no more at once"),
            StopReason::Other(reason) if reason == "content_filter" => {
                Some("the endpoint's filter ended the answer")
            }
            _ if reply.answer.is_empty() => Some("the model answered nothing"),
            _ => None,
        };
        if let Some(text) = note {
            face.show(ChatEvent::Note { text });
        }
        match reply.stop {
            StopReason::Length => TurnEnd::TooLong,
            _ => TurnEnd::Answered,
        }
    }

    /// Makes the calls of an answer, those of servers together; false if the person stopped them.
    async fn call(
        &mut self,
        answer: &Answer,
        counts: &mut Counts,
        face: &mut dyn Face,
        stop: &Stop,
    ) -> bool {
        let mut results: BTreeMap<usize, ToolResult> = BTreeMap::new();
        let mut ready = Vec::new();
        // All that is to be confirmed here is, before any call can ask a question of its own.
        for (at, call) in answer.calls.iter().enumerate() {
            match self.prepared(call, counts, face, stop).await {
                Prepared::Answered(result) => {
                    results.insert(at, result);
                }
                Prepared::Work(work) => ready.push((at, work)),
            }
        }
        let is_stopped = self.run(ready, &mut results, face, stop).await;
        let all = answer.calls.iter().enumerate();
        let results = all.map(|(at, call)| {
            let known = results.remove(&at);
            known.unwrap_or_else(|| calls::stopped(&call.id))
        });
        let results: Vec<ToolResult> = results.collect();
        self.say(Message::Results { results }, face);
        !is_stopped
    }

    /// Shows a call and sees whether it may be made as far as that is decided here.
    async fn prepared(
        &mut self,
        call: &ToolCall,
        counts: &mut Counts,
        face: &mut dyn Face,
        stop: &Stop,
    ) -> Prepared {
        let impossible = |why: &str| Prepared::Answered(calls::impossible(&call.id, why));
        let id = call.id.as_str();
        match self.understand(call) {
            Ok(Understood::Answered(result)) => Prepared::Answered(result),
            Ok(Understood::Read(uri)) => {
                let arguments = json!({ "uri": uri }).to_string();
                face.show(ChatEvent::Calling {
                    id,
                    tool: READ_RESOURCE,
                    arguments: &arguments,
                });
                if !self.may_read(&uri, face, stop).await {
                    return impossible(
                        "No server lists this resource, and the user did not allow it.",
                    );
                }
                let (host, id) = (self.host.clone(), call.id.clone());
                Prepared::Work(Box::pin(calls::read(host, id, uri)))
            }
            Ok(Understood::Call(wanted)) => {
                let tool = wanted.name.to_string();
                face.show(ChatEvent::Calling {
                    id,
                    tool: &tool,
                    arguments: wanted.arguments.as_str(),
                });
                if !counts.may_go_on(&wanted, face, stop).await {
                    return impossible(
                        "This call was already made with the same arguments, and the user does \
                         not want it again.",
                    );
                }
                // Written before it is made: a kill in between must not hide it.
                let problem = self.record(&Record::Calling {
                    id: call.id.clone(),
                    tool,
                    arguments: wanted.arguments.to_value().unwrap_or(Value::Null),
                });
                if let Some(problem) = problem {
                    face.show(ChatEvent::Note { text: &problem });
                }
                Prepared::Work(Box::pin(calls::run(self.host.clone(), wanted)))
            }
            Err(why) => impossible(&why),
        }
    }

    /// Runs calls together until all have ended or the person stops them, which is the answer.
    async fn run(
        &mut self,
        ready: Vec<(usize, Work)>,
        results: &mut BTreeMap<usize, ToolResult>,
        face: &mut dyn Face,
        stop: &Stop,
    ) -> bool {
        let mut events = self.host.events();
        let mut asked: BTreeMap<u64, String> = BTreeMap::new();
        let mut running: JoinSet<(usize, Ended)> = JoinSet::new();
        for (at, work) in ready {
            running.spawn(async move { (at, work.await) });
        }
        while !running.is_empty() {
            tokio::select! {
                biased;
                () = stop.raised() => {
                    // Dropping a call cancels it, and its server is told.
                    running.shutdown().await;
                    return true;
                }
                Some(event) = events.next() => self.witness(&event.kind, &mut asked),
                Some(Ok((at, ended))) = running.join_next() => {
                    results.insert(at, self.ended(&ended, face));
                }
            }
        }
        false
    }

    /// Writes down what the person was asked and answered meanwhile.
    fn witness(&self, event: &EventKind, asked: &mut BTreeMap<u64, String>) {
        match event {
            EventKind::Asked { question } => {
                let about = match &question.kind {
                    QuestionKind::Approval(call) => format!("{}/{}", question.server, call.tool),
                    other => format!("{} {:?}", question.server, other.topic()),
                };
                asked.insert(question.id, about);
            }
            EventKind::Answered { question, answer } => {
                self.record(&Record::Answered {
                    about: asked.remove(question).unwrap_or_default(),
                    answer: format!("{answer:?}").to_lowercase(),
                });
            }
            _ => {}
        }
    }

    /// What a wish means: an answer of our own tools, or a call of a server.
    fn understand(&mut self, call: &ToolCall) -> Result<Understood, String> {
        let unreadable = |error: String| {
            format!(
                "The arguments of {:?} are no JSON object: {error}.",
                call.name
            )
        };
        let arguments = calls::arguments(&call.arguments).map_err(unreadable)?;
        let text = arguments.as_str();
        let answered = |text: String| {
            Understood::Answered(ToolResult {
                id: call.id.clone(),
                from: Some(call.name.clone()),
                text,
                ..ToolResult::default()
            })
        };
        let misfit = |error: serde_json::Error| unreadable(error.to_string());
        match call.name.as_str() {
            FIND_TOOLS => {
                let wish: FindTools = serde_json::from_str(text).map_err(misfit)?;
                Ok(answered(self.found_tools(&wish.query)))
            }
            READ_RESOURCE => {
                let wish: ReadResource = serde_json::from_str(text).map_err(misfit)?;
                Ok(Understood::Read(wish.uri))
            }
            READ_RESULT => {
                let wish: ReadResult = serde_json::from_str(text).map_err(misfit)?;
                let page = self.kept.read(&wish.id, wish.offset);
                page.map(answered).map_err(|problem| format!("{problem}."))
            }
            CALL_TOOL => {
                let wish: CallTool<'_> = serde_json::from_str(text).map_err(misfit)?;
                let arguments = calls::arguments(&wish.arguments()).map_err(unreadable)?;
                self.wanted(&call.id, &wish.name, arguments)
            }
            name => self.wanted(&call.id, name, arguments),
        }
    }

    /// Whether the model may read an address: one that a server lists, or that the person allows.
    /// Through a template a server could be told anything.
    async fn may_read(&self, uri: &str, face: &mut dyn Face, stop: &Stop) -> bool {
        let listed = tokio::select! {
            biased;
            () = stop.raised() => return false,
            listed = self.host.list_resources() => listed,
        };
        let is_listed = listed.is_ok_and(|listed| {
            listed
                .entries
                .iter()
                .any(|offered| offered.entry.uri == uri)
        });
        if is_listed {
            return true;
        }
        let question = format!("the model wants to read {uri}, which no server lists; let it?");
        tokio::select! {
            biased;
            () = stop.raised() => false,
            is_allowed = face.confirm(&question) => is_allowed,
        }
    }

    fn wanted(&self, id: &str, name: &str, arguments: Json) -> Result<Understood, String> {
        let known = self.toolbox.resolve(name)?;
        Ok(Understood::Call(Wanted {
            id: id.to_owned(),
            name: known.name.clone(),
            arguments,
        }))
    }

    fn found_tools(&self, query: &str) -> String {
        let found = self.toolbox.find(query);
        let described = found.iter().map(|tool| {
            let Definition {
                name,
                description,
                parameters,
            } = &tool.definition;
            format!("{name}: {description}\narguments: {parameters}")
        });
        let described: Vec<String> = described.collect();
        match described.is_empty() {
            true => format!("No tool fits {query:?}. Try other words."),
            false => described.join("\n\n"),
        }
    }

    /// Tells the person, the model and the file how a call ended.
    fn ended(&mut self, ended: &Ended, face: &mut dyn Face) -> ToolResult {
        let mut told = ended.told();
        let after_ms = u64::try_from(ended.after.as_millis()).unwrap_or(u64::MAX);
        let word = ended.word();
        face.show(ChatEvent::Called {
            id: &told.id,
            tool: &ended.about,
            ending: word,
            after_ms,
            note: &told.note,
            text: &told.text,
        });
        self.record(&Record::Called {
            id: told.id.clone(),
            ending: word.to_owned(),
            after_ms,
        });
        let about = cut::beginning(&ended.about, LOGGED_NAME);
        let line = format!("{about}: {word} after {after_ms} ms");
        self.log_call(safe_text::one_line(&line).into_owned());
        told.text = self.kept.keep(told.text);
        told
    }
}

/// A call or a read that is to be made.
type Work = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// What is left to do about a wish.
enum Prepared {
    Answered(ToolResult),
    Work(Work),
}

enum Understood {
    Answered(ToolResult),
    Read(String),
    Call(Wanted),
}

impl Counts {
    /// Whether a call may be made; a repeated one only if the person says so.
    async fn may_go_on(&mut self, wanted: &Wanted, face: &mut dyn Face, stop: &Stop) -> bool {
        let arguments = match wanted.arguments.to_value() {
            Ok(value) => value.to_string(),
            Err(_) => wanted.arguments.as_str().to_owned(),
        };
        let key = (wanted.name.to_string(), arguments);
        let count = self.same.entry(key).or_default();
        *count += 1;
        if *count < SAME_CALLS {
            return true;
        }
        let question = format!(
            "the model calls {} for the {count}th time with the same arguments; let it?",
            wanted.name
        )
        .replace("3th", "3rd");
        tokio::select! {
            biased;
            () = stop.raised() => false,
            goes_on = face.confirm(&question) => goes_on,
        }
    }
}

fn show(delta: Delta<'_>, face: &mut dyn Face) {
    match delta {
        Delta::Text(text) => face.show(ChatEvent::Text { text }),
        Delta::Thinking(text) => face.show(ChatEvent::Thinking { text }),
        Delta::Waiting { pause, because } => {
            let text = format!("{because}; asking again in {pause:?}");
            face.show(ChatEvent::Note { text: &text });
        }
    }
}

fn request_bytes(system: &str, definitions: &[Definition], messages: &[Message]) -> usize {
    let definitions: usize = definitions.iter().map(Definition::bytes).sum();
    system.len() + definitions + context::bytes_of(messages)
}
