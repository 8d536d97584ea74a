//! Lists in which a bad entry spoils itself only (invariant 9, fault 54).

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{Json, shortened};

/// A list from a peer: the entries that could be read, and those that could not.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<T> {
    /// The readable entries, in order.
    pub items: Vec<T>,
    /// The unreadable ones, kept raw.
    pub rejected: Vec<Rejected>,
}

/// An entry that is not what its list promises.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The entry as it came.
    pub raw: Json,
    /// Why it was refused.
    pub reason: String,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            rejected: Vec::new(),
        }
    }
}

impl<T> From<Vec<T>> for Entries<T> {
    fn from(items: Vec<T>) -> Self {
        Self {
            items,
            rejected: Vec::new(),
        }
    }
}

impl<T> Deref for Entries<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> IntoIterator for Entries<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Entries<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T: Serialize> Entries<T> {
    /// Moves the entries that `reason` finds fault with to the rejected ones.
    pub fn reject(&mut self, reason: impl Fn(&T) -> Option<String>) {
        let items = std::mem::take(&mut self.items);
        for item in items {
            match reason(&item) {
                None => self.items.push(item),
                Some(reason) => self.rejected.push(Rejected {
                    raw: Json::from_serialize(&item).unwrap_or_default(),
                    reason,
                }),
            }
        }
    }
}

impl<T> Extend<T> for Entries<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.items.extend(items);
    }
}

impl<T> Entries<T> {
    /// Appends another page of the same list.
    pub fn append(&mut self, page: Self) {
        self.items.extend(page.items);
        self.rejected.extend(page.rejected);
    }
}

impl<T: Serialize> Serialize for Entries<T> {
    /// Writes readable entries first, then the raw ones: nothing is lost, order among the two is.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq as _;
        let mut list = serializer.serialize_seq(Some(self.items.len() + self.rejected.len()))?;
        for item in &self.items {
            list.serialize_element(item)?;
        }
        for rejected in &self.rejected {
            list.serialize_element(&rejected.raw)?;
        }
        list.end()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for ListVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut entries = Entries::default();
                while let Some(raw) = list.next_element::<&'de RawValue>()? {
                    match serde_json::from_str(raw.get()) {
                        Ok(item) => entries.items.push(item),
                        Err(error) => entries.rejected.push(Rejected {
                            raw: raw.into(),
                            reason: shortened(error),
                        }),
                    }
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_54_one_bad_entry_costs_only_itself() {
        let entries: Entries<u8> = serde_json::from_str(r#"[1,"two",3,{"four":4}]"#).unwrap();
        assert_eq!(entries.items, [1, 3]);
        let rejected: Vec<_> = entries.rejected.iter().map(|it| it.raw.as_str()).collect();
        assert_eq!(rejected, [r#""two""#, r#"{"four":4}"#]);
        assert_eq!(
            serde_json::to_string(&entries).unwrap(),
            r#"[1,3,"two",{"four":4}]"#
        );
    }
}
