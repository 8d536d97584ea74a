//! Headers that repeat what a body says, and must say the same (S11, section 7 of the ledger).

use std::borrow::Cow;
use std::collections::HashMap;

use attache_protocol::{
    CallTool, ErrorObject, ExtCancelTask, ExtGetTask, ExtUpdateTask, GetPrompt, Method,
    ReadResource, Revision, codes, meta,
};
use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::schema::MirroredArgument;

use super::decimal::Decimal;

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

/// The members of params that headers repeat, still raw, so that one that does not fit cannot hide
/// the others from the comparison (S11).
#[derive(Default, Deserialize)]
struct BodyParams<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId")]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BodyMeta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
}

impl<'a> BodyParams<'a> {
    fn read(params: Option<&'a RawValue>) -> Result<Self, ErrorObject> {
        match params {
            None => Ok(Self::default()),
            Some(params) => object(params).ok_or_else(|| incomparable("params")),
        }
    }

    /// The revision in the metadata, if there is one.
    fn version(&self) -> Result<Option<Cow<'a, str>>, ErrorObject> {
        let Some(meta) = self.meta else {
            return Ok(None);
        };
        let meta: BodyMeta<'a> = object(meta).ok_or_else(|| incomparable("_meta"))?;
        let version = meta.version.map(|raw| text(raw, meta::PROTOCOL_VERSION));
        version.transpose()
    }
}

/// An object as its members. An array would be read as the members in their order.
fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    let is_object = raw.get().starts_with('{');
    is_object.then(|| serde_json::from_str(raw.get()).ok())?
}

fn text<'a>(raw: &'a RawValue, name: &str) -> Result<Cow<'a, str>, ErrorObject> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    match serde_json::from_str(raw.get()) {
        Ok(Text(text)) => Ok(text),
        Err(_) => Err(incomparable(name)),
    }
}

/// Whether params carry the metadata of the modern era.
pub(super) fn has_modern_meta(params: &RawValue) -> bool {
    let version = BodyParams::read(Some(params)).and_then(|params| params.version());
    matches!(version, Ok(Some(_)))
}

/// Checks that the headers of a modern request say what its body says (S-SHM-09). Params that
/// cannot be read cannot say the same.
pub(super) fn check<'m>(
    headers: &HeaderMap,
    claimed: &Claimed,
    method: &str,
    params: Option<&RawValue>,
    mirrored: impl FnOnce(&str) -> std::sync::Arc<[MirroredArgument]> + 'm,
) -> Result<(), ErrorObject> {
    let Some(version) = &claimed.version else {
        return Err(mismatch("the header MCP-Protocol-Version is missing"));
    };
    let body = BodyParams::read(params)?;
    // What the body lacks is its own mistake, told by the service.
    if body.version()?.is_some_and(|said| said != *version) {
        return Err(mismatch(&format!(
            "the header MCP-Protocol-Version is not the \"{}\" of the body",
            meta::PROTOCOL_VERSION
        )));
    }
    equal(headers, METHOD, method)?;
    let (member, name) = match method {
        CallTool::NAME | GetPrompt::NAME => ("name", body.name),
        ReadResource::NAME => ("uri", body.uri),
        ExtGetTask::NAME | ExtUpdateTask::NAME | ExtCancelTask::NAME => ("taskId", body.task_id),
        _ => return Ok(()),
    };
    let Some(name) = name else { return Ok(()) };
    let name = text(name, member)?;
    equal(headers, NAME, &name)?;
    if method == CallTool::NAME {
        let mirrored = mirrored(&name);
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
    for argument in mirrored {
        let header = format!("{PARAMETER}{}", argument.header.to_ascii_lowercase());
        let mut value = arguments;
        for name in &argument.path {
            let Some(parent) = value.filter(|it| it.get().starts_with('{')) else {
                value = None;
                break;
            };
            let members: Option<HashMap<String, &RawValue>> = object(parent);
            let members = members.ok_or_else(|| incomparable("arguments"))?;
            value = members.get(name.as_str()).copied();
        }
        let value = value.filter(|it| it.get() != "null");
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

fn says(header: &str, value: &RawValue) -> bool {
    let value = value.get();
    match value.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(value).is_ok_and(|text| text == header),
        Some(b't' | b'f') => value == header,
        // Numbers are compared as numbers, whatever their size: `042` and `42.0` are 42.
        Some(b'-' | b'0'..=b'9') => match (Decimal::parse(header), Decimal::parse(value)) {
            (Some(said), Some(meant)) => said == meant,
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
            let bytes = STANDARD.decode(encoded).map_err(|_| unreadable())?;
            let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
            Ok(Some(Cow::Owned(text)))
        }
    }
}

fn incomparable(member: &str) -> ErrorObject {
    mismatch(&format!(
        "\"{member}\" cannot be read, so the headers cannot be compared with it"
    ))
}

fn mismatch(message: &str) -> ErrorObject {
    ErrorObject::new(codes::HEADER_MISMATCH, message)
}
