//! How a handler asks the client: the user, the model, or for the roots.
//!
//! Owns the three ways a question can travel. In a legacy session it is a request of the server. In
//! the modern era it ends the round (`rounds`) or waits in a task (`tasks`). The handler awaits an
//! answer in each case and cannot tell the difference, except that in the modern era whatever it
//! did before the question is done again; [`Context::once`] keeps what must not be.

use std::future::{Future, pending};
use std::sync::Arc;

use attache_protocol::{
    ClientCapabilities, CreateMessage, CreateMessageParams, CreateMessageResult, Elicit,
    ElicitAction, ElicitMode, ElicitParams, ElicitResult, ElicitationCapability, Era, ErrorObject,
    InputRequest, Json, ListRoots, Method, MissingCapabilityData, NoParams, Root, RootsCapability,
    SamplingCapability, codes, frame, meta,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::{Call, Context};
use crate::failure::Failure;
use crate::rounds::Rounds;
use crate::seal::random_name;
use crate::service::Sent;
use crate::tasks::TaskEntry;

/// How questions of one call travel.
pub(crate) enum Asking {
    /// As requests of the server; in a task they name it (X-TSKX-09).
    Requests(Option<Arc<TaskEntry>>),
    /// By ending the round.
    Rounds(Rounds),
    /// Through a task of the modern era.
    Task(Arc<TaskEntry>),
    /// Not at all: the method allows no questions (S-MRTR-02).
    Never,
}

/// A question under a key of its own choice; see [`Context::named`].
pub struct Question<'a> {
    context: &'a Context,
    key: String,
}

impl Context {
    /// Asks the user. They may accept, decline or go away; all three are answers.
    pub async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, Failure> {
        self.numbered().elicit(params).await
    }

    /// Asks the client's model.
    pub async fn sample(
        &self,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, Failure> {
        self.numbered().sample(params).await
    }

    /// Asks for the folders the client lets the server work in.
    pub async fn roots(&self) -> Result<Vec<Root>, Failure> {
        self.numbered().roots().await
    }

    /// Asks under a name. Questions without one are numbered in the order they are asked, which
    /// must then be the same in every round.
    pub fn named(&self, key: impl Into<String>) -> Question<'_> {
        Question {
            context: self,
            key: key.into(),
        }
    }

    fn numbered(&self) -> Question<'_> {
        let number = {
            let mut state = self.call.lock();
            state.numbered += 1;
            state.numbered
        };
        self.named(format!("input-{number}"))
    }

    /// Runs `work` once for the whole request, however many rounds it takes: its value is kept
    /// under `key`. Clients carry the value, sealed but readable, so it should hold no secrets.
    pub async fn once<T, R>(&self, key: &str, work: R) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        R: Future<Output = Result<T, Failure>>,
    {
        let Asking::Rounds(rounds) = &self.call.asking else {
            return work.await;
        };
        if let Some(kept) = rounds.kept(key) {
            return Ok(kept.decode()?);
        }
        let value = work.await?;
        rounds.keep(key, Json::from_serialize(&value)?);
        Ok(value)
    }

    /// Makes sure that what follows happens once, also if the last round of this request is sent
    /// again while its `requestState` is good: from here on every state of the request is refused
    /// (S-MRTR-09). Belongs behind the last question, before the effect.
    ///
    /// A request that is made anew is another one, with questions of its own. Where nothing was
    /// asked through a state, as in a legacy session, there is nothing to use up.
    pub fn redeem(&self) -> Result<(), Failure> {
        match &self.call.asking {
            Asking::Rounds(rounds) => rounds.redeem(&self.call.kernel).map_err(Failure::error),
            Asking::Requests(_) | Asking::Task(_) | Asking::Never => Ok(()),
        }
    }
}

impl Question<'_> {
    /// Asks the user.
    pub async fn elicit(self, mut params: ElicitParams) -> Result<ElicitResult, Failure> {
        let call = &self.context.call;
        let features = call.revision.features();
        let declared = call.capabilities.elicitation.as_ref();
        let missing = match params.mode() {
            ElicitMode::Url if declared.is_none_or(|it| it.url.is_none()) => {
                Some(ElicitationCapability {
                    url: Some(empty()),
                    ..ElicitationCapability::default()
                })
            }
            ElicitMode::Form if declared.is_none_or(|it| !it.has_form()) => {
                Some(ElicitationCapability::default())
            }
            ElicitMode::Other => {
                return Err(Failure::internal("this mode of elicitation is unknown"));
            }
            ElicitMode::Url | ElicitMode::Form => None,
        };
        if missing.is_some() || !features.elicitation {
            return Err(undeclared(
                call,
                "elicitation",
                ClientCapabilities {
                    elicitation: missing.or_else(Default::default),
                    ..ClientCapabilities::default()
                },
            ));
        }
        if !features.elicitation_modes {
            params.mode = None;
        }
        if params.mode() == ElicitMode::Url {
            // Only 2025-11-25 names elicitations (S-ELIC-11).
            params.elicitation_id = match (features.era, params.elicitation_id) {
                (Era::Modern, _) => None,
                (Era::Legacy, Some(id)) => Some(id),
                (Era::Legacy, None) => Some(random_name().map_err(Failure::from)?),
            };
        }
        if params.mode() == ElicitMode::Form {
            // A form always has a schema, be it without fields.
            params.requested_schema.get_or_insert_with(empty_form);
        }
        let answer = self.ask::<Elicit>(&params).await?;
        if answer.action == ElicitAction::Accept && params.mode() == ElicitMode::Form {
            check_form(&params, &answer)?;
        }
        Ok(answer)
    }

    /// Asks the client's model.
    pub async fn sample(
        self,
        mut params: CreateMessageParams,
    ) -> Result<CreateMessageResult, Failure> {
        let call = &self.context.call;
        let wants_tools = params.tools.is_some() || params.tool_choice.is_some();
        let declared = call.capabilities.sampling.as_ref();
        let missing = match declared {
            None => true,
            Some(sampling) => wants_tools && sampling.tools.is_none(),
        };
        if missing {
            return Err(undeclared(
                call,
                "sampling",
                ClientCapabilities {
                    sampling: Some(SamplingCapability {
                        tools: wants_tools.then(empty),
                        ..SamplingCapability::default()
                    }),
                    ..ClientCapabilities::default()
                },
            ));
        }
        // The context of other servers is asked for only where the client gives it (S-SAMP-04).
        if call.revision.features().sampling_tools
            && declared.is_some_and(|it| it.context.is_none())
        {
            params.include_context = None;
        }
        self.ask::<CreateMessage>(&params).await
    }

    /// Asks for the client's roots.
    pub async fn roots(self) -> Result<Vec<Root>, Failure> {
        let call = &self.context.call;
        if call.capabilities.roots.is_none() {
            return Err(undeclared(
                call,
                "roots",
                ClientCapabilities {
                    roots: Some(RootsCapability::default()),
                    ..ClientCapabilities::default()
                },
            ));
        }
        let listed = self.ask::<ListRoots>(&NoParams::default()).await?;
        Ok(listed.roots.items)
    }

    async fn ask<M: Method>(self, params: &M::Params) -> Result<M::Result, Failure> {
        let call = &self.context.call;
        if let Some(task) = call.task.get() {
            let question = InputRequest::new::<M>(params)?;
            return self.decode::<M>(&task.ask(&call.kernel, question).await?);
        }
        let raw = match &call.asking {
            Asking::Requests(task) => ask_as_request::<M>(call, params, task.as_deref()).await?,
            Asking::Rounds(rounds) => match rounds.answer(&self.key) {
                Some(answer) => answer.clone(),
                None => {
                    let limit = call.kernel.limits.max_questions;
                    if rounds.asked() >= limit {
                        return Err(too_many(limit));
                    }
                    rounds.ask(&self.key, InputRequest::new::<M>(params)?);
                    // Whoever drives the call sees the open question and ends the round.
                    pending().await
                }
            },
            Asking::Task(task) => {
                task.ask(&call.kernel, InputRequest::new::<M>(params)?)
                    .await?
            }
            Asking::Never => {
                return Err(Failure::internal("this method cannot ask the client"));
            }
        };
        self.decode::<M>(&raw)
    }

    fn decode<M: Method>(&self, raw: &Json) -> Result<M::Result, Failure> {
        raw.decode().map_err(|error| {
            Failure::invalid_params(format!(
                "the answer to \"{}\" is malformed: {error}",
                self.key
            ))
        })
    }
}

/// More questions than one request may ask.
fn too_many(limit: usize) -> Failure {
    Failure::internal(format!(
        "the request asks more than the limit of {limit} questions"
    ))
}

fn empty_form() -> Json {
    Json::from(serde_json::json!({"type": "object", "properties": {}}))
}

fn empty() -> Json {
    Json::from(serde_json::json!({}))
}

/// Both ends check the answer against the form (X-ELIC-07).
fn check_form(params: &ElicitParams, answer: &ElicitResult) -> Result<(), Failure> {
    let schema = params.requested_schema.clone().unwrap_or_else(empty_form);
    let content = answer.content.clone().unwrap_or_else(empty);
    attache_schema::check_answer(&schema, &content)
        .map_err(|complaint| Failure::invalid_params(format!("the user's answer: {complaint}")))
}

/// The client cannot be asked this: a code of its own in the modern era (S-MOD-06), a failure that
/// says so before.
fn undeclared(call: &Call, name: &str, required: ClientCapabilities) -> Failure {
    let message = format!("the client does not offer {name}");
    if call.revision.era() == Era::Legacy {
        return Failure::new(message);
    }
    let data = MissingCapabilityData {
        required_capabilities: required,
        ..MissingCapabilityData::default()
    };
    Failure::error(ErrorObject {
        code: codes::MISSING_CAPABILITY,
        message,
        data: Json::from_serialize(&data).ok(),
    })
}

async fn ask_as_request<M: Method>(
    call: &Call,
    params: &M::Params,
    task: Option<&TaskEntry>,
) -> Result<Json, Failure> {
    let limit = call.kernel.limits.max_questions;
    {
        let mut state = call.lock();
        if state.asked >= limit {
            return Err(too_many(limit));
        }
        state.asked += 1;
    }
    let mut related = frame::MetaFields::default();
    if let Some(task) = task {
        related.add(
            meta::RELATED_TASK,
            &serde_json::json!({ "taskId": task.id }),
        )?;
        task.wait_for_input();
    }
    let (id, answer) = call.session.question();
    // Also when the handler is dropped meanwhile, nobody waits for the answer any more.
    let _forget = Forget { call, id };
    let line = frame::request(id, M::NAME, params, &[&related], frame::EmptyParams::Omit)?;
    let gone = || Failure::internal("the client is gone and cannot answer");
    call.outlet.send(line, Sent::Question).map_err(|_| gone())?;
    let reply = answer.await.map_err(|_| gone())?;
    if let Some(task) = task {
        task.go_on();
    }
    reply.map_err(|error| Failure::new(format!("the client refused: {error}")))
}

struct Forget<'a> {
    call: &'a Call,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.call.session.forget_question(self.id);
    }
}
