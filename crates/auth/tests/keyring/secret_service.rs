//! A Secret Service on a bus of its own: what a desktop has, for one test.
//!
//! Keeps what it is given, as it is given it. It owns no cryptography: with its public key the
//! agreed secret is always 1, so all sessions have the same key and what one has encrypted another
//! can read, without this service being able to.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use zbus::blocking::{Connection, connection};
use zbus::object_server::{ObjectServer, SignalEmitter};
use zbus::zvariant::{ObjectPath, OwnedObjectPath, OwnedValue, Value};
use zbus::{fdo, interface};

const ROOT: &str = "/org/freedesktop/secrets";
const COLLECTION: &str = "/org/freedesktop/secrets/collection/login";
const SESSION: &str = "/org/freedesktop/secrets/session/one";
const PROMPT: &str = "/org/freedesktop/secrets/prompt/one";
const NOTHING: &str = "/";

/// A secret on the wire: session, parameters of the encryption, value, content type.
type Secret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// An item as it was given.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) attributes: HashMap<String, String>,
    pub(crate) value: Vec<u8>,
    parameters: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    items: Vec<Kept>,
    locked: bool,
}

/// A private bus with the service on it.
pub(crate) struct SecretService {
    daemon: Child,
    address: String,
    shared: Shared,
    _connection: Connection,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl SecretService {
    pub(crate) fn start() -> Self {
        let mut daemon = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
            .args(["--address=unix:tmpdir=/tmp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("dbus-daemon has to be installed: {error}"));
        let mut address = String::new();
        let mut stdout = BufReader::new(daemon.stdout.take().unwrap());
        stdout.read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let shared = Shared::default();
        let connection = connection::Builder::address(address.as_str())
            .and_then(|builder| builder.name("org.freedesktop.secrets"))
            .and_then(|builder| builder.serve_at(ROOT, Service(shared.clone())))
            .and_then(|builder| builder.serve_at(COLLECTION, Collection(shared.clone())))
            .and_then(|builder| builder.serve_at(PROMPT, Prompt))
            .and_then(connection::Builder::build)
            .unwrap();
        Self {
            daemon,
            address,
            shared,
            _connection: connection,
        }
    }

    /// What a program needs in `DBUS_SESSION_BUS_ADDRESS`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn items(&self) -> Vec<Kept> {
        self.shared.state().items.clone()
    }

    /// From now on a person would have to unlock it, and does not.
    pub(crate) fn lock(&self) {
        self.shared.state().locked = true;
    }
}

impl Drop for SecretService {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn path(text: &str) -> OwnedObjectPath {
    ObjectPath::try_from(text).unwrap().into()
}

fn item_path(number: usize) -> OwnedObjectPath {
    path(&format!("{COLLECTION}/{number}"))
}

struct Service(Shared);

#[interface(name = "org.freedesktop.Secret.Service")]
impl Service {
    fn open_session(
        &self,
        _algorithm: &str,
        _input: Value<'_>,
    ) -> fdo::Result<(OwnedValue, OwnedObjectPath)> {
        let public_key = OwnedValue::try_from(Value::from(vec![1_u8]));
        let public_key = public_key.map_err(|error| fdo::Error::Failed(error.to_string()))?;
        Ok((public_key, path(SESSION)))
    }

    fn search_items(
        &self,
        attributes: HashMap<String, String>,
    ) -> (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) {
        let state = self.0.state();
        let fits = |kept: &Kept| {
            let mut wanted = attributes.iter();
            wanted.all(|(name, value)| kept.attributes.get(name) == Some(value))
        };
        let found = state.items.iter().enumerate();
        let found = found.filter(|(_, kept)| fits(kept));
        let found = found.map(|(number, _)| item_path(number)).collect();
        match state.locked {
            false => (found, Vec::new()),
            true => (Vec::new(), found),
        }
    }

    fn unlock(&self, objects: Vec<OwnedObjectPath>) -> (Vec<OwnedObjectPath>, OwnedObjectPath) {
        match self.0.state().locked {
            false => (objects, path(NOTHING)),
            true => (Vec::new(), path(PROMPT)),
        }
    }

    fn read_alias(&self, name: &str) -> OwnedObjectPath {
        match name {
            "default" => path(COLLECTION),
            _ => path(NOTHING),
        }
    }

    #[zbus(property)]
    fn collections(&self) -> Vec<OwnedObjectPath> {
        vec![path(COLLECTION)]
    }
}

struct Collection(Shared);

#[interface(name = "org.freedesktop.Secret.Collection")]
impl Collection {
    async fn create_item(
        &self,
        properties: HashMap<String, OwnedValue>,
        secret: Secret,
        _replace: bool,
        #[zbus(object_server)] objects: &ObjectServer,
    ) -> fdo::Result<(OwnedObjectPath, OwnedObjectPath)> {
        let attributes = properties
            .into_iter()
            .find(|(name, _)| name == "org.freedesktop.Secret.Item.Attributes")
            .and_then(|(_, value)| value.try_into().ok())
            .unwrap_or_default();
        let number = {
            let mut state = self.0.state();
            state.items.push(Kept {
                attributes,
                parameters: secret.1,
                value: secret.2,
            });
            state.items.len() - 1
        };
        let item = Item {
            shared: self.0.clone(),
            number,
        };
        objects.at(item_path(number), item).await?;
        Ok((item_path(number), path(NOTHING)))
    }

    #[zbus(property)]
    fn locked(&self) -> bool {
        self.0.state().locked
    }

    #[zbus(property)]
    fn label(&self) -> String {
        "Login".to_owned()
    }
}

struct Item {
    shared: Shared,
    number: usize,
}

#[interface(name = "org.freedesktop.Secret.Item")]
impl Item {
    fn get_secret(&self, session: ObjectPath<'_>) -> (Secret,) {
        let kept = self.shared.state().items[self.number].clone();
        let content_type = "application/octet-stream".to_owned();
        ((session.into(), kept.parameters, kept.value, content_type),)
    }

    fn set_secret(&self, secret: Secret) {
        let mut state = self.shared.state();
        let kept = &mut state.items[self.number];
        (kept.parameters, kept.value) = (secret.1, secret.2);
    }

    #[zbus(property)]
    fn locked(&self) -> bool {
        self.shared.state().locked
    }

    #[zbus(property)]
    fn attributes(&self) -> HashMap<String, String> {
        self.shared.state().items[self.number].attributes.clone()
    }
}

/// The question to a person, who turns away.
struct Prompt;

#[interface(name = "org.freedesktop.Secret.Prompt")]
impl Prompt {
    async fn prompt(
        &self,
        _window: &str,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> fdo::Result<()> {
        Self::completed(&emitter, true, Value::from("")).await?;
        Ok(())
    }

    #[zbus(signal)]
    async fn completed(
        emitter: &SignalEmitter<'_>,
        dismissed: bool,
        result: Value<'_>,
    ) -> zbus::Result<()>;
}
