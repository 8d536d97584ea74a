//! Which model is asked, where, and with which key.
//!
//! Owns the presets and what makes an endpoint usable. Reads no environment and no file: keys come
//! from the caller, who never takes them from a file that came with a folder.

use std::collections::BTreeMap;
use std::time::Duration;

use attache_host::config::{ChatApi, ChatConfig, Secret};
use attache_net::Proxy;
use url::{Host, Url};

use crate::error::Error;

/// A place where models answer.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where the paths of the wire format begin, such as `http://127.0.0.1:11434/v1`.
    pub base: Url,
    /// The wire format.
    pub api: ChatApi,
    /// The model's name at the endpoint.
    pub model: String,
    /// The key, if one is needed.
    pub key: Option<Secret>,
    /// Headers of every request.
    pub headers: BTreeMap<String, Secret>,
    /// How freely the model speaks; its own habit without it.
    pub temperature: Option<f64>,
    /// The way there.
    pub proxy: Proxy,
    /// How long to wait for what.
    pub patience: Patience,
}

/// How long an endpoint may be silent.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until the connection stands.
    pub connect: Duration,
    /// Until the head of the answer.
    pub first: Duration,
    /// Between two pieces of the answer.
    pub between: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(60),
            between: Duration::from_secs(60),
        }
    }
}

/// An endpoint that has a name.
struct Preset {
    name: &'static str,
    base: &'static str,
    api: ChatApi,
    /// The variable that usually holds its key.
    key_variable: Option<&'static str>,
    /// What stands for the model where it does not matter.
    model: Option<&'static str>,
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "openai",
        base: "https://api.openai.com/v1",
        api: ChatApi::OpenAi,
        key_variable: Some("OPENAI_API_KEY"),
        model: None,
    },
    Preset {
        name: "anthropic",
        base: "https://api.anthropic.com/v1",
        api: ChatApi::Anthropic,
        key_variable: Some("ANTHROPIC_API_KEY"),
        model: None,
    },
    Preset {
        name: "openrouter",
        base: "https://openrouter.ai/api/v1",
        api: ChatApi::OpenAi,
        key_variable: Some("OPENROUTER_API_KEY"),
        model: None,
    },
    Preset {
        name: "ollama",
        base: "http://127.0.0.1:11434/v1",
        api: ChatApi::OpenAi,
        key_variable: None,
        model: None,
    },
    Preset {
        name: "llamacpp",
        base: "http://127.0.0.1:8080/v1",
        api: ChatApi::OpenAi,
        key_variable: None,
        model: Some("default"),
    },
];

/// What to write if no endpoint is configured.
pub const THREE_LINES: &str = "\
[chat]
endpoint = \"ollama\"          # or openai, anthropic, openrouter, llamacpp, or a URL
model = \"qwen3\"              # add api_key = \"${VARIABLE}\" where a key is needed";

impl Endpoint {
    /// The endpoint that a configuration describes. `variable` looks up environment variables,
    /// `kept` a key that the user has put into the keyring for an address.
    pub fn new(
        config: &ChatConfig,
        model: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
        kept: impl FnOnce(&Url) -> Option<Secret>,
    ) -> Result<Self, Error> {
        let given = config.endpoint.as_deref().unwrap_or_default();
        let preset = PRESETS.iter().find(|preset| preset.name == given);
        let base = preset.map_or(given, |preset| preset.base);
        let base = read_base(base)?;
        let model = model.or(config.model.as_deref());
        let model = model.or(preset.and_then(|preset| preset.model));
        let Some(model) = model else {
            return Err(Error::Setup(format!(
                "no model is named for the endpoint {given}; write `model = \"NAME\"` in the \
                 `[chat]` table, or give --model"
            )));
        };
        let usual_variable = preset.and_then(|preset| preset.key_variable);
        let key = config.api_key.clone();
        let key = key.or_else(|| usual_variable.and_then(&variable).map(Secret::from));
        let key = key.or_else(|| kept(&base));
        let key = key.filter(|key| !key.expose().is_empty());
        let guessed = match base.host_str() {
            Some(host) if host.ends_with("anthropic.com") => ChatApi::Anthropic,
            _ => preset.map_or(ChatApi::OpenAi, |preset| preset.api),
        };
        let endpoint = Self {
            api: config.api.unwrap_or(guessed),
            model: model.to_owned(),
            key,
            headers: config.headers.clone(),
            temperature: config.temperature,
            proxy: Proxy::Environment,
            patience: Patience::default(),
            base,
        };
        endpoint.check_plain_http(config.allow_plain_http)?;
        Ok(endpoint)
    }

    /// The address of a path below the base.
    pub(crate) fn url(&self, path: &str) -> Result<Url, Error> {
        let text = format!("{}/{path}", self.base.as_str().trim_end_matches('/'));
        Url::parse(&text).map_err(|error| Error::Setup(format!("{text:?} is no address: {error}")))
    }

    /// A key must not travel where anybody on the way can read it.
    fn check_plain_http(&self, is_allowed: bool) -> Result<(), Error> {
        let has_secret = self.key.is_some() || !self.headers.is_empty();
        if is_allowed || !has_secret || self.base.scheme() == "https" || is_loopback(&self.base) {
            return Ok(());
        }
        Err(Error::Setup(format!(
            "a key would travel unencrypted to {}; use https, or set `allow_plain_http = true` in \
             the `[chat]` table if the network is your own",
            self.base.host_str().unwrap_or_default()
        )))
    }
}

fn read_base(given: &str) -> Result<Url, Error> {
    let known = || {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        names.join(", ")
    };
    match Url::parse(given) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            match url.password() {
                None => Ok(url),
                Some(_) => Err(Error::Setup(
                    "the endpoint's address holds a password; give it as `api_key`".to_owned(),
                )),
            }
        }
        _ => Err(Error::Setup(format!(
            "{given:?} is no endpoint; name one of {}, or a URL that begins with http",
            known()
        ))),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(endpoint: &str) -> ChatConfig {
        ChatConfig {
            endpoint: Some(endpoint.to_owned()),
            model: Some("m".to_owned()),
            ..ChatConfig::default()
        }
    }

    #[test]
    fn presets_and_addresses_are_endpoints() {
        for (given, base, api) in [
            ("openai", "https://api.openai.com/v1", ChatApi::OpenAi),
            (
                "anthropic",
                "https://api.anthropic.com/v1",
                ChatApi::Anthropic,
            ),
            ("ollama", "http://127.0.0.1:11434/v1", ChatApi::OpenAi),
            (
                "http://10.0.0.7:1/v1/",
                "http://10.0.0.7:1/v1/",
                ChatApi::OpenAi,
            ),
        ] {
            let endpoint = Endpoint::new(&config(given), None, |_| None, |_| None).unwrap();
            assert_eq!((endpoint.base.as_str(), endpoint.api), (base, api));
        }
        for given in ["", "opnai", "ftp://x", "http://me:secret@x/v1"] {
            let error = Endpoint::new(&config(given), None, |_| None, |_| None).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_key_comes_from_the_file_then_the_usual_variable_then_the_keyring() {
        let key = |config: &ChatConfig| {
            let variable =
                |name: &str| (name == "OPENAI_API_KEY").then(|| "from-variable".to_owned());
            let endpoint = Endpoint::new(config, None, variable, |_| Some("kept".into())).unwrap();
            endpoint.key.map(|key| key.expose().to_owned())
        };
        let mut configured = config("openai");
        assert_eq!(key(&configured).as_deref(), Some("from-variable"));
        configured.api_key = Some("from-file".into());
        assert_eq!(key(&configured).as_deref(), Some("from-file"));
        assert_eq!(key(&config("ollama")).as_deref(), Some("kept"));
    }

    #[test]
    fn s8_a_key_does_not_travel_unencrypted_to_another_machine() {
        let mut config = config("http://10.0.0.7/v1");
        config.api_key = Some("k".into());
        let make = |config: &ChatConfig| Endpoint::new(config, None, |_| None, |_| None);
        assert!(
            make(&config)
                .unwrap_err()
                .to_string()
                .contains("unencrypted")
        );
        config.allow_plain_http = true;
        assert!(make(&config).is_ok());
        config.allow_plain_http = false;
        config.endpoint = Some("http://127.0.0.1:9/v1".to_owned());
        assert!(make(&config).is_ok());
    }
}
