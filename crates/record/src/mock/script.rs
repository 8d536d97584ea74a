//! What was recorded, found by what is asked.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use attache_protocol::{Era, Initialize, Method as _, Revision};
use attache_schema::Value;
use attache_server::MirroredArgument;

use crate::conversation::{Conversation, Exchange};
use crate::difference::distance;
use crate::matching::Signature;

/// How far requests that were recorded several times have come, by the first of them.
pub(super) type Cursors = HashMap<usize, usize>;

/// What is found for a request.
pub(super) enum Lookup {
    Found(usize),
    /// The reason, as a clause.
    Missing(String),
}

pub(super) struct Script {
    exchanges: Vec<Exchange>,
    signatures: Vec<Signature>,
    /// Recorded requests by what they ask, rounds aside.
    by_request: HashMap<Signature, Vec<usize>>,
    revisions: Vec<Revision>,
    mirrored: HashMap<String, Arc<[MirroredArgument]>>,
}

impl Script {
    pub(super) fn new(conversation: Conversation, era: Option<Era>) -> Self {
        let is_wanted = |exchange: &Exchange| era.is_none_or(|era| exchange.era == era);
        let is_whole = conversation.is_whole;
        let exchanges = conversation.exchanges.into_iter().filter(is_wanted);
        let exchanges: Vec<Exchange> = exchanges
            // Where the recording was cut, the answer is not known.
            .filter(|it| it.answer.is_some() || it.is_cancelled || is_whole || !it.steps.is_empty())
            .collect();
        let sign = |it: &Exchange| Signature::of(it.era, &it.method, &it.params);
        let signatures: Vec<Signature> = exchanges.iter().map(sign).collect();
        let mut by_request: HashMap<Signature, Vec<usize>> = HashMap::new();
        for (index, signature) in signatures.iter().enumerate() {
            by_request
                .entry(signature.without_round())
                .or_default()
                .push(index);
        }
        Self {
            revisions: revisions(&exchanges),
            mirrored: mirrored(&exchanges),
            exchanges,
            signatures,
            by_request,
        }
    }

    pub(super) fn exchange(&self, index: usize) -> &Exchange {
        &self.exchanges[index]
    }

    pub(super) fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    pub(super) fn mirrored(&self, tool: &str) -> Arc<[MirroredArgument]> {
        self.mirrored.get(tool).cloned().unwrap_or_default()
    }

    /// Whether a method was recorded at all in that era.
    pub(super) fn has_method(&self, method: &str, is_modern: bool) -> bool {
        let same = |it: &&Signature| it.method == method && it.is_modern == is_modern;
        self.signatures.iter().any(|it| same(&it))
    }

    /// The recorded request that asks the same; of several the next one, and then the last again.
    pub(super) fn find(&self, wanted: &Signature, cursors: &mut Cursors) -> Lookup {
        let recorded = self.by_request.get(&wanted.without_round());
        let group = match recorded {
            Some(recorded) => self.of_round(wanted, recorded),
            None if wanted.method == Initialize::NAME => self.any_greeting(),
            None => Err("it was not recorded".to_owned()),
        };
        match group {
            Ok(group) => {
                let cursor = cursors.entry(group[0]).or_default();
                let index = group[(*cursor).min(group.len() - 1)];
                *cursor += 1;
                Lookup::Found(index)
            }
            Err(reason) => Lookup::Missing(reason),
        }
    }

    /// A server chooses the version itself if it does not know the client's.
    fn any_greeting(&self) -> Result<Vec<usize>, String> {
        let greets = |index: &usize| self.exchanges[*index].method == Initialize::NAME;
        match (0..self.exchanges.len()).find(greets) {
            Some(index) => Ok(vec![index]),
            None => Err("the recording has the modern era only".to_owned()),
        }
    }

    /// Those of the same round: by the server's state, else by the keys of the answers. Never empty.
    fn of_round(&self, wanted: &Signature, recorded: &[usize]) -> Result<Vec<usize>, String> {
        let round = &wanted.round;
        let is_candidate = |index: &&usize| {
            let other = &self.signatures[**index].round;
            match &round.state {
                Some(_) => other.state == round.state,
                None => other.state.is_none() && other.keys == round.keys,
            }
        };
        let candidates: Vec<usize> = recorded.iter().filter(is_candidate).copied().collect();
        if candidates.is_empty() {
            return Err(match round.is_first() {
                true => "only later rounds of it were recorded".to_owned(),
                false => "this round of it was not recorded".to_owned(),
            });
        }
        let same_answers = |index: &&usize| self.signatures[**index].round.answers == round.answers;
        let exact: Vec<usize> = candidates.iter().filter(same_answers).copied().collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        let answers = candidates
            .iter()
            .map(|&it| &self.signatures[it].round.answers);
        match answers.collect::<BTreeSet<_>>().len() {
            1 => Ok(candidates),
            count => Err(format!(
                "{count} recorded rounds differ in what the client answered, and none has this answer"
            )),
        }
    }

    /// The recorded request that differs in the fewest places, if no other differs in as few.
    pub(super) fn nearest(&self, wanted: &Signature, params: &Value) -> Option<usize> {
        let about = |params: &Value| ["name", "uri"].map(|member| params.get(member).cloned());
        let is_candidate = |index: &usize| {
            let signature = &self.signatures[*index];
            signature.method == wanted.method
                && signature.is_modern == wanted.is_modern
                && signature.round.is_first() == wanted.round.is_first()
                && about(&self.exchanges[*index].params) == about(params)
        };
        let arguments = |params: &Value| params.get("arguments").cloned().unwrap_or(Value::Null);
        let wanted_arguments = arguments(params);
        let mut best: Option<(usize, usize)> = None;
        let mut is_tied = false;
        let mut seen = BTreeSet::new();
        for index in (0..self.exchanges.len()).filter(is_candidate) {
            // Repeats of one request are one candidate.
            if !seen.insert(&self.signatures[index].params) {
                continue;
            }
            let away = distance(&wanted_arguments, &arguments(&self.exchanges[index].params));
            match best {
                Some((nearest, _)) if away > nearest => {}
                Some((nearest, _)) if away == nearest => is_tied = true,
                _ => {
                    best = Some((away, index));
                    is_tied = false;
                }
            }
        }
        best.filter(|_| !is_tied).map(|(_, index)| index)
    }
}

fn revisions(exchanges: &[Exchange]) -> Vec<Revision> {
    let mut found = BTreeSet::new();
    for exchange in exchanges {
        if exchange.era == Era::Modern {
            let modern = Revision::NEWEST_FIRST
                .into_iter()
                .filter(|it| it.era() == Era::Modern);
            found.extend(modern);
        }
        if exchange.method == Initialize::NAME
            && let Some(result) = exchange.result()
        {
            let version = result.get("protocolVersion").and_then(Value::as_str);
            found.extend(version.and_then(|it| it.parse::<Revision>().ok()));
        }
    }
    found.into_iter().rev().collect()
}

/// The arguments that modern clients mirror into headers, by tool.
fn mirrored(exchanges: &[Exchange]) -> HashMap<String, Arc<[MirroredArgument]>> {
    let mut found = HashMap::new();
    for exchange in exchanges.iter().filter(|it| it.method == "tools/list") {
        let Some(result) = exchange.result() else {
            continue;
        };
        for tool in result
            .get("tools")
            .and_then(Value::as_array)
            .unwrap_or_default()
        {
            let name = tool.get("name").and_then(Value::as_str);
            let schema = tool.get("inputSchema").map(Value::to_json);
            if let (Some(name), Some(schema)) = (name, schema)
                && let Ok(arguments) = MirroredArgument::of_schema(&schema)
            {
                found.insert(name.to_owned(), arguments.into());
            }
        }
    }
    found
}
