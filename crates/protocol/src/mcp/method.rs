//! What a method is to the rest of the system: a name and two types.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Payload;

/// A request: the caller's choice of `M: Method` selects the decoder of the answer (invariant 1).
pub trait Method {
    /// The name on the wire.
    const NAME: &'static str;
    /// The params, without `_meta`, which travels beside them.
    type Params: Serialize + DeserializeOwned;
    /// The result.
    type Result: Serialize + DeserializeOwned;

    /// Decodes a result.
    fn decode(payload: &Payload) -> Result<Self::Result, serde_json::Error> {
        payload.decode()
    }
}

/// A notification.
pub trait Notification {
    /// The name on the wire.
    const NAME: &'static str;
    /// The params.
    type Params: Serialize + DeserializeOwned;
}

/// A list that comes in pages.
pub trait Paged: Method<Params = crate::PageParams> {
    /// One entry of the list.
    type Item: serde::Serialize;

    /// Takes a page apart into its entries and the cursor of the next page.
    fn into_page(result: Self::Result) -> (crate::Entries<Self::Item>, Option<String>);

    /// Why an entry cannot be used over HTTP, where parts of a request become headers.
    fn unusable_over_http(_entry: &Self::Item) -> Option<String> {
        None
    }
}

/// Declares marker types for methods.
macro_rules! methods {
    ($( $(#[$meta:meta])* $marker:ident = $name:literal ($params:ty) -> $result:ty; )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $marker;

            impl $crate::Method for $marker {
                const NAME: &'static str = $name;
                type Params = $params;
                type Result = $result;
            }
        )*
    };
}

/// Declares marker types for notifications.
macro_rules! notifications {
    ($( $(#[$meta:meta])* $marker:ident = $name:literal ($params:ty); )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $marker;

            impl $crate::Notification for $marker {
                const NAME: &'static str = $name;
                type Params = $params;
            }
        )*
    };
}

/// Declares that a method's result is a page with its entries under the given field.
macro_rules! paged {
    ($( $marker:ident . $field:ident: $item:ty; )*) => {
        $(
            impl $crate::Paged for $marker {
                type Item = $item;

                fn into_page(
                    result: Self::Result,
                ) -> ($crate::Entries<$item>, Option<String>) {
                    (result.$field, result.next_cursor)
                }
            }
        )*
    };
}

pub(crate) use {methods, notifications, paged};
