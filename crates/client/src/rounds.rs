//! What is done between two rounds of a request, when the server asks something back before it
//! answers.
//!
//! In the modern era a server answers "input required" and the request is repeated with the
//! answers; in 2025-11-25 it may answer that the user has to visit an address first. The request
//! itself (`request`) goes from round to round and ends at a cap.

use std::time::Duration;

use attache_protocol::frame::Params;
use attache_protocol::{
    CallTool, Era, GetPrompt, InputRequestKind as Question, InputRequired, InputResponses, Method,
    Payload, ReadResource, ResultKind, Revision, UrlElicitationRequiredData, codes, retry_params,
};

use crate::client::Client;
use crate::error::{Error, Meaning, ServerError};
use crate::handlers::read_question;
use crate::tasks::Wait;

/// The pause before a repeat that no user took part in, times the number of rounds.
const REPEAT_PAUSE: Duration = Duration::from_millis(50);

impl Client {
    /// Sorts the outcome of a round by what the server wants next.
    pub(crate) fn sort(&self, method: &str, answer: Result<Payload, Error>) -> Result<Step, Error> {
        match answer {
            Ok(payload) => self.sort_result(method, payload),
            Err(Error::Server(error)) if error.meaning == Meaning::UrlElicitationRequired => {
                Ok(Step::Addresses(error))
            }
            Err(Error::Server(error)) if self.headers_may_be_outdated(method, &error) => {
                Ok(Step::OtherHeaders(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a refusal can come from headers built after an outdated list of tools. The request
    /// was refused, so it had no effect (C-SHM-20).
    fn headers_may_be_outdated(&self, method: &str, error: &ServerError) -> bool {
        error.code == codes::HEADER_MISMATCH
            && method == CallTool::NAME
            && self.link().mirrors_in_headers()
    }

    /// Sorts a modern result by its kind; a kind that was not declared makes it invalid (C-BASE-12).
    fn sort_result(&self, method: &str, payload: Payload) -> Result<Step, Error> {
        if self.link().revision().map(Revision::era) != Some(Era::Modern) {
            return Ok(Step::Answer(payload));
        }
        let may_ask = matches!(
            method,
            CallTool::NAME | GetPrompt::NAME | ReadResource::NAME
        );
        match ResultKind::of(&payload) {
            ResultKind::Complete => Ok(Step::Answer(payload)),
            ResultKind::InputRequired if may_ask => payload
                .decode()
                .map(Step::Questions)
                .map_err(|error| self.undecodable(method, error)),
            ResultKind::Task if method == CallTool::NAME && self.declares_tasks() => {
                Ok(Step::Task(payload))
            }
            kind => Err(self.undecodable(
                method,
                format_args!("a result of the kind {kind:?} is not allowed here"),
            )),
        }
    }

    /// Answers the questions of a round; the request is repeated with the answers.
    pub(crate) async fn answer_questions(
        &self,
        method: &str,
        params: &Params,
        asked: &InputRequired,
    ) -> Result<Next, Error> {
        let answers = self.answer_all(method, asked).await?;
        retry_params(params, &answers, asked.request_state.as_ref())
            .map(|params| Next::Repeat(Some(params)))
            .map_err(|error| Error::Input(format!("{method}: {error}")))
    }

    /// Waits for the task that a call has become.
    pub(crate) async fn follow_to_end(
        &self,
        method: &str,
        created: &Payload,
        whole: Duration,
        left: Duration,
    ) -> Result<Next, Error> {
        let wait = Wait::new(method, whole, left);
        self.follow_task(created, wait).await.map(Next::Answer)
    }

    /// Answers every question, under its own key (C-MRTR-12). A question that is refused, other
    /// than an elicitation, ends the call (C-MRTR-17).
    pub(crate) async fn answer_all(
        &self,
        method: &str,
        asked: &InputRequired,
    ) -> Result<InputResponses, Error> {
        let mut answers = InputResponses::new();
        for (key, request) in &asked.input_requests {
            let answer = match read_question(request) {
                Ok(question) => self.link().server_requests.handlers.answer(question).await,
                Err(error) => Err(error),
            };
            let answer = answer.map_err(|error| Error::Refused {
                method: method.to_owned(),
                reason: format!("{} was not answered: {}", request.method, error.message),
            })?;
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }

    /// The user has to visit addresses before the request can succeed (2025-11-25).
    pub(crate) async fn visit_addresses(&self, error: ServerError) -> Result<Next, Error> {
        let asked = error
            .data
            .as_ref()
            .and_then(|data| data.decode::<UrlElicitationRequiredData>().ok());
        let Some(asked) = asked.filter(|asked| !asked.elicitations.is_empty()) else {
            return Err(Error::Server(error));
        };
        for elicitation in asked.elicitations {
            let question = Question::Elicit(Box::new(elicitation));
            let answer = self.link().server_requests.handlers.answer(question).await;
            let accepted = answer.is_ok_and(|answer| {
                let action = answer.to_value().ok();
                action.is_some_and(|value| value["action"] == "accept")
            });
            if !accepted {
                return Err(Error::Server(error));
            }
        }
        Ok(Next::Repeat(None))
    }
}

/// A server that is asked again and again without any news is asked ever more slowly.
pub(crate) fn pause_before_repeat(asked: &InputRequired, round: usize) -> Duration {
    match asked.input_requests.is_empty() {
        true => REPEAT_PAUSE * u32::try_from(round).unwrap_or(u32::MAX),
        false => Duration::ZERO,
    }
}

/// How a request goes on.
pub(crate) enum Next {
    /// It is sent again, with its own params or with these.
    Repeat(Option<Params>),
    /// It has its answer.
    Answer(Payload),
}

/// What a server's answer asks for next.
pub(crate) enum Step {
    /// Nothing: it is the answer.
    Answer(Payload),
    /// Answers to questions.
    Questions(InputRequired),
    /// Patience: the work goes on as a task.
    Task(Payload),
    /// The user has to visit addresses first.
    Addresses(ServerError),
    /// Headers that fit the tool as it is now.
    OtherHeaders(ServerError),
}
