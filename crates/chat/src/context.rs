//! What fits into one request, and what is left out when it does not.
//!
//! Owns the estimate of tokens, corrected by what the endpoint reports, and compaction: by rules,
//! without a model, so that it cannot fail, loop or make things up. It is looked at before every
//! request. Knows nothing of servers.

use crate::cut;
use crate::message::{Message, Part};
use crate::tools::KeptResults;

/// What a model takes if neither the file nor the endpoint says.
pub const DEFAULT_WINDOW: u64 = 32_768;
/// Bytes of a token, roughly.
const BYTES_PER_TOKEN: usize = 4;
/// The most tokens that are left for the answer.
const MOST_RESERVED: u64 = 4_096;
/// How many turns compaction leaves as they are.
const KEPT_TURNS: usize = 2;
/// How much of an old result stays.
const OLD_RESULT: usize = 400;
/// How much of an old question or answer stays.
const OLD_TEXT: usize = 300;
/// How long the digest of old turns may grow.
const MOST_DIGEST: usize = 6_000;
/// The shortest that a result of the last turns is cut to.
const SHORTEST_RESULT: usize = 1_000;
/// How a digest begins.
const DIGEST: &str = "[The conversation so far, shortened:]";

/// How many tokens a text of so many bytes is, roughly.
pub(crate) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// How much a model takes, and how well it is estimated.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// How many tokens the model takes, its answer included.
    pub window: u64,
    /// How many tokens there really are for each that was estimated.
    factor: f64,
}

impl Budget {
    /// A model that takes so many tokens.
    pub fn new(window: u64) -> Self {
        Self {
            window,
            factor: 1.0,
        }
    }

    /// How many tokens so many bytes are.
    pub fn estimate(&self, bytes: usize) -> u64 {
        (tokens(bytes) as f64 * self.factor).ceil() as u64
    }

    /// Takes over what the endpoint has counted for so many bytes.
    pub fn learn(&mut self, bytes: usize, counted: u64) {
        if bytes > 0 && counted > 0 {
            // Short texts say little, and a wild count must not spoil what follows.
            self.factor = (counted as f64 / tokens(bytes) as f64).clamp(0.5, 3.0);
        }
    }

    /// How many tokens a request may have.
    pub fn room(&self) -> u64 {
        self.window - MOST_RESERVED.min(self.window / 4)
    }

    fn fits(&self, bytes: usize) -> bool {
        self.estimate(bytes) <= self.room()
    }
}

/// What compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compaction {
    /// Turns that were reduced to a line each.
    pub turns: usize,
    /// Results that were shortened.
    pub results: usize,
    /// Tokens before.
    pub before: u64,
    /// Tokens after.
    pub after: u64,
}

/// The bytes of messages.
pub(crate) fn bytes_of(messages: &[Message]) -> usize {
    messages.iter().map(Message::bytes).sum()
}

/// Makes a conversation fit beside `fixed` bytes of system text and definitions. An error says what
/// is too big.
pub(crate) fn fit(
    messages: &mut Vec<Message>,
    fixed: usize,
    budget: &Budget,
    kept: &mut KeptResults,
) -> Result<Option<Compaction>, String> {
    let before = fixed + bytes_of(messages);
    if budget.fits(before) {
        return Ok(None);
    }
    let mut done = compact(messages, budget, fixed);
    shorten_last_results(messages, budget, fixed, kept, &mut done);
    let after = fixed + bytes_of(messages);
    if !budget.fits(after) {
        return Err(too_big(messages, fixed, budget));
    }
    done.before = budget.estimate(before);
    done.after = budget.estimate(after);
    Ok(Some(done))
}

/// Shortens everything but the last two turns, as the user asks for it.
pub(crate) fn compact_all(
    messages: &mut Vec<Message>,
    fixed: usize,
    budget: &Budget,
) -> Compaction {
    let before = fixed + bytes_of(messages);
    let mut done = Compaction::default();
    shorten_old_results(messages, &mut done);
    digest_old_turns(messages, &mut done);
    done.before = budget.estimate(before);
    done.after = budget.estimate(fixed + bytes_of(messages));
    done
}

fn compact(messages: &mut Vec<Message>, budget: &Budget, fixed: usize) -> Compaction {
    let mut done = Compaction::default();
    shorten_old_results(messages, &mut done);
    if !budget.fits(fixed + bytes_of(messages)) {
        digest_old_turns(messages, &mut done);
    }
    done
}

/// Where each turn begins: at what the person said.
fn turns(messages: &[Message]) -> Vec<usize> {
    let all = messages.iter().enumerate();
    all.filter(|(_, message)| matches!(message, Message::User { .. }))
        .map(|(at, _)| at)
        .collect()
}

/// Where the turns begin that stay as they are.
fn kept_from(messages: &[Message]) -> usize {
    let turns = turns(messages);
    match turns.len().checked_sub(KEPT_TURNS) {
        Some(first) => turns.get(first).copied().unwrap_or(0),
        None => 0,
    }
}

fn shorten_old_results(messages: &mut [Message], done: &mut Compaction) {
    let end = kept_from(messages);
    for message in &mut messages[..end] {
        match message {
            Message::Results { results } => {
                for result in results {
                    if result.text.len() > 2 * OLD_RESULT {
                        let bytes = result.text.len();
                        let shown = cut::beginning(&result.text, OLD_RESULT);
                        result.text = format!("{shown}\n[shortened from {bytes} bytes]");
                        done.results += 1;
                    }
                    result.images.clear();
                }
            }
            Message::User { parts } => {
                for part in parts.iter_mut() {
                    if let Part::Data { text, .. } = part
                        && text.len() > 2 * OLD_RESULT
                    {
                        *text = cut::beginning(text, OLD_RESULT);
                        done.results += 1;
                    }
                }
                parts.retain(|part| !matches!(part, Part::Image(_)));
            }
            Message::Assistant(_) => {}
        }
    }
}

/// Puts a digest of all old turns before the first that stays.
fn digest_old_turns(messages: &mut Vec<Message>, done: &mut Compaction) {
    let end = kept_from(messages);
    if end == 0 {
        return;
    }
    let mut digest = String::new();
    for message in messages.drain(..end) {
        match message {
            Message::User { parts } => {
                done.turns += 1;
                for part in parts {
                    if let Part::Text { text } = part {
                        match text.strip_prefix(DIGEST) {
                            Some(older) => digest.push_str(older),
                            None => line(&mut digest, "user", &text),
                        }
                    }
                }
            }
            Message::Assistant(answer) => {
                if !answer.text.trim().is_empty() {
                    line(&mut digest, "assistant", &answer.text);
                }
                for call in &answer.calls {
                    line(
                        &mut digest,
                        "called",
                        &format!("{} {}", call.name, call.arguments),
                    );
                }
            }
            Message::Results { .. } => {}
        }
    }
    if digest.len() > MOST_DIGEST {
        // What is oldest goes first.
        let from = digest.len() - MOST_DIGEST;
        let from = digest[from..]
            .find('\n')
            .map_or(0, |at| cut::boundary(&digest, from + at));
        digest = format!("\n…{}", &digest[from..]);
    }
    if let Some(Message::User { parts }) = messages.first_mut() {
        parts.insert(0, Part::text(format!("{DIGEST}{digest}")));
    }
}

fn line(digest: &mut String, who: &str, text: &str) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = cut::beginning(&text, OLD_TEXT);
    digest.push_str(&format!("\n{who}: {text}"));
}

/// Cuts the longest results of the last turns until everything fits; what is cut can be paged.
fn shorten_last_results(
    messages: &mut [Message],
    budget: &Budget,
    fixed: usize,
    kept: &mut KeptResults,
    done: &mut Compaction,
) {
    while !budget.fits(fixed + bytes_of(messages)) {
        let results = messages.iter_mut().filter_map(|message| match message {
            Message::Results { results } => Some(results),
            _ => None,
        });
        let longest = results.flatten().max_by_key(|result| result.text.len());
        let Some(longest) = longest.filter(|it| it.text.len() > 2 * SHORTEST_RESULT) else {
            return;
        };
        let half = (longest.text.len() / 2).max(SHORTEST_RESULT);
        longest.text = kept.shorten(&longest.text, half);
        longest.images.clear();
        done.results += 1;
    }
}

/// What takes the most room, as a sentence.
fn too_big(messages: &[Message], fixed: usize, budget: &Budget) -> String {
    let last_user = messages.iter().rev().find_map(|message| match message {
        Message::User { .. } => Some(message.bytes()),
        _ => None,
    });
    let question = last_user.unwrap_or(0);
    let rest = bytes_of(messages) - question;
    let (what, bytes) = [
        ("your message with what is attached", question),
        ("the system text and the definitions of tools", fixed),
        ("what was said before", rest),
    ]
    .into_iter()
    .max_by_key(|(_, bytes)| *bytes)
    .unwrap_or_default();
    format!(
        "{what} takes about {} tokens, and the model takes {} with its answer",
        budget.estimate(bytes),
        budget.window
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Answer, ToolCall, ToolResult};

    fn turn(number: usize, result: usize) -> Vec<Message> {
        let id = format!("c{number}");
        vec![
            Message::user(format!("question {number}")),
            Message::Assistant(Answer {
                calls: vec![ToolCall {
                    id: id.clone(),
                    name: "notes__read".to_owned(),
                    ..ToolCall::default()
                }],
                ..Answer::default()
            }),
            Message::Results {
                results: vec![ToolResult {
                    id,
                    text: "x".repeat(result),
                    ..ToolResult::default()
                }],
            },
            Message::Assistant(Answer {
                text: format!("answer {number}"),
                ..Answer::default()
            }),
        ]
    }

    fn talk(turns: usize, result: usize) -> Vec<Message> {
        (1..=turns)
            .flat_map(|number| turn(number, result))
            .collect()
    }

    #[test]
    fn what_fits_is_left_alone() {
        let mut messages = talk(3, 100);
        let before = messages.clone();
        let done = fit(
            &mut messages,
            0,
            &Budget::new(4096),
            &mut KeptResults::default(),
        );
        assert_eq!((done, messages), (Ok(None), before));
    }

    #[test]
    fn old_results_go_first_then_old_turns_and_the_last_two_stay() {
        let mut kept = KeptResults::default();
        let mut messages = talk(4, 3_000);
        let last: Vec<Message> = messages[8..].to_vec();
        let budget = Budget::new(3_000);
        let done = fit(&mut messages, 0, &budget, &mut kept).unwrap().unwrap();
        assert_eq!((done.turns, done.results), (0, 2), "{done:?}");
        assert_eq!(messages[8..], last);

        let mut messages = talk(40, 1_000);
        let last: Vec<Message> = messages[39 * 4 + 1..].to_vec();
        let done = fit(&mut messages, 0, &Budget::new(2_000), &mut kept)
            .unwrap()
            .unwrap();
        assert_eq!(done.turns, 38);
        assert!(done.after < done.before && done.after <= 2_000);
        assert_eq!(messages.len(), 8);
        assert_eq!(messages[5..], last);
        let Message::User { parts } = &messages[0] else {
            panic!("{messages:?}");
        };
        let Part::Text { text } = &parts[0] else {
            panic!("{parts:?}");
        };
        assert!(text.contains("user: question 1\n") && text.contains("assistant: answer 38"));
        // Doing it again keeps the digest.
        compact_all(&mut messages, 0, &Budget::new(2_000));
        messages.extend(talk(2, 10));
        compact_all(&mut messages, 0, &Budget::new(2_000));
        let Message::User { parts } = &messages[0] else {
            panic!("{messages:?}");
        };
        assert!(matches!(&parts[0], Part::Text { text } if text.contains("question 38")));
    }

    #[test]
    fn every_result_keeps_its_call_through_compaction() {
        let mut messages = talk(6, 5_000);
        fit(
            &mut messages,
            0,
            &Budget::new(4_000),
            &mut KeptResults::default(),
        )
        .unwrap();
        let mut open: Vec<&str> = Vec::new();
        for message in &messages {
            match message {
                Message::Assistant(answer) => {
                    open = answer.calls.iter().map(|it| &*it.id).collect()
                }
                Message::Results { results } => {
                    let ids: Vec<&str> = results.iter().map(|it| &*it.id).collect();
                    assert_eq!(ids, open);
                }
                Message::User { .. } => {}
            }
        }
    }

    #[test]
    fn a_result_of_this_turn_is_cut_and_can_be_paged() {
        let mut kept = KeptResults::default();
        let mut messages = talk(1, 30_000);
        fit(&mut messages, 0, &Budget::new(4_096), &mut kept)
            .unwrap()
            .unwrap();
        let Message::Results { results } = &messages[2] else {
            panic!("{messages:?}");
        };
        assert!(
            results[0].text.contains("read_result"),
            "{}",
            results[0].text
        );
        assert!(!kept.is_empty());
    }

    #[test]
    fn what_cannot_fit_is_named() {
        let mut messages = vec![Message::user("x".repeat(50_000))];
        let problem = fit(
            &mut messages,
            0,
            &Budget::new(4_096),
            &mut KeptResults::default(),
        );
        assert!(problem.unwrap_err().starts_with("your message"));
        let mut messages = vec![Message::user("x")];
        let problem = fit(
            &mut messages,
            90_000,
            &Budget::new(4_096),
            &mut KeptResults::default(),
        );
        assert!(problem.unwrap_err().starts_with("the system text"));
    }

    #[test]
    fn what_the_endpoint_counts_corrects_the_estimate() {
        let mut budget = Budget::new(1_000);
        assert_eq!(budget.estimate(400), 100);
        budget.learn(400, 200);
        assert_eq!(budget.estimate(400), 200);
        budget.learn(400, 1_000_000);
        assert_eq!(budget.estimate(400), 300);
    }
}
