//! Batches of 2025-03-26: several messages in, one array of answers out (X-BATCH-01, S-BATCH-03).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::service::{Answer, AnswerFuture, Work};

/// All works of a batch as one, done at once if each of them is.
pub(crate) fn work(works: Vec<Work>) -> Work {
    let answers = works.iter().map(|work| match work {
        Work::Done(answer) => Some(answer),
        Work::Later(_) | Work::Open(_) => None,
    });
    match answers.collect::<Option<Vec<_>>>().and_then(array) {
        Some(answer) => Work::Done(answer),
        None => Work::Later(join(works)),
    }
}

/// All works of a batch as one future. Without any answer there is nothing to send.
pub(crate) fn join(works: Vec<Work>) -> AnswerFuture {
    Box::pin(Batch {
        works: works
            .into_iter()
            .map(|work| match work {
                Work::Done(answer) => Item::Done(Some(answer)),
                Work::Later(future) | Work::Open(future) => Item::Running(future),
            })
            .collect(),
    })
}

struct Batch {
    works: Vec<Item>,
}

enum Item {
    Running(AnswerFuture),
    Done(Option<Answer>),
}

impl Future for Batch {
    type Output = Option<Answer>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Answer>> {
        let mut all_done = true;
        for item in &mut self.works {
            if let Item::Running(future) = item {
                match future.as_mut().poll(context) {
                    Poll::Ready(answer) => *item = Item::Done(answer),
                    Poll::Pending => all_done = false,
                }
            }
        }
        if !all_done {
            return Poll::Pending;
        }
        let answers = self.works.iter().filter_map(|item| match item {
            Item::Done(answer) => answer.as_ref(),
            Item::Running(_) => None,
        });
        Poll::Ready(array(answers))
    }
}

/// The answers as one line; none if there is no answer.
fn array<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Option<Answer> {
    let mut frame = vec![b'['];
    for answer in answers {
        if frame.len() > 1 {
            frame.push(b',');
        }
        frame.extend_from_slice(answer.frame.trim_ascii_end());
    }
    let is_empty = frame.len() == 1;
    frame.extend_from_slice(b"]\n");
    (!is_empty).then_some(Answer {
        frame,
        error_code: None,
    })
}
