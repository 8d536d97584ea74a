//! What the tests share: an evaluator on a runtime, and short ways to ask.

use std::future::Future;
use std::time::Duration;

use attache_builtin::lisp::{
    Answer, Evaluator, Failed, LowerLimits, Progress, Request, SessionState, Settings,
};

/// Nothing here takes that long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
}

pub(crate) fn evaluator() -> Evaluator {
    Evaluator::new(Settings::default())
}

pub(crate) fn request(code: &str) -> Request {
    Request {
        code: code.to_owned(),
        ..Request::default()
    }
}

pub(crate) fn in_session(name: &str, code: &str) -> Request {
    Request {
        session: Some(name.to_owned()),
        ..request(code)
    }
}

pub(crate) async fn ask(evaluator: &Evaluator, request: Request) -> Answer {
    evaluator.evaluate(request, |_: Progress| {}).await.unwrap()
}

pub(crate) async fn value(evaluator: &Evaluator, code: &str) -> String {
    ask(evaluator, request(code)).await.result.unwrap().value
}

pub(crate) async fn failure(evaluator: &Evaluator, request: Request) -> Failed {
    ask(evaluator, request).await.result.unwrap_err()
}

/// The value in a session, or the kind of the failure, and what became of the session.
pub(crate) async fn step(
    evaluator: &Evaluator,
    name: &str,
    code: &str,
) -> (String, Option<SessionState>) {
    let answer = ask(evaluator, in_session(name, code)).await;
    let shown = match answer.result {
        Ok(evaluated) => evaluated.value,
        Err(failed) => format!("!{}", failed.kind),
    };
    (shown, answer.session)
}

pub(crate) fn lowered(change: impl FnOnce(&mut LowerLimits)) -> LowerLimits {
    let mut limits = LowerLimits::default();
    change(&mut limits);
    limits
}
