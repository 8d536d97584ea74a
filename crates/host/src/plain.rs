//! How shared values and tagged ones are written as plain data, in both directions.
//!
//! JSON text inside events and questions stays as it was written: the usual ways to flatten or tag
//! would read it into values first, which rounds big numbers.

use std::borrow::Cow;
use std::sync::Arc;

use attache_client::protocol::{Extra, Json};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::ServerName;

/// The fields of a tagged value with its tag among them: `{"sent":{"request":1}}` becomes
/// `{"event":"sent","request":1}` after the fields that `head` has.
pub(crate) fn flatten(
    head: &mut Extra,
    tag: &str,
    value: &impl Serialize,
) -> Result<(), serde_json::Error> {
    let json = Json::from_serialize(value)?;
    // A value without fields is its name alone.
    if let Ok(name) = json.decode::<String>() {
        head.insert(tag, Json::from_serialize(&name)?);
        return Ok(());
    }
    let tagged: Extra = json.decode()?;
    for (name, fields) in tagged.iter() {
        head.insert(tag, Json::from_serialize(name)?);
        for (field, value) in fields.decode::<Extra>()?.iter() {
            head.insert(field, value.clone());
        }
    }
    Ok(())
}

/// The tagged value that [`flatten`] has written among other fields.
pub(crate) fn unflatten<T: DeserializeOwned>(
    fields: &Extra,
    tag: &str,
) -> Result<T, serde_json::Error> {
    let missing = || serde_json::Error::custom(format!("the field {tag} is missing"));
    let name = fields.get(tag).ok_or_else(missing)?;
    if let Ok(value) = name.decode() {
        return Ok(value);
    }
    let mut tagged = Extra::default();
    tagged.insert(name.decode::<String>()?, Json::from_serialize(fields)?);
    Json::from_serialize(&tagged)?.decode()
}

/// A value behind an `Arc`.
pub(crate) mod shared {
    use super::*;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}

/// Values behind an `Arc` each.
pub(crate) mod shared_list {
    use std::collections::VecDeque;

    use super::*;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        values: &VecDeque<Arc<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(AsRef::as_ref))
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<VecDeque<Arc<T>>, D::Error> {
        let values = Vec::<T>::deserialize(deserializer)?;
        Ok(values.into_iter().map(Arc::new).collect())
    }
}

impl Serialize for ServerName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ServerName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Self::new(&name).map_err(D::Error::custom)
    }
}
