//! The queue alone.

use std::sync::Arc;

use attache_client::protocol::{Content, CreateMessageResult, Json, Root};

use super::*;
use crate::events::EventKind;
use crate::journal::Journal;

fn server() -> ServerName {
    ServerName::new("notes").unwrap()
}

fn approval() -> QuestionKind {
    QuestionKind::Approval(Box::new(Approval {
        tool: "delete".into(),
        title: None,
        description: Some("Deletes.".into()),
        arguments: Json::parse(r#"{"id":12345678901234567890123}"#).unwrap(),
        because: "no policy says that it may be called".into(),
    }))
}

fn form() -> QuestionKind {
    let params = r#"{"message":"Who?","requestedSchema":{"type":"object",
        "properties":{"age":{"type":"integer","minimum":1}},"required":["age"]}}"#;
    QuestionKind::ElicitForm(serde_json::from_str(params).unwrap())
}

fn url() -> QuestionKind {
    let params =
        r#"{"mode":"url","message":"Go","url":"https://example.org/","elicitationId":"7"}"#;
    QuestionKind::ElicitUrl(serde_json::from_str(params).unwrap())
}

fn sampling() -> QuestionKind {
    let params = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],
        "maxTokens":9}"#;
    QuestionKind::Sampling(serde_json::from_str(params).unwrap())
}

fn drift() -> QuestionKind {
    QuestionKind::Drift(Box::new(Drift {
        name: crate::names::ToolName::new(server(), "delete"),
        lock: None,
        paths: vec!["description".into()],
        lines: vec![
            crate::policy::DiffLine::Removed("a".into()),
            crate::policy::DiffLine::Gap,
        ],
    }))
}

const ALLOW: Answer = Answer::Allow {
    remember: Remember::Once,
    scope: Scope::Tool,
};

fn accept(content: Option<&str>) -> Answer {
    let content = content.map(|content| Json::parse(content).unwrap());
    Answer::Accept { content }
}

fn message() -> Answer {
    Answer::Message(Box::new(CreateMessageResult::new("m", Content::text("hi"))))
}

fn refuse() -> Answer {
    Answer::Refuse {
        reason: "no".into(),
    }
}

#[test]
fn every_kind_of_question_takes_its_own_answers_only() {
    let roots = || Answer::Roots(vec![Root::new("file:///x")]);
    let answers = [
        ALLOW,
        Answer::Deny {
            remember: Remember::Always,
            scope: Scope::Server,
        },
        accept(None),
        accept(Some(r#"{"age":7}"#)),
        accept(Some(r#"{"age":0}"#)),
        Answer::Decline,
        Answer::Cancel,
        message(),
        roots(),
        refuse(),
    ];
    for (kind, fitting) in [
        (approval(), &[0, 1][..]),
        (drift(), &[2, 5, 6]),
        (form(), &[3, 5, 6]),
        (url(), &[2, 5, 6]),
        (sampling(), &[7, 9]),
        (QuestionKind::Roots, &[8, 9]),
    ] {
        let fits = |answer: &Answer| kind.check(answer).is_ok();
        let found: Vec<usize> = (0..answers.len())
            .filter(|at| fits(&answers[*at]))
            .collect();
        assert_eq!(found, fitting, "{kind:?}");
    }
}

#[test]
fn questions_and_answers_are_plain_data_in_both_directions() {
    for kind in [
        approval(),
        drift(),
        form(),
        url(),
        sampling(),
        QuestionKind::Roots,
    ] {
        let question = Question {
            id: 1,
            since_ms: 2,
            request: Some(3),
            server: server(),
            who: kind.who(),
            kind,
        };
        let text = serde_json::to_string(&question).unwrap();
        let read: Question = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
    let question = Question {
        id: 1,
        since_ms: 2,
        request: None,
        server: server(),
        who: Answerer::Person,
        kind: approval(),
    };
    assert_eq!(
        serde_json::to_string(&question).unwrap(),
        r#"{"id":1,"since_ms":2,"server":"notes","who":"person","kind":{"approval":{"tool":"delete","description":"Deletes.","arguments":{"id":12345678901234567890123},"because":"no policy says that it may be called"}}}"#
    );
    for (answer, expected) in [
        (ALLOW, r#"{"allow":{"remember":"once","scope":"tool"}}"#),
        (
            accept(Some("{\"a\":1}")),
            r#"{"accept":{"content":{"a":1}}}"#,
        ),
        (Answer::Decline, r#""decline""#),
        (refuse(), r#"{"refuse":{"reason":"no"}}"#),
        (Answer::Roots(vec![]), r#"{"roots":[]}"#),
    ] {
        assert_eq!(serde_json::to_string(&answer).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Answer>(expected).unwrap(), answer);
    }
    let short: Answer = serde_json::from_str(r#"{"allow":{}}"#).unwrap();
    assert_eq!(short, ALLOW);
}

/// The queue of a journal, and what it tells.
fn queue() -> (Journal, Questions) {
    let journal = Journal::new(Some(1000));
    let questions = Questions::new(journal.core.clone());
    (journal, questions)
}

fn ask(questions: &Questions, kind: QuestionKind) -> tokio::task::JoinHandle<Option<Answer>> {
    let questions = questions.clone();
    tokio::spawn(async move { questions.ask(None, &server(), kind).await })
}

async fn next(face: &mut Attached) -> Arc<Question> {
    face.next().await.unwrap()
}

fn endings(journal: &Journal) -> Vec<String> {
    let mut events = journal.events_after(0).unwrap();
    let mut endings = Vec::new();
    while let Some(event) = events.try_next() {
        match &event.kind {
            EventKind::Answered { question, answer } => {
                endings.push(format!("{question} {answer:?}"));
            }
            EventKind::Withdrawn { question, .. } => endings.push(format!("{question} withdrawn")),
            _ => {}
        }
    }
    endings
}

#[tokio::test]
async fn the_first_answer_wins_and_the_others_see_it_gone() {
    let (journal, questions) = queue();
    let (mut one, mut other) = (questions.attach(Topic::ALL), questions.attach(Topic::ALL));
    let asked = ask(&questions, approval());
    let question = next(&mut one).await;
    assert_eq!(next(&mut other).await.id, question.id);
    assert_eq!(questions.open().len(), 1);

    let misfit = questions.answer(question.id, Answer::Decline);
    assert!(
        matches!(misfit, Err(AnswerError::Misfit { .. })),
        "{misfit:?}"
    );
    questions.answer(question.id, ALLOW).unwrap();
    questions.closed(question.id).await;
    let late = questions.answer(question.id, Answer::Decline);
    assert_eq!(late, Err(AnswerError::Closed(question.id)));
    let unknown = questions.answer(question.id + 1, ALLOW);
    assert_eq!(unknown, Err(AnswerError::Unknown(question.id + 1)));
    assert_eq!(asked.await.unwrap(), Some(ALLOW));
    assert_eq!(questions.open().len(), 0);
    assert_eq!(endings(&journal), ["1 Allowed"]);
}

#[tokio::test]
async fn a_question_is_refused_without_a_face_that_can_answer_it() {
    let (journal, questions) = queue();
    assert_eq!(ask(&questions, approval()).await.unwrap(), None);
    let mut reader = questions.attach([Topic::Sampling]);
    assert_eq!(ask(&questions, approval()).await.unwrap(), None);

    // A face that leaves takes its questions with it, unless another can answer them.
    let also = questions.attach([Topic::Sampling, Topic::Approval]);
    let approvals = ask(&questions, approval());
    let samplings = ask(&questions, sampling());
    next(&mut reader).await;
    drop(also);
    assert_eq!(approvals.await.unwrap(), None);
    assert_eq!(questions.open().len(), 1);
    drop(reader);
    assert_eq!(samplings.await.unwrap(), None);
    assert_eq!(endings(&journal).len(), 2);
}

#[tokio::test]
async fn a_question_is_withdrawn_when_nobody_waits_for_it() {
    let (journal, questions) = queue();
    let mut face = questions.attach(Topic::ALL);
    let asked = ask(&questions, form());
    let question = next(&mut face).await;
    asked.abort();
    questions.closed(question.id).await;

    // A question of a request that has ended is withdrawn too.
    let asker = questions.clone();
    let asked = tokio::spawn(async move { asker.ask(Some(9), &server(), form()).await });
    let question = next(&mut face).await;
    journal.ended(&server(), 8, None, 0);
    assert_eq!(questions.open().len(), 1);
    journal.ended(&server(), 9, None, 0);
    questions.closed(question.id).await;
    assert_eq!(asked.await.unwrap(), None);
    assert_eq!(endings(&journal), ["1 withdrawn", "2 withdrawn"]);
    drop(journal);
    assert!(face.next().await.is_none(), "the host is gone");
}

#[tokio::test]
async fn the_queue_is_bounded() {
    let (_journal, questions) = queue();
    let mut face = questions.attach(Topic::ALL);
    let asked: Vec<_> = (0..MOST_QUESTIONS)
        .map(|_| ask(&questions, approval()))
        .collect();
    for _ in 0..MOST_QUESTIONS {
        next(&mut face).await;
    }
    assert_eq!(ask(&questions, approval()).await.unwrap(), None);
    assert_eq!(questions.open().len(), MOST_QUESTIONS);
    for asked in asked {
        asked.abort();
    }
}

#[tokio::test]
async fn folders_are_asked_for_once() {
    let (journal, questions) = queue();
    let mut face = questions.attach([Topic::Roots]);
    let asker = questions.clone();
    let asked = tokio::spawn(async move { asker.roots(&server()).await });
    let question = next(&mut face).await;
    let roots = Answer::Roots(vec![Root::new("file:///x")]);
    questions.answer(question.id, roots.clone()).unwrap();
    assert_eq!(asked.await.unwrap(), Some(roots.clone()));
    assert_eq!(questions.roots(&server()).await, Some(roots));
    assert_eq!(endings(&journal), ["1 Roots"]);
}
