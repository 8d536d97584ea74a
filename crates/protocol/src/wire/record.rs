//! The `record!` macro: typed JSON objects that lose nothing.
//!
//! A record reads the fields it knows and keeps every other field raw, in order, under
//! [`Extra`]. A field that is optional and has the wrong type is kept raw too instead of spoiling
//! its record (invariant 9): it reads as absent and is written back unchanged. Records are decoded
//! from JSON text only, never from a `serde_json::Value`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::Json;

/// Fields of a JSON object that its record has no name for, in the order they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    fields: Vec<(String, Json)>,
    /// Named fields that came with their default written out, and are written out again.
    spelled_out: Vec<&'static str>,
}

impl Extra {
    /// The raw value under `key`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.iter()
            .find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Adds a field, replacing one of the same name.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        let key = key.into();
        self.fields.retain(|(name, _)| *name != key);
        self.fields.push((key, value.into()));
    }

    /// Takes a field out; of several of that name all go, and the first is given back.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let mut removed = self.fields.extract_if(.., |(name, _)| name == key);
        let (_, first) = removed.next()?;
        removed.for_each(drop);
        Some(first)
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(crate) fn keep(&mut self, key: Cow<'_, str>, value: Json) {
        self.fields.push((key.into_owned(), value));
    }

    pub(crate) fn spell_out(&mut self, key: &'static str) {
        self.spelled_out.push(key);
    }

    pub(crate) fn spells_out(&self, key: &str) -> bool {
        self.spelled_out.contains(&key)
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Extra {
    /// Reads an object of which no field is known beforehand.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Extra;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
                let mut extra = Extra::default();
                while let Some(Key(key)) = map.next_key()? {
                    extra.keep(key, map.next_value()?);
                }
                Ok(extra)
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Extra {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(fields: I) -> Self {
        let mut extra = Self::default();
        for (key, value) in fields {
            extra.insert(key, value);
        }
        extra
    }
}

/// A map key, borrowed from the text when it holds no escapes.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a field name")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Declares a struct for a JSON object. Each field names how it is present:
///
/// - `required "key"`: must be there with the right type, or the record is refused;
/// - `optional "key"`: an `Option`; absent, `null` or of the wrong type reads as `None`;
/// - `default "key"`: absent, `null` or of the wrong type reads as the default, and the default is
///   written only if it came written out;
/// - `strict "key"`: like `default`, but the wrong type refuses the record: without this field it
///   would mean something else;
/// - `always "key"`: reads like `default` and is always written.
///
/// A value that did not fit its field stands in for it under `extra` until the field is set.
/// A known field that appears twice refuses the record (fault 26).
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $field:ident: $type:ty = $presence:ident $key:literal
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                $(#[$field_meta])*
                pub $field: $type,
            )*
            /// Fields without a name here, kept as they came.
            pub extra: $crate::Extra,
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $( $crate::wire::record::record!(@write $presence map, self, $key, $field); )*
                for (key, value) in self.extra.iter() {
                    let is_written = match key {
                        $( $key => $crate::wire::record::record!(@is_set $presence self.$field), )*
                        _ => false,
                    };
                    if !is_written {
                        map.serialize_entry(key, value)?;
                    }
                }
                map.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                struct RecordVisitor;

                impl<'de> ::serde::de::Visitor<'de> for RecordVisitor {
                    type Value = $name;

                    fn expecting(
                        &self,
                        formatter: &mut ::core::fmt::Formatter<'_>,
                    ) -> ::core::fmt::Result {
                        formatter.write_str(concat!("a ", stringify!($name), " object"))
                    }

                    #[allow(unused_mut, reason = "records without fields of their own exist")]
                    fn visit_map<A: ::serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> ::core::result::Result<Self::Value, A::Error> {
                        // The outer option says that the field came, the inner one that it fits.
                        $( let mut $field: Option<Option<$type>> = None; )*
                        let mut extra = $crate::Extra::default();
                        while let Some($crate::wire::record::Key(key)) = map.next_key()? {
                            match &*key {
                                $(
                                    $key => {
                                        if $field.is_some() {
                                            return Err(::serde::de::Error::duplicate_field($key));
                                        }
                                        $field = Some($crate::wire::record::record!(
                                            @read $presence map, $key, extra
                                        ));
                                    }
                                )*
                                _ => {
                                    let value: $crate::Json = map.next_value()?;
                                    extra.keep(key, value);
                                }
                            }
                        }
                        Ok($name {
                            $( $field: $crate::wire::record::record!(@finish $presence $field, $key), )*
                            extra,
                        })
                    }
                }

                deserializer.deserialize_map(RecordVisitor)
            }
        }
    };

    (@write required $map:ident, $self:ident, $key:literal, $field:ident) => {
        $map.serialize_entry($key, &$self.$field)?
    };
    (@write optional $map:ident, $self:ident, $key:literal, $field:ident) => {
        if let Some(value) = &$self.$field {
            $map.serialize_entry($key, value)?;
        }
    };
    (@write always $map:ident, $self:ident, $key:literal, $field:ident) => {
        if $crate::wire::record::is_set(&$self.$field) || $self.extra.get($key).is_none() {
            $map.serialize_entry($key, &$self.$field)?;
        }
    };
    (@write $presence:ident $map:ident, $self:ident, $key:literal, $field:ident) => {
        if $crate::wire::record::is_set(&$self.$field) || $self.extra.spells_out($key) {
            $map.serialize_entry($key, &$self.$field)?;
        }
    };

    (@is_set required $self:ident . $field:ident) => { true };
    (@is_set $presence:ident $self:ident . $field:ident) => {
        $crate::wire::record::is_set(&$self.$field)
    };

    (@read required $map:ident, $key:literal, $extra:ident) => { Some($map.next_value()?) };
    (@read strict $map:ident, $key:literal, $extra:ident) => {
        $crate::wire::record::noted($map.next_value()?, $key, &mut $extra)
    };
    (@read default $map:ident, $key:literal, $extra:ident) => {{
        let value = $crate::wire::record::lenient($map.next_value()?, $key, &mut $extra);
        $crate::wire::record::noted(value, $key, &mut $extra)
    }};
    (@read $presence:ident $map:ident, $key:literal, $extra:ident) => {
        $crate::wire::record::lenient($map.next_value()?, $key, &mut $extra)
    };

    (@finish required $field:ident, $key:literal) => {
        match $field.flatten() {
            Some(value) => value,
            None => return Err(::serde::de::Error::missing_field($key)),
        }
    };
    (@finish $presence:ident $field:ident, $key:literal) => {
        $field.flatten().unwrap_or_default()
    };
}

pub(crate) use record;

/// Whether a field has another value than the one it has when it is absent.
pub(crate) fn is_set<T: Default + PartialEq>(value: &T) -> bool {
    *value != T::default()
}

/// Decodes the value of a field the record can do without; what does not fit is kept raw.
pub(crate) fn lenient<'de, T: Deserialize<'de>>(
    raw: &'de serde_json::value::RawValue,
    key: &'static str,
    extra: &mut Extra,
) -> Option<T> {
    match serde_json::from_str::<Option<T>>(raw.get()) {
        Ok(value) => value,
        Err(_) => {
            extra.keep(Cow::Borrowed(key), raw.into());
            None
        }
    }
}

/// Remembers of a value whether it is a default that came written out.
pub(crate) fn noted<T: Default + PartialEq>(
    value: Option<T>,
    key: &'static str,
    extra: &mut Extra,
) -> Option<T> {
    if value.as_ref().is_some_and(|value| !is_set(value)) {
        extra.spell_out(key);
    }
    value
}

#[cfg(test)]
mod tests {
    record! {
        /// A record with every kind of presence.
        #[allow(unreachable_pub, reason = "the macro declares public structs")]
        pub struct Sample {
            name: String = required "name",
            title: Option<String> = optional "title",
            open: bool = default "open",
            tags: Vec<String> = always "tags",
            limits: Vec<u8> = strict "limits",
        }
    }

    fn check(text: &str, rewritten: &str) {
        let sample: Sample = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&sample).unwrap(), rewritten);
    }

    #[test]
    fn unknown_fields_survive_in_order_and_unrounded() {
        check(
            r#"{"z":1e400,"name":"n","a":{"k":[9007199254740993]}}"#,
            r#"{"name":"n","tags":[],"z":1e400,"a":{"k":[9007199254740993]}}"#,
        );
    }

    #[test]
    fn fault_54_a_misfit_optional_field_spoils_only_itself() {
        let sample: Sample =
            serde_json::from_str(r#"{"name":"n","title":7,"open":null,"tags":"no"}"#).unwrap();
        assert_eq!(
            (sample.title, sample.open, sample.tags),
            (None, false, vec![])
        );
        assert_eq!(sample.extra.get("title").unwrap().as_str(), "7");
        assert_eq!(sample.extra.get("tags").unwrap().as_str(), r#""no""#);
        check(r#"{"name":"n","tags":"no"}"#, r#"{"name":"n","tags":"no"}"#);
    }

    #[test]
    fn missing_required_and_doubled_fields_are_refused() {
        for (text, complaint) in [
            (r#"{"title":"t"}"#, "missing field `name`"),
            (r#"{"name":1}"#, "invalid type"),
            (r#"{"name":"a","name":"b"}"#, "duplicate field `name`"),
            (
                r#"{"title":1,"name":"a","title":"b"}"#,
                "duplicate field `title`",
            ),
            (
                r#"{"open":null,"name":"a","open":true}"#,
                "duplicate field `open`",
            ),
            (r#"{"name":"a","limits":"none"}"#, "invalid type"),
            ("[]", "a Sample object"),
        ] {
            let error = serde_json::from_str::<Sample>(text)
                .unwrap_err()
                .to_string();
            assert!(error.contains(complaint), "{text}: {error}");
        }
    }

    #[test]
    fn field_names_are_case_sensitive() {
        let sample: Sample = serde_json::from_str(r#"{"Name":"x","name":"y"}"#).unwrap();
        assert_eq!(sample.name, "y");
        assert_eq!(sample.extra.get("Name").unwrap().as_str(), r#""x""#);
    }

    #[test]
    fn a_default_is_written_if_it_came_written_out() {
        check(
            r#"{"name":"n","open":false}"#,
            r#"{"name":"n","open":false,"tags":[]}"#,
        );
        check(
            r#"{"name":"n","open":true,"limits":null}"#,
            r#"{"name":"n","open":true,"tags":[]}"#,
        );
    }

    #[test]
    fn a_field_that_is_set_replaces_its_misfit() {
        let mut sample: Sample =
            serde_json::from_str(r#"{"name":"n","title":7,"open":"no","tags":{}}"#).unwrap();
        sample.title = Some("t".to_owned());
        sample.open = true;
        sample.tags = vec!["a".to_owned()];
        assert_eq!(
            serde_json::to_string(&sample).unwrap(),
            r#"{"name":"n","title":"t","open":true,"tags":["a"]}"#
        );
    }

    #[test]
    fn an_object_without_a_record_is_read_and_written_in_order() {
        let text = r#"{"z":1,"a":{"b":[2]},"z":3}"#;
        let mut extra: crate::Extra = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&extra).unwrap(), text);
        extra.insert("z", crate::Json::parse("4").unwrap());
        assert_eq!(extra.remove("a").unwrap().as_str(), r#"{"b":[2]}"#);
        assert_eq!(extra.remove("a"), None);
        assert_eq!(serde_json::to_string(&extra).unwrap(), r#"{"z":4}"#);
    }
}
