//! The checks, as tables of rows: one file for each subject.
//!
//! A row says what is asked, of whom, and which duties of `docs/duties.md` it is about; the function
//! it names does the asking. A check whose level is `Must` stands on at least one duty that is one.

mod answers;
mod authorization;
mod cancel;
mod ending;
mod features;
mod http_both;
mod http_legacy;
mod http_modern;
mod malformed;
mod modern;
mod results;
mod sse;
mod start;
mod subscriptions;
mod tasks;
mod tools;
mod watched;

use crate::check::Check;

/// A row of a table.
macro_rules! check {
    ($id:literal, $group:ident, $level:ident, $revisions:ident, $over:ident,
     [$($duty:literal),+ $(,)?], $question:literal, Shared($run:path)) => {
        $crate::checks::check!(@row $id, $group, $level, $revisions, $over, [$($duty),+], $question,
            $crate::check::How::Shared(|peer, bench| Box::pin($run(peer, bench))))
    };
    ($id:literal, $group:ident, $level:ident, $revisions:ident, $over:ident,
     [$($duty:literal),+ $(,)?], $question:literal, Alone($run:path)) => {
        $crate::checks::check!(@row $id, $group, $level, $revisions, $over, [$($duty),+], $question,
            $crate::check::How::Alone(|bench| Box::pin($run(bench))))
    };
    ($id:literal, $group:ident, $level:ident, $revisions:ident, $over:ident,
     [$($duty:literal),+ $(,)?], $question:literal, Watched) => {
        $crate::checks::check!(@row $id, $group, $level, $revisions, $over, [$($duty),+], $question,
            $crate::check::How::Watched)
    };
    (@row $id:literal, $group:ident, $level:ident, $revisions:ident, $over:ident,
     [$($duty:literal),+], $question:literal, $how:expr) => {
        $crate::check::Check {
            id: $id,
            group: $crate::check::Group::$group,
            duties: &[$($duty),+],
            level: $crate::check::Level::$level,
            revisions: $crate::check::$revisions,
            over: $crate::check::Over::$over,
            question: $question,
            how: $how,
        }
    };
}
pub(crate) use check;

/// All checks of servers, in the order in which they are made.
pub fn all() -> impl Iterator<Item = &'static Check> {
    let tables: [&'static [Check]; 17] = [
        start::CHECKS,
        modern::CHECKS,
        answers::CHECKS,
        tools::CHECKS,
        results::CHECKS,
        features::CHECKS,
        subscriptions::CHECKS,
        tasks::CHECKS,
        cancel::CHECKS,
        malformed::CHECKS,
        http_both::CHECKS,
        http_legacy::CHECKS,
        http_modern::CHECKS,
        sse::CHECKS,
        authorization::CHECKS,
        ending::CHECKS,
        watched::CHECKS,
    ];
    tables.into_iter().flatten()
}
