//! The gate every call passes: pins, rules, remembered answers, and the question to the user.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use attache_client::protocol::{Json, Tool};

use super::{
    Answer, Answers, CallOrigin, Drift, Hints, PinState, PinnedServer, Pins, Reason, Verdict,
    decide,
};
use crate::config::{Decision, PolicyRules};
use crate::names::ToolName;
use crate::questions::{self, Approval, QuestionKind, Questions};

/// Decides about calls, asking the user where that is needed.
///
/// Remembering an answer writes a small file and blocks for as long as the disk does; it happens
/// only after a person has answered, so never on the way of an ordinary call.
#[derive(Clone)]
pub struct Gate {
    rules: PolicyRules,
    answers: Arc<Answers>,
    pins: Arc<Pins>,
    questions: Questions,
}

/// A call that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct WantedCall<'a> {
    /// The tool's name.
    pub name: &'a ToolName,
    /// The server as pins know it; `None` for one that has no pins.
    pub server: Option<&'a PinnedServer>,
    /// The rules of its server.
    pub rules: &'a PolicyRules,
    /// How the server describes the tool.
    pub tool: &'a Tool,
    /// The arguments, shown in the question.
    pub arguments: &'a Json,
    /// Who wants it.
    pub asker: CallOrigin,
    /// The number of its request, which questions name.
    pub request: u64,
}

/// A call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    /// Why.
    pub reason: Reason,
    /// The answer or the pin could not be stored for later: why not.
    pub not_stored: Option<String>,
}

/// A call may not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// By a rule or an answer.
    #[error("{name} may not be called: {verdict}")]
    Policy {
        /// The tool.
        name: ToolName,
        /// Why.
        verdict: Verdict,
    },
    /// A person would have to be asked, and no face can.
    #[error("{name} may not be called: {verdict}, and there is nobody to ask")]
    NobodyToAsk {
        /// The tool.
        name: ToolName,
        /// Why there would be a question.
        verdict: Verdict,
    },
    /// The tool is not the one that was approved (S4).
    #[error(
        "{tool} is no longer what was approved; see `attache trust {server}` and accept the \
         difference if it is right",
        tool = .0.name,
        server = .0.name.server
    )]
    Drifted(Drift),
    /// The lock file names the server and does not list the tool (S26).
    #[error("{name} may not be called: {file} does not list it", file = .file.display())]
    NotLocked {
        /// The tool.
        name: ToolName,
        /// The lock file.
        file: PathBuf,
    },
    /// What was approved cannot be read, so nothing is.
    #[error("{name} may not be called: what was approved cannot be read: {problem}")]
    Unreadable {
        /// The tool.
        name: ToolName,
        /// Why not, and what to do about it.
        problem: String,
    },
}

impl Gate {
    /// A gate with the rules for all servers. `answers` and `pins` may be shared.
    pub fn new(
        rules: PolicyRules,
        answers: Arc<Answers>,
        pins: Arc<Pins>,
        questions: Questions,
    ) -> Self {
        Self {
            rules,
            answers,
            pins,
            questions,
        }
    }

    /// The rules for all servers.
    pub fn rules(&self) -> &PolicyRules {
        &self.rules
    }

    /// Decides about a call.
    ///
    /// A tool that was not there when its server's tools were pinned is pinned with its first call
    /// that is approved; from then on a different definition is refused until the difference was
    /// accepted, whatever the origin of the call.
    pub async fn pass(&self, call: WantedCall<'_>) -> Result<Permit, Refused> {
        let WantedCall { name, tool, .. } = call;
        let verdict = self.verdict(call.rules, name, tool, call.asker);
        if verdict.decision == Decision::Deny {
            let name = name.clone();
            return Err(Refused::Policy { name, verdict });
        }
        let pinned = self.pinned(&call).await?;
        let mut permit = Permit {
            reason: verdict.reason.clone(),
            not_stored: None,
        };
        if verdict.decision == Decision::Ask {
            let Some(answer) = self.ask(&call, &verdict).await else {
                let name = name.clone();
                return Err(Refused::NobodyToAsk { name, verdict });
            };
            permit.not_stored = failure(self.answers.remember(name, answer));
            permit.reason = Reason::Asked;
            if matches!(answer, Answer::Deny(_)) {
                return Err(Refused::Policy {
                    name: name.clone(),
                    verdict: Verdict {
                        decision: Decision::Deny,
                        reason: Reason::Asked,
                    },
                });
            }
        }
        if let (Pinned::New, Some(server)) = (pinned, call.server) {
            let (pins, server, tool) = (self.pins.clone(), server.clone(), tool.clone());
            let stored = tokio::task::spawn_blocking(move || pins.accept(&server, [&tool])).await;
            let stored = failure(stored.unwrap_or_else(|error| Err(io::Error::other(error))));
            permit.not_stored = permit.not_stored.or(stored);
        }
        Ok(permit)
    }

    /// Puts the call to the user; none if no face can.
    async fn ask(&self, call: &WantedCall<'_>, verdict: &Verdict) -> Option<Answer> {
        let approval = QuestionKind::Approval(Box::new(Approval {
            tool: call.name.tool.clone(),
            title: call.tool.title.clone(),
            description: call.tool.description.clone(),
            arguments: call.arguments.clone(),
            because: verdict.to_string(),
        }));
        let answer = self
            .questions
            .ask(Some(call.request), &call.name.server, approval);
        match answer.await? {
            questions::Answer::Allow { remember, .. } => Some(Answer::Allow(remember)),
            questions::Answer::Deny { remember, .. } => Some(Answer::Deny(remember)),
            // The queue takes no other answer to this question.
            _ => None,
        }
    }

    /// Whether the user accepts a tool as it is now. A lock file is not theirs to overrule here.
    async fn accepts(&self, call: &WantedCall<'_>, drift: &Drift) -> bool {
        if drift.lock.is_some() {
            return false;
        }
        let question = QuestionKind::Drift(Box::new(drift.clone()));
        let answer = self
            .questions
            .ask(Some(call.request), &call.name.server, question);
        matches!(answer.await, Some(questions::Answer::Accept { .. }))
    }

    /// Whether the tool may be called as far as pins are concerned.
    async fn pinned(&self, call: &WantedCall<'_>) -> Result<Pinned, Refused> {
        let Some(server) = call.server else {
            return Ok(Pinned::Same);
        };
        match self.pins.state(server, call.tool) {
            Ok(PinState::New) => Ok(Pinned::New),
            Ok(PinState::Same) => Ok(Pinned::Same),
            // What is accepted is pinned as a tool that is new.
            Ok(PinState::Drifted(drift)) if self.accepts(call, &drift).await => Ok(Pinned::New),
            Ok(PinState::Drifted(drift)) => Err(Refused::Drifted(drift)),
            Ok(PinState::NotLocked { file }) => Err(Refused::NotLocked {
                name: call.name.clone(),
                file,
            }),
            Err(error) => Err(Refused::Unreadable {
                name: call.name.clone(),
                problem: error.to_string(),
            }),
        }
    }

    /// The decision without asking anybody: *ask* means that there would be a question.
    pub fn verdict(
        &self,
        server_rules: &PolicyRules,
        name: &ToolName,
        tool: &Tool,
        asker: CallOrigin,
    ) -> Verdict {
        let configured = decide(&self.rules, server_rules, name, Hints::of(tool));
        if configured.decision != Decision::Ask {
            return configured;
        }
        if asker == CallOrigin::Person && configured.reason == Reason::Unconfigured {
            return Verdict {
                decision: Decision::Allow,
                reason: Reason::Typed,
            };
        }
        let (decision, reason) = match (self.answers.recall(name), asker) {
            (Some(Answer::Allow(remember)), _) => (Decision::Allow, Reason::Answered(remember)),
            (Some(Answer::Deny(remember)), CallOrigin::Program) => {
                (Decision::Deny, Reason::Answered(remember))
            }
            // A person who types the call may have changed their mind.
            (Some(Answer::Deny(_)), CallOrigin::Person) | (None, _) => return configured,
        };
        Verdict { decision, reason }
    }
}

/// How a tool that may be called stands to its pin.
#[derive(Clone, Copy)]
enum Pinned {
    New,
    Same,
}

fn failure(stored: io::Result<()>) -> Option<String> {
    stored.err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::config::{ServerConfig, ServerName, Source};
    use crate::journal::Journal;
    use crate::policy::{Remember, Scope};
    use crate::questions::{Question, Topic};
    use attache_client::Server;

    /// A face that gives one answer always, and keeps the questions.
    struct Script {
        journal: Journal,
        asked: Arc<Mutex<Vec<Arc<Question>>>>,
    }

    impl Script {
        fn approvals(&self) -> Vec<Approval> {
            let asked = self.asked.lock();
            let approvals = asked.iter().filter_map(|question| match &question.kind {
                QuestionKind::Approval(approval) => Some((**approval).clone()),
                _ => None,
            });
            approvals.collect()
        }
    }

    const fn allow(remember: Remember) -> questions::Answer {
        let scope = Scope::Tool;
        questions::Answer::Allow { remember, scope }
    }

    const fn deny(remember: Remember) -> questions::Answer {
        let scope = Scope::Tool;
        questions::Answer::Deny { remember, scope }
    }

    fn name() -> ToolName {
        ToolName::new(ServerName::new("notes").unwrap(), "delete")
    }

    fn tool(description: &str) -> Tool {
        let mut tool = Tool::new("delete", Json::parse(r#"{"type":"object"}"#).unwrap());
        tool.description = Some(description.to_owned());
        tool
    }

    fn gate(rules: PolicyRules, answer: questions::Answer) -> (Gate, Script) {
        let (gate, journal) = unattended(rules);
        let questions = Questions::new(journal.core.clone());
        let topic = match answer {
            questions::Answer::Accept { .. } => Topic::Drift,
            _ => Topic::Approval,
        };
        let mut face = questions.attach([topic]);
        let asked = Arc::<Mutex<Vec<Arc<Question>>>>::default();
        let seen = asked.clone();
        tokio::spawn(async move {
            while let Some(question) = face.next().await {
                seen.lock().push(question.clone());
                questions.answer(question.id, answer.clone()).unwrap();
            }
        });
        (gate, Script { journal, asked })
    }

    fn unattended(rules: PolicyRules) -> (Gate, Journal) {
        let journal = Journal::new(None);
        let gate = Gate::new(
            rules,
            Arc::new(Answers::in_memory()),
            Arc::new(Pins::in_memory()),
            Questions::new(journal.core.clone()),
        );
        (gate, journal)
    }

    async fn pass(gate: &Gate, tool: &Tool, asker: CallOrigin) -> Result<Permit, Refused> {
        gate.pass(WantedCall {
            name: &name(),
            server: Some(&server()),
            rules: &PolicyRules::default(),
            tool,
            arguments: &Json::parse(r#"{"id":7}"#).unwrap(),
            asker,
            request: 1,
        })
        .await
    }

    fn server() -> PinnedServer {
        let server = Server::stdio("notes", [""; 0]);
        let config = ServerConfig::new(name().server, server, Source::program());
        PinnedServer::of(&config)
    }

    // C-TOOL-17.
    #[tokio::test]
    async fn a_program_is_asked_for_and_the_question_shows_the_arguments() {
        let (gate, script) = gate(PolicyRules::default(), allow(Remember::Session));
        for _ in 0..2 {
            pass(&gate, &tool("Deletes."), CallOrigin::Program)
                .await
                .unwrap();
        }
        let approvals = script.approvals();
        assert_eq!(approvals.len(), 1, "the session's answer is remembered");
        assert_eq!(approvals[0].arguments.as_str(), r#"{"id":7}"#);
        assert_eq!(approvals[0].tool, "delete");
        assert_eq!(approvals[0].description.as_deref(), Some("Deletes."));
        let question = script.asked.lock()[0].clone();
        assert_eq!(
            (question.server.as_str(), question.request),
            ("notes", Some(1))
        );
        assert_eq!(script.journal.snapshot().questions.len(), 0);
    }

    #[tokio::test]
    async fn once_means_once_and_a_refusal_is_remembered_for_programs() {
        let (asking, script) = gate(PolicyRules::default(), allow(Remember::Once));
        for _ in 0..2 {
            pass(&asking, &tool(""), CallOrigin::Program).await.unwrap();
        }
        assert_eq!(script.approvals().len(), 2);

        let (refusing, script) = gate(PolicyRules::default(), deny(Remember::Session));
        for _ in 0..2 {
            pass(&refusing, &tool(""), CallOrigin::Program)
                .await
                .unwrap_err();
        }
        assert_eq!(script.approvals().len(), 1);
        pass(&refusing, &tool(""), CallOrigin::Person)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_typed_call_is_its_own_consent_but_not_above_a_denial() {
        let (typed, _journal) = unattended(PolicyRules::default());
        let permit = pass(&typed, &tool(""), CallOrigin::Person).await.unwrap();
        assert_eq!(permit.reason, Reason::Typed);
        pass(&typed, &tool(""), CallOrigin::Program)
            .await
            .unwrap_err();

        let rules = PolicyRules {
            deny: vec!["*/delete".into()],
            ..PolicyRules::default()
        };
        let (denying, script) = gate(rules, allow(Remember::Always));
        let refused = pass(&denying, &tool(""), CallOrigin::Person)
            .await
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            "notes/delete may not be called: the policy for all servers forbids it, by \"*/delete\""
        );
        assert!(script.approvals().is_empty());
    }

    #[tokio::test]
    async fn a_typed_call_is_asked_about_where_a_rule_says_so() {
        let asks = || PolicyRules {
            ask: vec!["*/delete".into()],
            ..PolicyRules::default()
        };
        let (allowing, script) = gate(asks(), allow(Remember::Always));
        for _ in 0..2 {
            pass(&allowing, &tool(""), CallOrigin::Person)
                .await
                .unwrap();
        }
        assert_eq!(script.approvals().len(), 1, "always is remembered");
        assert_eq!(script.approvals()[0].arguments.as_str(), r#"{"id":7}"#);

        // A refusal binds programs; the person is asked again.
        let (refusing, script) = gate(asks(), deny(Remember::Always));
        for _ in 0..2 {
            pass(&refusing, &tool(""), CallOrigin::Person)
                .await
                .unwrap_err();
        }
        assert_eq!(script.approvals().len(), 2);

        let (nobody, _journal) = unattended(asks());
        let refused = pass(&nobody, &tool(""), CallOrigin::Person)
            .await
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            "notes/delete may not be called: the policy for all servers says to ask first, by \
             \"*/delete\", and there is nobody to ask"
        );
    }

    #[tokio::test]
    async fn a_tool_that_changed_after_its_approval_is_blocked_for_everybody() {
        let rules = PolicyRules {
            allow: vec!["*".into()],
            ..PolicyRules::default()
        };
        let (gate, script) = gate(rules, allow(Remember::Always));
        pass(&gate, &tool("Deletes a note."), CallOrigin::Program)
            .await
            .unwrap();
        for asker in [CallOrigin::Program, CallOrigin::Person] {
            let refused = pass(&gate, &tool("Deletes all."), asker).await.unwrap_err();
            assert!(matches!(refused, Refused::Drifted(_)), "{refused}");
        }
        gate.pins
            .accept(&server(), [&tool("Deletes all.")])
            .unwrap();
        pass(&gate, &tool("Deletes all."), CallOrigin::Program)
            .await
            .unwrap();
        assert!(script.approvals().is_empty());
    }
    // S4.
    #[tokio::test]
    async fn a_person_accepts_what_a_tool_has_become_and_it_is_pinned() {
        let rules = PolicyRules {
            allow: vec!["*".into()],
            ..PolicyRules::default()
        };
        let (gate, script) = gate(rules, questions::Answer::Accept { content: None });
        let origin = CallOrigin::Program;
        pass(&gate, &tool("Deletes a note."), origin).await.unwrap();
        for _ in 0..2 {
            pass(&gate, &tool("Deletes all."), origin).await.unwrap();
        }
        let asked = script.asked.lock();
        assert_eq!(asked.len(), 1, "what was accepted is pinned");
        let QuestionKind::Drift(drift) = &asked[0].kind else {
            panic!("expected a drift, got {:?}", asked[0].kind);
        };
        assert_eq!(drift.paths, ["description"]);
    }
}
