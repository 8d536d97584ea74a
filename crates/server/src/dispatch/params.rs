//! The params of a request, read once: every member that some method knows, still raw.

use std::borrow::Cow;

use attache_protocol::{
    ClientCapabilities, Era, ErrorObject, Implementation, Json, LogLevel, ProgressToken, Revision,
    UnsupportedVersionData, codes,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::kernel::Kernel;

/// Params with their members by name.
#[derive(Default, Deserialize)]
pub(super) struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) task: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId")]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(super) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    pub(super) request_state: Option<&'a RawValue>,
    /// The whole, for methods with a type of their own.
    #[serde(skip)]
    whole: Option<&'a RawValue>,
}

/// A string that is borrowed where it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The `_meta` of a request.
#[derive(Default, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

/// What a modern request says about its client, for this request only (S-BASE-15).
pub(super) struct ModernMeta {
    pub(super) revision: Revision,
    pub(super) capabilities: ClientCapabilities,
    pub(super) client: Option<Implementation>,
    pub(super) log_level: Option<LogLevel>,
}

pub(super) fn invalid(message: impl Into<String>) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, message)
}

impl<'a> Params<'a> {
    pub(super) fn read(raw: Option<&'a RawValue>) -> Result<Self, ErrorObject> {
        let Some(raw) = raw else {
            return Ok(Self::default());
        };
        if !raw.get().starts_with('{') {
            return Err(invalid("params must be an object"));
        }
        let mut params: Self = serde_json::from_str(raw.get())
            .map_err(|error| invalid(format!("the params are malformed: {error}")))?;
        params.whole = Some(raw);
        Ok(params)
    }

    /// The era a request belongs to by its own metadata (S-MOD-17).
    pub(super) fn era(&self) -> Era {
        match self.meta() {
            Ok(meta) if meta.version.is_some() => Era::Modern,
            _ => Era::Legacy,
        }
    }

    pub(super) fn meta(&self) -> Result<Meta<'a>, ErrorObject> {
        match self.meta {
            None => Ok(Meta::default()),
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|error| invalid(format!("_meta is malformed: {error}"))),
        }
    }

    pub(super) fn name(&self) -> Result<Cow<'a, str>, ErrorObject> {
        text(self.name, "name")
    }

    pub(super) fn uri(&self) -> Result<Cow<'a, str>, ErrorObject> {
        text(self.uri, "uri")
    }

    pub(super) fn task_id(&self) -> Result<Cow<'a, str>, ErrorObject> {
        text(self.task_id, "taskId")
    }

    pub(super) fn cursor(&self) -> Result<Option<Cow<'a, str>>, ErrorObject> {
        self.cursor.map(|raw| text(Some(raw), "cursor")).transpose()
    }

    /// All params as the type of their method.
    pub(super) fn decode<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        let whole = self.whole.map_or("{}", RawValue::get);
        let decoded = Json::parse(whole).and_then(|json| json.decode());
        decoded.map_err(|error| invalid(format!("the params are malformed: {error}")))
    }
}

fn text<'a>(raw: Option<&'a RawValue>, name: &str) -> Result<Cow<'a, str>, ErrorObject> {
    let raw = raw.ok_or_else(|| invalid(format!("\"{name}\" is missing")))?;
    match serde_json::from_str(raw.get()) {
        Ok(Text(text)) => Ok(text),
        Err(_) => Err(invalid(format!("\"{name}\" must be a string"))),
    }
}

impl Meta<'_> {
    pub(super) fn progress_token(&self) -> Result<Option<ProgressToken>, ErrorObject> {
        let token = self
            .progress_token
            .map(|raw| serde_json::from_str(raw.get()));
        token
            .transpose()
            .map_err(|error| invalid(format!("the progressToken is malformed: {error}")))
    }

    /// Checks what every modern request must say (S-MOD-04, S-MOD-09).
    pub(super) fn modern(&self, kernel: &Kernel) -> Result<ModernMeta, ErrorObject> {
        let required =
            |name: &str| invalid(format!("_meta lacks \"io.modelcontextprotocol/{name}\""));
        let version = self.version.ok_or_else(|| required("protocolVersion"))?;
        let version = text(Some(version), "protocolVersion")?;
        let revision = version
            .parse::<Revision>()
            .ok()
            .filter(|it| it.era() == Era::Modern && kernel.revisions.contains(it))
            .ok_or_else(|| unsupported(kernel, &version))?;
        let capabilities = self
            .capabilities
            .ok_or_else(|| required("clientCapabilities"))?;
        let capabilities = serde_json::from_str(capabilities.get())
            .map_err(|error| invalid(format!("clientCapabilities is malformed: {error}")))?;
        let log_level =
            match self.log_level {
                None => None,
                Some(raw) => Some(text(Some(raw), "logLevel")?.parse().map_err(
                    |error: attache_protocol::UnknownLogLevel| invalid(error.to_string()),
                )?),
            };
        Ok(ModernMeta {
            revision,
            capabilities,
            // A misfit identity is no reason to refuse: it steers nothing (X-MOD-08).
            client: self
                .client
                .and_then(|raw| serde_json::from_str(raw.get()).ok()),
            log_level,
        })
    }
}

/// The server does not speak that revision (S-MOD-09).
pub(super) fn unsupported(kernel: &Kernel, requested: &str) -> ErrorObject {
    let data = UnsupportedVersionData {
        supported: kernel.supported(),
        requested: Some(requested.to_owned()),
        extra: Default::default(),
    };
    ErrorObject {
        code: codes::UNSUPPORTED_VERSION,
        message: "this revision of the protocol is not supported".to_owned(),
        data: Json::from_serialize(&data).ok(),
    }
}
