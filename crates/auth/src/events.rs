//! How a login goes, for whoever shows it to a person.

use url::Url;

/// A step of a login. Faces turn these into words.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LoginEvent {
    /// The authorization server is being searched for.
    Searching,
    /// It was found.
    Found {
        /// Its name.
        issuer: String,
    },
    /// This client is being registered there.
    Registering {
        /// Where.
        issuer: String,
    },
    /// A person has to visit this page. The address is safe to open and too telling to log.
    Visit {
        /// The page.
        url: Url,
    },
    /// The page could not be opened, so the person must be told its address.
    NotOpened {
        /// The page.
        url: Url,
        /// Why it was not opened.
        problem: String,
    },
    /// The token is being fetched.
    Fetching,
    /// The token is being renewed.
    Renewing,
    /// There is a new token.
    Done {
        /// What it allows, if the authorization server says so.
        scopes: Vec<String>,
    },
}
