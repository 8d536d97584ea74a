//! The authorization code flow, seen from this side: the address to visit and the answer that comes
//! back (RFC 6749 section 4.1, RFC 7636, RFC 8707, RFC 9207).
//!
//! Owns what goes into the address and which answers count. How the person gets there and how the
//! answer comes back is for `user_agent` and `redirect`.

use attache_net::quoted;
use url::Url;

use super::address::Reach;
use super::error::{AuthorizationError, Step};
use super::jwt;
use super::secret::Secret;
use super::server_metadata::ServerMetadata;
use super::token::Form;

/// A login that is under way. The issuer is recorded beside the verifier before anyone leaves for
/// the login page (C-AUTH-25).
pub(crate) struct Login {
    url: Url,
    state: Secret,
    verifier: Secret,
    issuer: String,
    sends_issuer: bool,
    redirect_uri: String,
    resource: String,
}

/// What a login asks for.
pub(crate) struct Wish<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) scopes: &'a [String],
    pub(crate) resource: &'a str,
}

/// What an answer amounts to.
pub(crate) enum Judgement {
    /// It does not belong to this login; a stranger may have sent it (C-AUTH-28).
    Stray,
    /// It ends the login.
    Final(Result<Secret, AuthorizationError>),
}

impl Login {
    /// Prepares a login at a server that offers what is needed, and only there.
    pub(crate) fn prepare(
        server: &ServerMetadata,
        reach: Reach,
        wish: &Wish<'_>,
    ) -> Result<Self, AuthorizationError> {
        server.require_pkce()?;
        let Some(endpoint) = &server.authorization_endpoint else {
            return Err(AuthorizationError::Discovery {
                server: server.issuer.clone(),
                problem: "its metadata name no authorization endpoint".to_owned(),
            });
        };
        reach.check(endpoint)?;
        let state = Secret::new(jwt::random_text()?);
        let verifier = Secret::new(jwt::random_text()?);
        let mut url = endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", wish.client_id)
            .append_pair("redirect_uri", wish.redirect_uri)
            .append_pair("state", state.expose())
            .append_pair("code_challenge", &jwt::digest(verifier.expose()))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", wish.resource);
        if !wish.scopes.is_empty() {
            url.query_pairs_mut()
                .append_pair("scope", &wish.scopes.join(" "));
        }
        if wish
            .scopes
            .iter()
            .any(|scope| scope == super::scopes::OFFLINE_ACCESS)
        {
            // OpenID providers grant offline access only together with a consent page.
            url.query_pairs_mut().append_pair("prompt", "consent");
        }
        Ok(Self {
            url,
            state,
            verifier,
            issuer: server.issuer.clone(),
            sends_issuer: server.sends_issuer,
            redirect_uri: wish.redirect_uri.to_owned(),
            resource: wish.resource.to_owned(),
        })
    }

    /// The address to visit.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Judges an answer: first whether it is ours, then whether it comes from the right server, and
    /// only then what it says. A foreign answer is not even quoted (C-AUTH-27).
    pub(crate) fn judge(&self, answer: &[(String, String)]) -> Judgement {
        let field = |name: &str| {
            let found = answer.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        if field("state") != Some(self.state.expose()) {
            return Judgement::Stray;
        }
        // Compared as text, without normalising (C-AUTH-26).
        let is_foreign = match field("iss") {
            Some(issuer) => issuer != self.issuer,
            None => self.sends_issuer,
        };
        if is_foreign {
            return Judgement::Final(Err(AuthorizationError::ForeignAnswer {
                issuer: self.issuer.clone(),
            }));
        }
        if let Some(error) = field("error") {
            return Judgement::Final(Err(AuthorizationError::Refused {
                step: Step::Login,
                error: quoted(error),
                description: field("error_description").map(quoted),
            }));
        }
        Judgement::Final(match field("code") {
            Some(code) if !code.is_empty() => Ok(Secret::new(code)),
            _ => Err(AuthorizationError::BadAnswer {
                step: Step::Login,
                problem: "neither code nor error".to_owned(),
            }),
        })
    }

    /// The form that turns the code into a token.
    pub(crate) fn exchange(&self, code: &Secret) -> Form {
        vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.expose().to_owned()),
            ("redirect_uri", self.redirect_uri.clone()),
            ("code_verifier", self.verifier.expose().to_owned()),
            ("resource", self.resource.clone()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Value, json};

    use super::*;

    fn metadata(extra: Value) -> ServerMetadata {
        let mut document = json!({
            "issuer": "https://a.b", "token_endpoint": "https://a.b/token",
            "authorization_endpoint": "https://a.b/authorize?tenant=1",
            "code_challenge_methods_supported": ["S256"]
        });
        for (name, value) in extra.as_object().unwrap() {
            document[name] = value.clone();
        }
        ServerMetadata::read(&document, "https://a.b").unwrap()
    }

    fn prepare(extra: Value, scopes: &[String]) -> Result<Login, AuthorizationError> {
        let wish = Wish {
            client_id: "id",
            redirect_uri: "http://127.0.0.1:1/callback",
            scopes,
            resource: "https://s.t/mcp",
        };
        Login::prepare(&metadata(extra), Reach::Public, &wish)
    }

    /// C-AUTH-20, C-AUTH-22, C-AUTH-28.
    #[test]
    fn the_address_says_everything_once() {
        let login = prepare(json!({}), &["a".to_owned(), "b".to_owned()]).unwrap();
        let pairs: Vec<(String, String)> = login.url.query_pairs().into_owned().collect();
        let fields: HashMap<String, String> = pairs.iter().cloned().collect();
        assert_eq!(pairs.len(), fields.len());
        let expected = [
            ("tenant", "1"),
            ("response_type", "code"),
            ("client_id", "id"),
            ("redirect_uri", "http://127.0.0.1:1/callback"),
            ("code_challenge_method", "S256"),
            ("resource", "https://s.t/mcp"),
            ("scope", "a b"),
        ];
        for (name, value) in expected {
            assert_eq!(fields[name], value);
        }
        assert_eq!(
            fields["code_challenge"],
            jwt::digest(login.verifier.expose())
        );
        assert_eq!(fields["state"], login.state.expose());
        assert!(
            !fields
                .values()
                .any(|value| value == login.verifier.expose())
        );

        let form = login.exchange(&Secret::new("c"));
        let form: HashMap<_, _> = form.into_iter().collect();
        assert_eq!(form["resource"], "https://s.t/mcp");
        assert_eq!(form["code_verifier"], login.verifier.expose());

        let without = prepare(json!({}), &[]).unwrap();
        assert!(!without.url.query().unwrap().contains("scope"));
    }

    #[test]
    fn a_server_that_is_not_safe_is_not_visited() {
        let refused = |extra: Value| prepare(extra, &[]).err().unwrap();
        assert!(matches!(
            refused(json!({"code_challenge_methods_supported": ["plain"]})),
            AuthorizationError::PkceMissing { .. }
        ));
        for endpoint in [
            "http://a.b/authorize",
            "javascript:alert(1)",
            "http://localhost/",
        ] {
            assert!(matches!(
                refused(json!({"authorization_endpoint": endpoint})),
                AuthorizationError::UnsafeAddress(_)
            ));
        }
    }

    /// C-AUTH-26, C-AUTH-27, C-AUTH-28 as a table.
    /// S7.
    #[test]
    fn only_the_right_answer_counts() {
        let check = |sends_issuer: bool, answer: &[(&str, &str)], expected: &str| {
            let extra = json!({"authorization_response_iss_parameter_supported": sends_issuer});
            let login = prepare(extra, &[]).unwrap();
            let answer: Vec<(String, String)> = answer
                .iter()
                .map(|(name, value)| {
                    let value = if *value == "OURS" {
                        login.state.expose()
                    } else {
                        value
                    };
                    ((*name).to_owned(), value.to_owned())
                })
                .collect();
            let found = match login.judge(&answer) {
                Judgement::Stray => "stray".to_owned(),
                Judgement::Final(Ok(code)) => format!("code {}", code.expose()),
                Judgement::Final(Err(error)) => error.to_string(),
            };
            assert!(found.starts_with(expected), "{answer:?}: {found}");
            assert!(!found.contains("evil"), "{found}");
        };
        let ours = ("state", "OURS");
        check(false, &[ours, ("code", "c")], "code c");
        check(
            true,
            &[ours, ("code", "c"), ("iss", "https://a.b")],
            "code c",
        );
        check(
            false,
            &[ours, ("code", "c"), ("iss", "https://a.b")],
            "code c",
        );
        check(
            true,
            &[ours, ("code", "c")],
            "the answer to the login does not come from",
        );
        check(
            true,
            &[ours, ("code", "c"), ("iss", "https://a.b/")],
            "the answer to the login",
        );
        check(
            false,
            &[ours, ("code", "c"), ("iss", "https://evil")],
            "the answer to the login",
        );
        check(
            false,
            &[ours, ("error", "evil"), ("iss", "https://evil")],
            "the answer to the login",
        );
        check(false, &[("state", "x"), ("code", "c")], "stray");
        check(false, &[("code", "c")], "stray");
        check(
            false,
            &[
                ours,
                ("error", "access_denied"),
                ("error_description", "no"),
            ],
            "the login was refused: access_denied (no)",
        );
        check(false, &[ours], "the login got an unusable answer");
    }
}
