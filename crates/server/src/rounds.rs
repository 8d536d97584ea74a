//! Questions of the modern era: a result that asks, and a request that comes again with answers.
//!
//! The server keeps nothing in between. What was answered before travels with the client in a
//! sealed `requestState`, and the handler runs again from its beginning with all answers at hand.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use attache_protocol::{ErrorObject, InputRequest, Json, codes};
use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::kernel::Kernel;
use crate::service::Principal;

/// What is known of a request in its present round.
#[derive(Default)]
pub(crate) struct Rounds {
    /// What the client answered in this and earlier rounds, by key.
    answers: BTreeMap<String, Json>,
    state: Mutex<RoundState>,
    /// Which request this is: a digest of its method and params (S-MRTR-08).
    digest: String,
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
            rounds.answers = sealed.answers;
            rounds
                .state
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .kept = sealed.kept;
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

    /// The state for the next round.
    pub(crate) fn seal(
        &self,
        kernel: &Kernel,
        principal: &Principal,
        digest: impl FnOnce() -> String,
    ) -> Result<Json, ErrorObject> {
        let sealed = Sealed {
            principal: principal.as_str().to_owned(),
            expires: now().saturating_add(kernel.limits.state_ttl.as_secs()),
            digest: match self.digest.as_str() {
                "" => digest(),
                known => known.to_owned(),
            },
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

fn refused(message: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, message)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The same for every way of writing the same request.
pub(crate) fn digest_of(params: &RoundParams<'_>) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in [params.method, params.target] {
        context.update(&part.len().to_le_bytes());
        context.update(part.as_bytes());
    }
    let arguments = params.arguments.map(RawValue::get).unwrap_or("{}");
    let mut canonical = Vec::new();
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => write_sorted(&value, &mut canonical),
        Err(_) => canonical.extend_from_slice(arguments.as_bytes()),
    }
    context.update(&canonical);
    crate::base64::encode(context.finish().as_ref())
}

fn write_sorted(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.iter().collect();
            names.sort_by_key(|(name, _)| *name);
            out.push(b'{');
            for (name, field) in names {
                write_sorted(&Value::String(name.clone()), out);
                out.push(b':');
                write_sorted(field, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                write_sorted(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        // Scalars have one way of being written.
        scalar => out.extend_from_slice(scalar.to_string().as_bytes()),
    }
}
