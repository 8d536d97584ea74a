//! What changed between two recordings of one server: what it offers, and how it answers.

use std::collections::BTreeMap;

use attache_protocol::{ErrorObject, Json, meta};
use attache_schema::Value;

use crate::conversation::{Answer, Conversation, Exchange};
use crate::difference::{Difference, differences};
use crate::matching::Signature;
use crate::normalise::Normaliser;

/// From when on a call counts as slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// It takes at least so many times as long.
    pub ratio: f64,
    /// It takes at least so many microseconds longer.
    pub least_us: u64,
}

impl Default for Thresholds {
    /// Half as long again, and 20 ms, which is more than a busy machine adds by itself.
    fn default() -> Self {
        Self {
            ratio: 1.5,
            least_us: 20_000,
        }
    }
}

/// What changed from one recording to the other.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// Changes of the server's identity and capabilities.
    pub server: Vec<Difference>,
    /// Changes of tools, prompts, resources and templates.
    pub offers: Vec<Change>,
    /// Calls that are answered in another way.
    pub calls: Vec<CallChange>,
    /// Calls that take longer.
    pub slower: Vec<Slower>,
    /// What only the first asks.
    pub only_first: Vec<String>,
    /// What only the second asks.
    pub only_second: Vec<String>,
    /// How many requests are in both.
    pub compared: usize,
}

/// A change of something that is offered.
#[derive(Clone, Debug)]
pub struct Change {
    /// `tool`, `prompt`, `resource` or `template`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// What is different; nothing if it is new or gone.
    pub differences: Vec<Difference>,
    /// Which of the two has it.
    pub timing: Timing,
}

/// Which recording has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Only the first.
    Removed,
    /// Only the second.
    Added,
    /// Both.
    Changed,
}

/// A request that is answered in another way.
#[derive(Clone, Debug)]
pub struct CallChange {
    /// What is asked, in words.
    pub what: String,
    /// How each ended, if that differs.
    pub ending: Option<(&'static str, &'static str)>,
    /// Where the results differ.
    pub differences: Vec<Difference>,
}

/// How long a request took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Microseconds in the first.
    pub first_us: u64,
    /// Microseconds in the second.
    pub second_us: u64,
}

/// A request that takes longer.
#[derive(Clone, Debug)]
pub struct Slower {
    /// What is asked, in words.
    pub what: String,
    /// How long it took in the middle.
    pub took: Took,
}

impl Diff {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.server.is_empty()
            && self.offers.is_empty()
            && self.calls.is_empty()
            && self.slower.is_empty()
            && self.only_first.is_empty()
            && self.only_second.is_empty()
    }
}

/// Compares two recordings.
pub fn diff(
    first: &Conversation,
    second: &Conversation,
    normaliser: &Normaliser,
    thresholds: Thresholds,
) -> Diff {
    let mut diff = Diff {
        server: differences(&greeting(first), &greeting(second)),
        ..Diff::default()
    };
    for list in &LISTS {
        compare_offers(list, first, second, &mut diff);
    }
    let (one, other) = (asked(first), asked(second));
    for (signature, exchanges) in &one {
        let Some(counterparts) = other.get(signature) else {
            diff.only_first.push(exchanges[0].what());
            continue;
        };
        diff.compared += 1;
        compare_calls(exchanges, counterparts, normaliser, thresholds, &mut diff);
    }
    for (signature, exchanges) in &other {
        if !one.contains_key(signature) {
            diff.only_second.push(exchanges[0].what());
        }
    }
    diff
}

/// A list of something that is offered.
struct List {
    kind: &'static str,
    method: &'static str,
    member: &'static str,
    name: &'static str,
}

const LISTS: [List; 4] = [
    List {
        kind: "tool",
        method: "tools/list",
        member: "tools",
        name: "name",
    },
    List {
        kind: "prompt",
        method: "prompts/list",
        member: "prompts",
        name: "name",
    },
    List {
        kind: "resource",
        method: "resources/list",
        member: "resources",
        name: "uri",
    },
    List {
        kind: "template",
        method: "resources/templates/list",
        member: "resourceTemplates",
        name: "uriTemplate",
    },
];

/// What the server says about itself.
fn greeting(conversation: &Conversation) -> Value {
    let mut said = attache_schema::Object::default();
    let greets = |it: &&Exchange| matches!(it.method.as_str(), "initialize" | "server/discover");
    let results = conversation.exchanges.iter().filter(greets);
    for result in results.filter_map(Exchange::result) {
        // The modern era tells its name beside the result (S-MOD-07).
        let beside = result.get("_meta").and_then(|it| it.get(meta::SERVER_INFO));
        let named = result.get("serverInfo").or(beside);
        let members = ["capabilities", "instructions"].map(|name| (name, result.get(name)));
        for (name, value) in [("serverInfo", named)].into_iter().chain(members) {
            if let Some(value) = value {
                said.insert(name, value.clone());
            }
        }
    }
    Value::Object(said)
}

/// Everything on a list, as it was told last; nothing if the list was never asked for.
fn offers(list: &List, conversation: &Conversation) -> Option<BTreeMap<String, Value>> {
    let of_list = conversation
        .exchanges
        .iter()
        .filter(|it| it.method == list.method);
    let mut found: Option<BTreeMap<String, Value>> = None;
    for exchange in of_list {
        let Some(result) = exchange.result() else {
            continue;
        };
        // The first page begins the list anew.
        if exchange.params.get("cursor").is_none() {
            found = None;
        }
        let found = found.get_or_insert_default();
        for entry in result
            .get(list.member)
            .and_then(Value::as_array)
            .unwrap_or_default()
        {
            if let Some(name) = entry.get(list.name).and_then(Value::as_str) {
                found.insert(name.to_owned(), entry.clone());
            }
        }
    }
    found
}

fn compare_offers(list: &List, first: &Conversation, second: &Conversation, diff: &mut Diff) {
    // What one of them never asked for cannot be compared.
    let (Some(one), Some(other)) = (offers(list, first), offers(list, second)) else {
        return;
    };
    let change = |name: &String, differences, timing| Change {
        kind: list.kind,
        name: name.clone(),
        differences,
        timing,
    };
    for (name, entry) in &one {
        match other.get(name) {
            None => diff.offers.push(change(name, Vec::new(), Timing::Removed)),
            Some(counterpart) if counterpart != entry => {
                let found = differences(entry, counterpart);
                diff.offers.push(change(name, found, Timing::Changed));
            }
            Some(_) => {}
        }
    }
    for name in other.keys().filter(|name| !one.contains_key(*name)) {
        diff.offers.push(change(name, Vec::new(), Timing::Added));
    }
}

/// Requests by what they ask, without greetings and lists, which are compared by what they say, and
/// without those that say how the client goes on.
fn asked(conversation: &Conversation) -> BTreeMap<(String, String, String), Vec<&Exchange>> {
    let mut asked: BTreeMap<_, Vec<&Exchange>> = BTreeMap::new();
    for exchange in &conversation.exchanges {
        let is_compared = matches!(
            exchange.method.as_str(),
            "tools/call" | "resources/read" | "prompts/get" | "completion/complete"
        );
        if !is_compared {
            continue;
        }
        // The era does not count here: a server may have changed it between the two.
        let signature = Signature::of(exchange.era, &exchange.method, &exchange.params);
        let key = (signature.method, signature.params, signature.round.answers);
        asked.entry(key).or_default().push(exchange);
    }
    asked
}

fn compare_calls(
    first: &[&Exchange],
    second: &[&Exchange],
    normaliser: &Normaliser,
    thresholds: Thresholds,
    diff: &mut Diff,
) {
    let name = first[0].what();
    for (one, other) in first.iter().zip(second) {
        let ending = (one.ending(), other.ending());
        let (one, other) = (one.answer.as_ref(), other.answer.as_ref());
        let said = |answer: Option<&Answer>| said(answer.map(|it| &it.outcome), normaliser);
        let differences = differences(&said(one), &said(other));
        if ending.0 != ending.1 || !differences.is_empty() {
            diff.calls.push(CallChange {
                what: name.clone(),
                ending: (ending.0 != ending.1).then_some(ending),
                differences,
            });
            break;
        }
    }
    if let (Some(first_us), Some(second_us)) = (middle(first), middle(second)) {
        let is_slower = second_us as f64 >= first_us as f64 * thresholds.ratio
            && second_us.saturating_sub(first_us) >= thresholds.least_us;
        if is_slower {
            diff.slower.push(Slower {
                what: name,
                took: Took {
                    first_us,
                    second_us,
                },
            });
        }
    }
}

/// Where an answer differs from the recorded one, without what is volatile.
pub fn answer_differences(
    recorded: &Exchange,
    now: &Result<Json, ErrorObject>,
    normaliser: &Normaliser,
) -> Vec<Difference> {
    let before = recorded.answer.as_ref().map(|it| &it.outcome);
    differences(&said(before, normaliser), &said(Some(now), normaliser))
}

/// What was answered, without what is volatile and without what only its era demands.
fn said(outcome: Option<&Result<Json, ErrorObject>>, normaliser: &Normaliser) -> Value {
    let mut value = match outcome {
        None => Value::Null,
        Some(Ok(result)) => Value::of_json(result).unwrap_or(Value::Null),
        Some(Err(error)) => {
            let text = serde_json::to_string(error).unwrap_or_default();
            Value::parse(&text).unwrap_or(Value::Null)
        }
    };
    if let Value::Object(members) = &mut value {
        for name in ["_meta", "resultType", "ttlMs", "cacheScope", "requestState"] {
            members.remove(name);
        }
    }
    normaliser.apply(&value)
}

/// The middle of how long a request took.
fn middle(exchanges: &[&Exchange]) -> Option<u64> {
    let mut took: Vec<u64> = exchanges.iter().filter_map(|it| it.duration_us()).collect();
    took.sort_unstable();
    took.get(took.len() / 2).copied()
}
