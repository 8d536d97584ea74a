//! Questions of the modern era: a result that asks, and a request that comes again with answers.
//!
//! The server keeps nothing in between. What was answered before travels with the client in a
//! sealed `requestState`, and the handler runs again from its beginning with all answers at hand.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use attache_protocol::{ErrorObject, InputRequest, Json, codes};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::{Mutex, MutexGuard};
use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::canonical::canonical;
use crate::kernel::Kernel;
use crate::seal::random_name;
use crate::service::Principal;
use crate::used_states::UnusableState;

/// What is known of a request in its present round.
#[derive(Default)]
pub(crate) struct Rounds {
    /// What the client answered in this and earlier rounds, by key.
    answers: BTreeMap<String, Json>,
    state: Mutex<RoundState>,
    /// Which request this is: a digest of its method and params (S-MRTR-08).
    digest: String,
    /// The number of the state that came, which all states of its rounds have.
    serial: Option<String>,
}

#[derive(Default)]
struct RoundState {
    /// What the handler wants to keep over the rounds.
    kept: BTreeMap<String, Json>,
    /// Questions without an answer.
    open: BTreeMap<String, InputRequest>,
}

/// What is sealed into a `requestState`.
#[derive(Serialize, Deserialize)]
struct Sealed {
    principal: String,
    /// Seconds since 1970.
    expires: u64,
    digest: String,
    /// The same in all rounds of one request, so that they can be used up together.
    serial: String,
    answers: BTreeMap<String, Json>,
    kept: BTreeMap<String, Json>,
}

/// The parts of a request that its rounds are about.
pub(crate) struct RoundParams<'a> {
    pub(crate) method: &'a str,
    /// The tool, prompt or URI.
    pub(crate) target: &'a str,
    pub(crate) arguments: Option<&'a RawValue>,
    pub(crate) responses: Option<&'a RawValue>,
    pub(crate) state: Option<&'a RawValue>,
}

impl Rounds {
    /// Reads answers and state of a request. A state this server did not write for this principal
    /// and this request is refused (S-MRTR-07, S-MRTR-08).
    pub(crate) fn read(
        kernel: &Kernel,
        principal: &Principal,
        params: &RoundParams<'_>,
    ) -> Result<Self, ErrorObject> {
        if params.responses.is_none() && params.state.is_none() {
            // The digest is made when a question is asked, which most requests never do.
            return Ok(Self::default());
        }
        let digest = digest_of(params);
        let mut rounds = Self {
            digest: digest.clone(),
            ..Self::default()
        };
        if let Some(raw) = params.state {
            let sealed = open(kernel, raw)?;
            if sealed.principal != principal.as_str()
                || sealed.digest != digest
                || sealed.expires < now()
            {
                return Err(refused(
                    "the requestState is expired or belongs to another request; send the request anew",
                ));
            }
            if kernel.used_states.contains(&sealed.serial) {
                return Err(used());
            }
            rounds.answers = sealed.answers;
            rounds.serial = Some(sealed.serial);
            rounds.state.get_mut().kept = sealed.kept;
        }
        if let Some(raw) = params.responses {
            let fresh: BTreeMap<String, Json> = serde_json::from_str(raw.get())
                .map_err(|error| refused(&format!("inputResponses is malformed: {error}")))?;
            rounds.answers.extend(fresh);
        }
        Ok(rounds)
    }

    pub(crate) fn answer(&self, key: &str) -> Option<&Json> {
        self.answers.get(key)
    }

    pub(crate) fn ask(&self, key: &str, question: InputRequest) {
        self.lock().open.insert(key.to_owned(), question);
    }

    /// How many questions were asked in all rounds so far.
    pub(crate) fn asked(&self) -> usize {
        self.answers.len() + self.lock().open.len()
    }

    pub(crate) fn kept(&self, key: &str) -> Option<Json> {
        self.lock().kept.get(key).cloned()
    }

    pub(crate) fn keep(&self, key: &str, value: Json) {
        self.lock().kept.insert(key.to_owned(), value);
    }

    /// Takes the open questions, if there are any.
    pub(crate) fn take_open(&self) -> Option<BTreeMap<String, InputRequest>> {
        let open = std::mem::take(&mut self.lock().open);
        (!open.is_empty()).then_some(open)
    }

    /// Uses up the state that came, if one did, together with all others of the same request.
    pub(crate) fn redeem(&self, kernel: &Kernel) -> Result<(), ErrorObject> {
        let Some(serial) = &self.serial else {
            return Ok(());
        };
        // States count in whole seconds, and are good in their last one.
        let now = now();
        let expires = now.saturating_add(kernel.limits.state_ttl.as_secs());
        let limit = kernel.limits.max_redeemed;
        match kernel.used_states.insert(serial, now, expires, limit) {
            Ok(()) => Ok(()),
            Err(UnusableState::Used) => Err(used()),
            Err(UnusableState::NoRoom) => Err(ErrorObject::new(
                codes::INTERNAL_ERROR,
                format!("the limit of {limit} used states is reached; send it again later"),
            )),
        }
    }

    /// The state for the next round.
    pub(crate) fn seal(
        &self,
        kernel: &Kernel,
        principal: &Principal,
        digest: impl FnOnce() -> String,
    ) -> Result<Json, ErrorObject> {
        let serial = match &self.serial {
            Some(serial) => serial.clone(),
            None => random_name()
                .map_err(|error| ErrorObject::new(codes::INTERNAL_ERROR, error.to_string()))?,
        };
        let sealed = Sealed {
            principal: principal.as_str().to_owned(),
            expires: now().saturating_add(kernel.limits.state_ttl.as_secs()),
            digest: match self.digest.as_str() {
                "" => digest(),
                known => known.to_owned(),
            },
            serial,
            answers: self.answers.clone(),
            kept: self.lock().kept.clone(),
        };
        let text = serde_json::to_vec(&sealed).unwrap_or_default();
        let state = kernel.seal.close(&text);
        if state.len() > kernel.limits.max_state {
            let limit = kernel.limits.max_state;
            return Err(ErrorObject::new(
                codes::INTERNAL_ERROR,
                format!("the answers so far are longer than the limit of {limit} bytes"),
            ));
        }
        Ok(Json::from(Value::String(state)))
    }

    fn lock(&self) -> MutexGuard<'_, RoundState> {
        self.state.lock()
    }
}

fn open(kernel: &Kernel, raw: &RawValue) -> Result<Sealed, ErrorObject> {
    let unreadable =
        || refused("the requestState is not one of this server; send the request anew");
    if raw.get().len() > kernel.limits.max_state + 2 {
        return Err(unreadable());
    }
    let text: String = serde_json::from_str(raw.get()).map_err(|_| unreadable())?;
    let bytes = kernel.seal.open(&text).ok_or_else(unreadable)?;
    serde_json::from_slice(&bytes).map_err(|_| unreadable())
}

fn used() -> ErrorObject {
    refused("the requestState was used already; send the request anew")
}

fn refused(message: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, message)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The same for every way of writing the same request. Numbers count as they are written: two that
/// a float cannot tell apart are two requests.
pub(crate) fn digest_of(params: &RoundParams<'_>) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in [params.method, params.target] {
        context.update(&part.len().to_le_bytes());
        context.update(part.as_bytes());
    }
    match params.arguments {
        Some(arguments) => context.update(&canonical(arguments)),
        None => context.update(b"{}"),
    }
    STANDARD.encode(context.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(arguments: Option<&str>) -> String {
        let arguments = arguments.map(|it| serde_json::from_str::<&RawValue>(it).unwrap());
        digest_of(&RoundParams {
            method: "tools/call",
            target: "pay",
            arguments,
            responses: None,
            state: None,
        })
    }

    #[test]
    fn s_mrtr_08_a_digest_tells_requests_apart_and_not_their_spelling() {
        for (one, same) in [
            (
                r#"{"a":1,"b":[2,{"c":3,"d":4}]}"#,
                r#"{ "b": [2, {"d": 4, "c": 3}], "a": 1 }"#,
            ),
            (r#"{"a":"\u0041/"}"#, r#"{"\u0061":"A\/"}"#),
        ] {
            assert_eq!(digest(Some(one)), digest(Some(same)), "{one}");
        }
        assert_eq!(digest(None), digest(Some(" {} ")));
        let different = [
            r#"{"amount":12345678901234567890123}"#,
            r#"{"amount":12345678901234567890124}"#,
            r#"{"amount":"12345678901234567890123"}"#,
            r#"{"amount":[1,2]}"#,
            r#"{"amount":[12]}"#,
            r#"{"amount":null}"#,
            "{}",
        ];
        let digests: std::collections::BTreeSet<_> =
            different.iter().map(|it| digest(Some(it))).collect();
        assert_eq!(digests.len(), different.len());
    }
}
