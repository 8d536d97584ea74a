//! What this side can answer when a server asks: roots, sampling, elicitation.
//!
//! The embedder supplies handlers; capabilities are declared from which of them exist, once at
//! `initialize` or on each request. The same handlers serve a legacy server's requests and the
//! questions in a modern server's interim results.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use attache_protocol::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitMode,
    ElicitParams, ElicitResult, ElicitationCapability, ErrorObject, InputRequest,
    InputRequestKind as Question, Json, ListRootsResult, Root, RootsCapability, SamplingCapability,
    UnreadableInputRequest, check_tool_pairing, codes,
};
use parking_lot::RwLock;

type Answering<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type SamplingAnswer = Result<CreateMessageResult, Refusal>;

/// A user or a policy said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why, in words for the server.
    pub reason: String,
}

impl Refusal {
    /// A refusal with a reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// Whether sampling requests may bring tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SamplingTools {
    /// They may not (C-SAMP-03).
    #[default]
    Refused,
    /// They may.
    Allowed,
}

/// Which forms of elicitation the handler can serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElicitationModes {
    /// Forms only.
    #[default]
    Form,
    /// Forms and addresses to visit (from 2025-11-25).
    FormAndUrl,
}

/// The handlers an embedder supplied.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    roots: Option<Roots>,
    sampling: Option<Sampling>,
    elicitation: Option<Elicitation>,
}

/// Where the folders come from that a server may work in.
#[derive(Clone)]
enum Roots {
    /// They are known.
    Listed(Arc<RwLock<Vec<Root>>>),
    /// The handler is asked each time.
    Asked(Arc<dyn Fn() -> Answering<Result<Vec<Root>, Refusal>> + Send + Sync>),
}

#[derive(Clone)]
struct Sampling {
    tools: SamplingTools,
    answer: Arc<dyn Fn(CreateMessageParams) -> Answering<SamplingAnswer> + Send + Sync>,
}

#[derive(Clone)]
struct Elicitation {
    modes: ElicitationModes,
    answer: Arc<dyn Fn(ElicitParams) -> Answering<ElicitResult> + Send + Sync>,
}

/// Reads a question; an error is what a legacy server is answered.
pub(crate) fn read_question(request: &InputRequest) -> Result<Question, ErrorObject> {
    request.kind().map_err(|unreadable| {
        let code = match unreadable {
            UnreadableInputRequest::UnknownMethod(_) => codes::METHOD_NOT_FOUND,
            UnreadableInputRequest::BadParams { .. } => codes::INVALID_PARAMS,
        };
        ErrorObject::new(code, unreadable.to_string())
    })
}

impl Handlers {
    pub(crate) fn set_roots(&mut self, roots: Vec<Root>) {
        self.roots = Some(Roots::Listed(Arc::new(RwLock::new(roots))));
    }

    pub(crate) fn set_asked_roots<F, A>(&mut self, handler: F)
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<Vec<Root>, Refusal>> + Send + 'static,
    {
        self.roots = Some(Roots::Asked(Arc::new(move || Box::pin(handler()))));
    }

    /// Replaces the roots of a running connection; false if none were declared.
    pub(crate) fn replace_roots(&self, roots: Vec<Root>) -> bool {
        let Some(Roots::Listed(current)) = &self.roots else {
            return false;
        };
        *current.write() = roots;
        true
    }

    pub(crate) fn set_sampling<F, A>(&mut self, tools: SamplingTools, handler: F)
    where
        F: Fn(CreateMessageParams) -> A + Send + Sync + 'static,
        A: Future<Output = SamplingAnswer> + Send + 'static,
    {
        self.sampling = Some(Sampling {
            tools,
            answer: Arc::new(move |params| Box::pin(handler(params))),
        });
    }

    pub(crate) fn set_elicitation<F, A>(&mut self, modes: ElicitationModes, handler: F)
    where
        F: Fn(ElicitParams) -> A + Send + Sync + 'static,
        A: Future<Output = ElicitResult> + Send + 'static,
    {
        self.elicitation = Some(Elicitation {
            modes,
            answer: Arc::new(move |params| Box::pin(handler(params))),
        });
    }

    /// What to declare, before a revision takes away what it lacks.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let empty = || Some(Json::from(serde_json::json!({})));
        let mut capabilities = ClientCapabilities::default();
        if let Some(roots) = &self.roots {
            capabilities.roots = Some(RootsCapability {
                // Only a list that is known here can be replaced.
                list_changed: matches!(roots, Roots::Listed(_)).then_some(true),
                ..RootsCapability::default()
            });
        }
        if let Some(sampling) = &self.sampling {
            let mut capability = SamplingCapability::default();
            if sampling.tools == SamplingTools::Allowed {
                capability.tools = empty();
            }
            capabilities.sampling = Some(capability);
        }
        if let Some(elicitation) = &self.elicitation {
            let mut capability = ElicitationCapability::default();
            if elicitation.modes == ElicitationModes::FormAndUrl {
                capability.form = empty();
                capability.url = empty();
            }
            capabilities.elicitation = Some(capability);
        }
        capabilities
    }

    /// Answers a question; an error is what a legacy server is answered, and what ends a modern
    /// call (C-MRTR-17).
    pub(crate) async fn answer(&self, question: Question) -> Result<Json, ErrorObject> {
        match question {
            Question::ListRoots => self.answer_roots().await,
            Question::CreateMessage(params) => self.answer_sampling(*params).await,
            Question::Elicit(params) => self.answer_elicitation(*params).await,
        }
    }

    /// Whether a person may have to be asked for the answer.
    pub(crate) fn concerns_a_person(&self, question: &Question) -> bool {
        match question {
            Question::ListRoots => matches!(self.roots, Some(Roots::Asked(_))),
            Question::CreateMessage(_) | Question::Elicit(_) => true,
        }
    }

    async fn answer_roots(&self) -> Result<Json, ErrorObject> {
        let roots = match &self.roots {
            None => return Err(undeclared("roots")),
            Some(Roots::Listed(roots)) => roots.read().clone(),
            Some(Roots::Asked(answer)) => {
                let refused = |it: Refusal| ErrorObject::new(codes::USER_REFUSED, it.reason);
                answer().await.map_err(refused)?
            }
        };
        write(&ListRootsResult::new(roots))
    }

    async fn answer_sampling(&self, params: CreateMessageParams) -> Result<Json, ErrorObject> {
        let handler = self
            .sampling
            .as_ref()
            .ok_or_else(|| undeclared("sampling"))?;
        let brings_tools = params.tools.is_some() || params.tool_choice.is_some();
        if brings_tools && handler.tools == SamplingTools::Refused {
            return Err(ErrorObject::new(
                codes::INVALID_PARAMS,
                "this client did not declare tools in sampling",
            ));
        }
        // A conversation with a hole in it is not the one the server means.
        if let Some(rejected) = params.messages.rejected.first() {
            let problem = format!("a message is malformed: {}", rejected.reason);
            return Err(ErrorObject::new(codes::INVALID_PARAMS, problem));
        }
        check_tool_pairing(&params.messages)
            .map_err(|problem| ErrorObject::new(codes::INVALID_PARAMS, problem))?;
        match (handler.answer)(params).await {
            Ok(result) => write(&result),
            Err(refusal) => Err(ErrorObject::new(codes::USER_REFUSED, refusal.reason)),
        }
    }

    async fn answer_elicitation(&self, params: ElicitParams) -> Result<Json, ErrorObject> {
        let handler = self
            .elicitation
            .as_ref()
            .ok_or_else(|| undeclared("elicitation"))?;
        let mode = params.mode();
        let served = match mode {
            ElicitMode::Form => true,
            ElicitMode::Url => handler.modes == ElicitationModes::FormAndUrl,
            ElicitMode::Other => false,
        };
        if !served {
            return Err(ErrorObject::new(
                codes::INVALID_PARAMS,
                "this client did not declare that mode of elicitation",
            ));
        }
        let schema = params.requested_schema.clone();
        let answer = (handler.answer)(params).await;
        if let (ElicitAction::Accept, ElicitMode::Form, Some(schema)) =
            (&answer.action, mode, schema)
        {
            check_form(&schema, answer.content.as_ref())?;
        }
        write(&answer)
    }
}

/// An accepted form must fit the schema that was asked for (X-ELIC-07).
fn check_form(schema: &Json, content: Option<&Json>) -> Result<(), ErrorObject> {
    if !schema.as_str().trim_start().starts_with('{') {
        let problem = "the form is malformed: its schema is no object";
        return Err(ErrorObject::new(codes::INVALID_PARAMS, problem));
    }
    let checked = match content {
        Some(content) => attache_schema::check_answer(schema, content),
        None => Err("it is missing".to_owned()),
    };
    checked.map_err(|problem| {
        let problem = format!("the answer does not fit the form: {problem}");
        ErrorObject::new(codes::INTERNAL_ERROR, problem)
    })
}

fn undeclared(what: &str) -> ErrorObject {
    ErrorObject::new(
        codes::METHOD_NOT_FOUND,
        format!("this client did not declare {what}"),
    )
}

fn write<T: serde::Serialize>(value: &T) -> Result<Json, ErrorObject> {
    Json::from_serialize(value)
        .map_err(|error| ErrorObject::new(codes::INTERNAL_ERROR, error.to_string()))
}
