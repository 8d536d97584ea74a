//! A protected server and its authorization server, both real sockets, with every knob that a test
//! turns; and a client that does what the transport does.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_auth::{
    AuthorizationError, Authorizer, BoxFuture, Challenge, ClientIdentity, CredentialStore,
    HttpFetch, MemoryStore, OAuth, RequestLine, UserAgent, Verdict,
};
use attache_testkit::http::{Answer, HttpRequest, HttpServer};
use http::{HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use url::Url;

use crate::web::{self, Fields as _, Page};

/// What a test changes about the world.
#[derive(Clone, Default)]
pub(crate) struct Knobs {
    /// Merged over the resource's metadata; `null` removes the document.
    pub(crate) resource: Option<Value>,
    /// Merged over the authorization server's metadata.
    pub(crate) metadata: Option<Value>,
    /// The `WWW-Authenticate` of a 401, instead of one that names the metadata.
    pub(crate) challenge: Option<String>,
    /// Changes the fields of the answer to a login.
    pub(crate) answer: Option<fn(&mut HashMap<String, String>)>,
    /// Answers token requests before anything else does.
    pub(crate) token: Option<fn(&HttpRequest) -> Option<Answer>>,
    /// Answers registrations instead of the usual.
    pub(crate) register: Option<fn(&HttpRequest) -> Answer>,
    /// Decides about a request with a good token; otherwise it is let through.
    pub(crate) admit: Option<Admission>,
}

/// Decides about a request and the scopes of its token.
pub(crate) type Admission = fn(&HttpRequest, &[String]) -> Option<Answer>;

/// Admits nobody, whatever the scopes of the token.
pub(crate) fn never_enough(_: &HttpRequest, _: &[String]) -> Option<Answer> {
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    Some(Answer::status(403).header("WWW-Authenticate", challenge))
}

/// What the authorization server knows.
#[derive(Default)]
pub(crate) struct Ledger {
    number: u32,
    /// Scopes by good access token.
    pub(crate) tokens: HashMap<String, Vec<String>>,
    /// Refresh tokens that are good for one use.
    pub(crate) refresh: HashSet<String>,
    /// Scopes of the last login.
    asked_scopes: Vec<String>,
    /// Tokens that were revoked.
    pub(crate) revoked: Vec<String>,
}

impl Ledger {
    fn issue(&mut self, scopes: Vec<String>, kind: &str) -> Value {
        self.number += 1;
        let token = format!("token-{}", self.number);
        let refresh = format!("refresh-{}", self.number);
        self.tokens.insert(token.clone(), scopes.clone());
        self.refresh.insert(refresh.clone());
        json!({
            "access_token": token, "token_type": kind, "expires_in": 3600,
            "refresh_token": refresh, "scope": scopes.join(" ")
        })
    }
}

/// Both servers.
pub(crate) struct World {
    pub(crate) resource: HttpServer,
    pub(crate) issuer: HttpServer,
    pub(crate) ledger: Arc<Mutex<Ledger>>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Knobs::default()).await
    }

    pub(crate) async fn with(knobs: Knobs) -> Self {
        let ledger: Arc<Mutex<Ledger>> = Arc::default();
        let (issuer_knobs, issuer_ledger) = (knobs.clone(), Arc::clone(&ledger));
        let issuer =
            web::serve(move |asked| authorization_server(asked, &issuer_knobs, &issuer_ledger))
                .await;
        let origin = issuer.origin();
        let resource_ledger = Arc::clone(&ledger);
        let resource = web::serve(move |asked| {
            protected_server(asked, &knobs, &resource_ledger.lock().unwrap(), &origin)
        })
        .await;
        Self {
            resource,
            issuer,
            ledger,
        }
    }

    pub(crate) fn server(&self) -> Url {
        web::at(&self.resource, "/mcp")
    }

    /// OAuth with a visitor who always agrees and a memory of its own.
    pub(crate) fn oauth(&self) -> OAuth {
        self.oauth_with(Arc::new(MemoryStore::new()))
    }

    pub(crate) fn oauth_with(&self, store: Arc<dyn CredentialStore>) -> OAuth {
        let identity = ClientIdentity::new("Test client");
        let server = self.server();
        OAuth::new(server.clone(), identity, Arc::new(fetch(&server)), store)
            .user_agent(Arc::new(Visitor))
            .login_patience(Duration::from_secs(20))
    }

    /// How often each grant was sent to the token endpoint.
    pub(crate) fn grants(&self) -> Vec<String> {
        let asked = self.issuer.requests_at("/token");
        asked
            .iter()
            .map(|asked| asked.form_fields()["grant_type"].clone())
            .collect()
    }

    /// Makes every access token worthless, as the end of their time does.
    pub(crate) fn expire_tokens(&self) {
        self.ledger.lock().unwrap().tokens.clear();
    }
}

/// A guarded HTTP client as the product uses it.
pub(crate) fn fetch(server: &Url) -> HttpFetch {
    HttpFetch::new(server).timeout(Duration::from_secs(10))
}

fn merged(mut document: Value, change: Option<&Value>) -> Option<Value> {
    match change {
        Some(Value::Object(fields)) => {
            for (name, value) in fields {
                document[name] = value.clone();
            }
            Some(document)
        }
        Some(_) => None,
        None => Some(document),
    }
}

fn document(document: Option<Value>) -> Answer {
    document.map_or(Answer::status(404), |document| Answer::json(&document))
}

fn protected_server(asked: &HttpRequest, knobs: &Knobs, ledger: &Ledger, issuer: &str) -> Answer {
    let own = format!("http://{}", asked.header("host").unwrap_or("host"));
    if asked.path == "/.well-known/oauth-protected-resource/mcp" {
        let resource = json!({"resource": format!("{own}/mcp"), "authorization_servers": [issuer]});
        return document(merged(resource, knobs.resource.as_ref()));
    }
    if asked.path != "/mcp" {
        return Answer::status(404);
    }
    let token = asked
        .header("authorization")
        .and_then(|value| value.split_once(' '));
    let scopes = token.and_then(|(_, token)| ledger.tokens.get(token));
    match scopes {
        Some(scopes) => {
            let decided = knobs.admit.and_then(|admit| admit(asked, scopes));
            decided.unwrap_or_else(|| Answer::status(200))
        }
        None => {
            let usual = || "Bearer scope=\"basic\"".to_owned();
            let challenge = knobs.challenge.clone().unwrap_or_else(usual);
            Answer::status(401).header("WWW-Authenticate", &challenge)
        }
    }
}

fn authorization_server(asked: &HttpRequest, knobs: &Knobs, ledger: &Mutex<Ledger>) -> Answer {
    let own = format!("http://{}", asked.header("host").unwrap_or("host"));
    let mut ledger = ledger.lock().unwrap();
    match asked.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let metadata = json!({
                "issuer": own,
                "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "registration_endpoint": format!("{own}/register"),
                "revocation_endpoint": format!("{own}/revoke"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            });
            document(merged(metadata, knobs.metadata.as_ref()))
        }
        "/register" => match knobs.register {
            Some(register) => register(asked),
            None => Answer::json(&json!({"client_id": "registered"})).with_status(201),
        },
        "/authorize" => {
            let scope = asked.query_fields().remove("scope").unwrap_or_default();
            ledger.asked_scopes = scope.split_whitespace().map(str::to_owned).collect();
            let mut answer = HashMap::from([
                ("code".to_owned(), "the-code".to_owned()),
                ("state".to_owned(), asked.query_fields()["state"].clone()),
                ("iss".to_owned(), own),
            ]);
            if let Some(change) = knobs.answer {
                change(&mut answer);
            }
            let mut back = Url::parse(&asked.query_fields()["redirect_uri"]).unwrap();
            back.query_pairs_mut().extend_pairs(answer);
            Answer::status(302).header("Location", back.as_str())
        }
        "/token" => {
            if let Some(reply) = knobs.token.and_then(|token| token(asked)) {
                return reply;
            }
            token_endpoint(asked, &mut ledger)
        }
        "/revoke" => {
            ledger.revoked.push(asked.form_fields()["token"].clone());
            Answer::status(200)
        }
        _ => Answer::status(404),
    }
}

fn token_endpoint(asked: &HttpRequest, ledger: &mut Ledger) -> Answer {
    let form = asked.form_fields();
    let kind = match asked.header("dpop") {
        Some(_) => "DPoP",
        None => "Bearer",
    };
    // A refresh token is good for one use; its second use looks like theft.
    if form["grant_type"] == "refresh_token" && !ledger.refresh.remove(&form["refresh_token"]) {
        return Answer::json(&json!({"error": "invalid_grant"})).with_status(400);
    }
    let asked_scopes = ledger.asked_scopes.clone();
    let scopes = form.get("scope").map_or(asked_scopes, |scope| {
        scope.split_whitespace().map(str::to_owned).collect()
    });
    Answer::json(&ledger.issue(scopes, kind))
}

/// A person with a browser who agrees to everything.
pub(crate) struct Visitor;

impl UserAgent for Visitor {
    fn open<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let answer = web::get(url, &[]).await;
            let Some(location) = answer.headers.get("location") else {
                return Err(format!("status {}", answer.status));
            };
            let back = Url::parse(location.to_str().unwrap()).unwrap();
            web::get(&back, &[]).await;
            Ok(())
        })
    }
}

/// Requests a page as the transport does: headers before each attempt, refusals to the authorizer.
pub(crate) async fn request(oauth: &dyn Authorizer, url: &Url) -> Result<Page, AuthorizationError> {
    let method = Method::GET;
    let line = RequestLine {
        method: &method,
        url,
    };
    let mut attempt = 0;
    loop {
        let headers: Vec<(HeaderName, HeaderValue)> = oauth.headers(line).await?;
        let answer = web::get(url, &headers).await;
        if !matches!(answer.status.as_u16(), 401 | 403) {
            oauth.answered(line, &answer.headers);
            return Ok(answer);
        }
        let sent = headers.iter().find(|(name, _)| name == "authorization");
        let challenge = Challenge {
            request: line,
            sent: sent.map(|(_, value)| value),
            status: answer.status,
            headers: &answer.headers,
            attempt,
        };
        if oauth.challenged(challenge).await? == Verdict::Unrelated {
            return Ok(answer);
        }
        attempt += 1;
    }
}

/// Makes a request that must succeed.
pub(crate) async fn admitted(oauth: &dyn Authorizer, url: &Url) {
    let answer = request(oauth, url).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Makes a request that must fail before it is admitted.
pub(crate) async fn refused(oauth: &dyn Authorizer, url: &Url) -> AuthorizationError {
    match request(oauth, url).await {
        Ok(answer) => panic!("answered with {}", answer.status),
        Err(error) => error,
    }
}
