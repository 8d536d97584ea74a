//! Requests that take several rounds: the server asks something back before it answers.
//!
//! In the modern era a server answers "input required" and the request is repeated with the
//! answers; in 2025-11-25 it may answer that the user has to visit an address first. Both loops
//! end at the same cap (C-MRTR-18, fault 52).

use std::time::Duration;

use attache_protocol::frame::Params;
use attache_protocol::{
    CallTool, Era, GetPrompt, InputRequestKind as Question, InputRequired, InputResponses, Method,
    Payload, ReadResource, ResultKind, Revision, UrlElicitationRequiredData, codes, retry_params,
};

use crate::client::Client;
use crate::error::{Error, Meaning, ServerError};
use crate::handlers::read_question;
use crate::request::Options;
use crate::tasks::Wait;

/// The pause before a repeat that no user took part in, times the number of rounds.
const REPEAT_PAUSE: Duration = Duration::from_millis(50);

impl Client {
    /// Sends a request and follows it to its end, whatever the server makes of it.
    pub(crate) async fn rounds(
        &self,
        method: &str,
        params: &Params,
        options: &mut Options,
    ) -> Result<Payload, Error> {
        let mut time = self.time_for(method, options);
        let answer = self.exchange(method, params, options, &mut time).await;
        match self.sort(method, answer)? {
            Step::Answer(payload) => Ok(payload),
            step => {
                options.left = Some(time.left(self.link()));
                Box::pin(self.further_rounds(method, params, options, step)).await
            }
        }
    }

    pub(crate) async fn further_rounds(
        &self,
        method: &str,
        params: &Params,
        options: &mut Options,
        step: Step,
    ) -> Result<Payload, Error> {
        match self.repeat(method, params, options, step).await? {
            Settled::Answer(payload) => Ok(payload),
            Settled::Task(created) => {
                let whole = self.maximum(options);
                let left = options.left.unwrap_or(whole);
                let wait = Wait::new(method, whole, left);
                self.follow_task(&created, wait).await
            }
        }
    }

    /// Sends a request and repeats it as often as the server asks back; a task that comes of it is
    /// the caller's.
    pub(crate) async fn settle(
        &self,
        method: &str,
        params: &Params,
        options: &mut Options,
    ) -> Result<Settled, Error> {
        let mut time = self.time_for(method, options);
        let answer = self.exchange(method, params, options, &mut time).await;
        let step = self.sort(method, answer)?;
        options.left = Some(time.left(self.link()));
        self.repeat(method, params, options, step).await
    }

    async fn repeat(
        &self,
        method: &str,
        params: &Params,
        options: &mut Options,
        mut step: Step,
    ) -> Result<Settled, Error> {
        let limit = self.link().limits.rounds;
        let mut headers = Headers::OfKnownTools;
        for round in 1..=limit {
            let repeated = match step {
                Step::Answer(payload) => return Ok(Settled::Answer(payload)),
                Step::Task(created) => return Ok(Settled::Task(created)),
                // What is asked now would be answered in a round too many, so nobody is bothered.
                _ if round == limit => break,
                Step::Addresses(error) => {
                    self.visit_addresses(error).await?;
                    params.clone()
                }
                Step::OtherHeaders(error) => {
                    if std::mem::replace(&mut headers, Headers::Renewed) == Headers::Renewed {
                        return Err(Error::Server(error));
                    }
                    // Boxed, as a list is made of requests itself.
                    Box::pin(self.list_tools()).await?;
                    params.clone()
                }
                Step::Questions(asked) => {
                    options.note_questions();
                    if asked.input_requests.is_empty() {
                        pause_before_repeat(round, options).await;
                    }
                    let answers = self.answer_all(method, &asked).await?;
                    retry_params(params, &answers, asked.request_state.as_ref())
                        .map_err(|error| Error::Input(format!("{method}: {error}")))?
                }
            };
            if options.left == Some(Duration::ZERO) {
                return Err(self.timed_out(method, self.maximum(options)));
            }
            let mut time = self.time_for(method, options);
            let answer = self.exchange(method, &repeated, options, &mut time).await;
            options.left = Some(time.left(self.link()));
            step = self.sort(method, answer)?;
        }
        Err(Error::Protocol {
            method: method.to_owned(),
            problem: format!("the server asked back {limit} times without answering"),
        })
    }

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

    /// Sorts a modern result by its kind; a kind nobody declared makes it invalid (C-BASE-12).
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
                Ok(question) => self.link().desk.handlers.answer(question).await,
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
    async fn visit_addresses(&self, error: ServerError) -> Result<(), Error> {
        let asked = error
            .data
            .as_ref()
            .and_then(|data| data.decode::<UrlElicitationRequiredData>().ok());
        let Some(asked) = asked.filter(|asked| !asked.elicitations.is_empty()) else {
            return Err(Error::Server(error));
        };
        for elicitation in asked.elicitations {
            let question = Question::Elicit(Box::new(elicitation));
            let answer = self.link().desk.handlers.answer(question).await;
            let accepted = answer.is_ok_and(|answer| {
                let action = answer.to_value().ok();
                action.is_some_and(|value| value["action"] == "accept")
            });
            if !accepted {
                return Err(Error::Server(error));
            }
        }
        Ok(())
    }
}

/// A server that is asked again and again without any news is asked ever more slowly.
async fn pause_before_repeat(round: usize, options: &mut Options) {
    let pause = REPEAT_PAUSE * u32::try_from(round).unwrap_or(u32::MAX);
    tokio::time::sleep(pause).await;
    options.left = options.left.map(|left| left.saturating_sub(pause));
}

/// What a request came to after all rounds.
pub(crate) enum Settled {
    /// The answer.
    Answer(Payload),
    /// The result that made a task of it.
    Task(Payload),
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

/// Which list of tools the headers of a call were built after.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Headers {
    /// Whatever was known.
    OfKnownTools,
    /// One that was fetched for this call.
    Renewed,
}
