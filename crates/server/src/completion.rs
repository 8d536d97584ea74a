//! Completion of arguments of prompts and templates.

use std::collections::BTreeMap;
use std::sync::Arc;

use attache_protocol::{CompleteResult, Completion};

use crate::failure::Failure;
use crate::tool::HandlerFuture;

/// How many values one answer may hold (S-CMP-02).
pub(crate) const MOST_VALUES: usize = 100;

/// What is to be completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// The argument, as far as it is typed.
    pub value: String,
    /// The other arguments that are chosen already (from 2025-06-18).
    pub chosen: BTreeMap<String, String>,
}

/// Finds values for an argument, best first. Any function of [`Typed`] that returns a future of
/// strings is one.
pub trait Completer: Send + Sync + 'static {
    /// The values; of more than a hundred the first hundred are sent.
    fn values(&self, typed: Typed) -> HandlerFuture<Vec<String>>;
}

impl<F, R> Completer for F
where
    F: Fn(Typed) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Vec<String>, Failure>> + Send + 'static,
{
    fn values(&self, typed: Typed) -> HandlerFuture<Vec<String>> {
        Box::pin(self(typed))
    }
}

/// The completers of one prompt or template, by the name of the argument.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Arc<dyn Completer>>);

impl Completers {
    pub(crate) fn add(&mut self, name: String, completer: impl Completer) {
        self.0.insert(name, Arc::new(completer));
    }

    pub(crate) fn of(&self, name: &str) -> Option<Arc<dyn Completer>> {
        self.0.get(name).cloned()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The answer with at most a hundred of the values.
pub(crate) fn answer(mut values: Vec<String>) -> CompleteResult {
    let total = values.len();
    values.truncate(MOST_VALUES);
    CompleteResult {
        completion: Completion {
            has_more: Some(total > MOST_VALUES),
            total: u64::try_from(total).ok(),
            values,
            extra: Default::default(),
        },
        meta: None,
        extra: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_cmp_02_an_answer_holds_a_hundred_values_and_says_how_many_there_are() {
        for (count, sent, has_more) in [(100, 100, false), (101, 100, true)] {
            let values = (0..count).map(|it| it.to_string()).collect();
            let completion = answer(values).completion;
            assert_eq!(completion.values.len(), sent);
            assert_eq!(completion.has_more, Some(has_more));
            assert_eq!(completion.total, Some(count));
        }
    }
}
