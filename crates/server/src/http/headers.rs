//! Headers that repeat what a body says, and must say the same (S11, section 7 of the ledger).

use std::borrow::Cow;

use attache_protocol::{
    CallTool, ErrorObject, ExtCancelTask, ExtGetTask, ExtUpdateTask, GetPrompt, Method,
    ReadResource, Revision, codes, meta,
};
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::base64;
use crate::schema::MirroredArgument;

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAMETER: &str = "mcp-param-";

/// What the headers claim about the body.
pub(super) struct Claimed {
    version: Option<String>,
}

impl Claimed {
    pub(super) fn read(headers: &HeaderMap) -> Result<Self, ErrorObject> {
        Ok(Self {
            version: read(headers, VERSION)?.map(Cow::into_owned),
        })
    }

    /// The revision in the header, if it is a known one.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.version.as_deref()?.parse().ok()
    }

    /// The header is there but names no known revision.
    pub(super) fn is_unknown(&self) -> bool {
        self.version.is_some() && self.revision().is_none()
    }
}

#[derive(Deserialize)]
struct BodyParams<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "taskId")]
    task_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BodyMeta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
}

fn body_version<'a>(params: &BodyParams<'a>) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let meta: BodyMeta<'a> = serde_json::from_str(params.meta?.get()).ok()?;
    let Text(version) = serde_json::from_str(meta.version?.get()).ok()?;
    Some(version)
}

/// Whether params carry the metadata of the modern era.
pub(super) fn has_modern_meta(params: &RawValue) -> bool {
    let params: Option<BodyParams<'_>> = serde_json::from_str(params.get()).ok();
    params.is_some_and(|params| body_version(&params).is_some())
}

/// Checks that the headers of a modern request say what its body says (S-SHM-09).
pub(super) fn check<'m>(
    headers: &HeaderMap,
    claimed: &Claimed,
    method: &str,
    params: Option<&RawValue>,
    mirrored: impl FnOnce(&str) -> std::sync::Arc<[MirroredArgument]> + 'm,
) -> Result<(), ErrorObject> {
    let body: Option<BodyParams<'_>> = params.and_then(|it| serde_json::from_str(it.get()).ok());
    let version = body.as_ref().and_then(body_version);
    match (&claimed.version, &version) {
        (None, _) => return Err(mismatch("the header MCP-Protocol-Version is missing")),
        (Some(claimed), Some(said)) if claimed != said => {
            return Err(mismatch(&format!(
                "the header MCP-Protocol-Version is not the \"{}\" of the body",
                meta::PROTOCOL_VERSION
            )));
        }
        // What the body lacks is its own mistake, told by the service.
        _ => {}
    }
    equal(headers, METHOD, method)?;
    let Some(body) = body else { return Ok(()) };
    let name = match method {
        CallTool::NAME | GetPrompt::NAME => body.name.as_deref(),
        ReadResource::NAME => body.uri.as_deref(),
        ExtGetTask::NAME | ExtUpdateTask::NAME | ExtCancelTask::NAME => body.task_id.as_deref(),
        _ => None,
    };
    if let Some(name) = name {
        equal(headers, NAME, name)?;
    }
    if method == CallTool::NAME
        && let Some(name) = name
    {
        let mirrored = mirrored(name);
        if !mirrored.is_empty() {
            check_arguments(headers, &mirrored, body.arguments)?;
        }
    }
    Ok(())
}

fn equal(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), ErrorObject> {
    match read(headers, name)? {
        None => Err(mismatch(&format!("the header {name} is missing"))),
        Some(value) if value == expected => Ok(()),
        Some(_) => Err(mismatch(&format!(
            "the header {name} differs from the body"
        ))),
    }
}

/// Mirrored arguments: absent where the body has none, equal where it has (S-SHM-19).
fn check_arguments(
    headers: &HeaderMap,
    mirrored: &[MirroredArgument],
    arguments: Option<&RawValue>,
) -> Result<(), ErrorObject> {
    let arguments: Value = arguments
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    for argument in mirrored {
        let header = format!("{PARAMETER}{}", argument.header.to_ascii_lowercase());
        let value = argument
            .path
            .iter()
            .try_fold(&arguments, |value, name| value.get(name))
            .filter(|value| !value.is_null());
        let said = read(headers, &header)?;
        let agrees = match (value, &said) {
            (None, None) => true,
            (Some(value), Some(said)) => says(said, value),
            _ => false,
        };
        if !agrees {
            return Err(mismatch(&format!(
                "the header {header} differs from the arguments"
            )));
        }
    }
    Ok(())
}

fn says(header: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => header == text,
        Value::Bool(flag) => header == flag.to_string(),
        // Integers are compared as numbers: `042` and `42.0` are 42.
        Value::Number(number) => match (header.parse::<f64>(), number.as_f64()) {
            (Ok(said), Some(meant)) => said == meant,
            _ => false,
        },
        _ => false,
    }
}

/// The value of a header, decoded (S-SHM-08). One that comes twice, or is unreadable, is refused.
fn read<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<Cow<'h, str>>, ErrorObject> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(&format!("the header {name} comes twice")));
    }
    let unreadable = || mismatch(&format!("the header {name} is malformed"));
    let text = value
        .to_str()
        .map_err(|_| unreadable())?
        .trim_matches([' ', '\t']);
    let encoded = text
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Ok(Some(Cow::Borrowed(text))),
        Some(encoded) => {
            let bytes = base64::decode(encoded).ok_or_else(unreadable)?;
            let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
            Ok(Some(Cow::Owned(text)))
        }
    }
}

fn mismatch(message: &str) -> ErrorObject {
    ErrorObject::new(codes::HEADER_MISMATCH, message)
}
