//! Which request is answered how: rules in order, the last that fits counts.

use std::fmt;
use std::io;
use std::sync::Arc;

use serde_json::Value;

use super::answer::Answer;
use super::request::HttpRequest;
use super::server::HttpServer;
use super::usual;

/// What a server says to whom.
#[derive(Clone, Debug)]
pub struct HttpScript {
    pub(super) kind: Kind,
    rules: Vec<Rule>,
}

/// What a server is when no rule says otherwise.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A legacy server of the given revision, with a session.
    Legacy(String),
    /// A modern server.
    Modern,
    /// No MCP server: 404 for everything.
    Nothing,
    /// Whatever a test makes of it.
    Computed(Computed),
}

/// A function that answers.
#[derive(Clone)]
pub(super) struct Computed(pub(super) Arc<dyn Fn(&HttpRequest) -> Answer + Send + Sync>);

impl fmt::Debug for Computed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Computed")
    }
}

#[derive(Clone, Debug)]
struct Rule {
    on: On,
    answer: Answer,
    /// How many requests have fitted so far.
    seen: usize,
}

/// Which requests a rule is about.
#[derive(Clone, Debug, Default)]
pub struct On {
    verb: Option<String>,
    method: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    header: Option<(String, String)>,
    first: usize,
    last: Option<usize>,
}

impl On {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests with this verb.
    pub fn verb(verb: &str) -> Self {
        Self {
            verb: Some(verb.to_owned()),
            ..Self::default()
        }
    }

    /// Messages of this method.
    pub fn rpc(method: &str) -> Self {
        Self {
            method: Some(method.to_owned()),
            ..Self::default()
        }
    }

    /// Calls of this tool.
    pub fn tool(name: &str) -> Self {
        Self {
            tool: Some(name.to_owned()),
            ..Self::rpc("tools/call")
        }
    }

    /// Only at this path.
    #[must_use]
    pub fn at(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// Only with this header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.header = Some((name.to_owned(), value.to_owned()));
        self
    }

    /// Only the nth that fits, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: usize) -> Self {
        (self.first, self.last) = (n, Some(n));
        self
    }

    /// Only from the nth that fits on.
    #[must_use]
    pub fn from_nth(mut self, n: usize) -> Self {
        self.first = n;
        self
    }

    fn fits(&self, request: &HttpRequest, message: &Value) -> bool {
        let is = |wanted: &Option<String>, found: &Value| match wanted {
            Some(wanted) => found == wanted.as_str(),
            None => true,
        };
        let verb = self.verb.as_ref().is_none_or(|verb| *verb == request.verb);
        let path = self.path.as_ref().is_none_or(|path| *path == request.path);
        let header = self
            .header
            .as_ref()
            .is_none_or(|(name, value)| request.header(name) == Some(value));
        let tool = is(&self.tool, &message["params"]["name"]);
        verb && path && header && tool && is(&self.method, &message["method"])
    }
}

impl HttpScript {
    /// A legacy server of the given revision. It hands out sessions `session-1`, `session-2` … and
    /// offers the tools of the usual servers.
    pub fn legacy(revision: &str) -> Self {
        Self::of(Kind::Legacy(revision.to_owned()))
    }

    /// A server of 2026-07-28.
    pub fn modern() -> Self {
        Self::of(Kind::Modern)
    }

    /// A web server that knows nothing of MCP.
    pub fn nothing() -> Self {
        Self::of(Kind::Nothing)
    }

    /// A web server that answers with a function.
    pub fn computed(answer: impl Fn(&HttpRequest) -> Answer + Send + Sync + 'static) -> Self {
        Self::of(Kind::Computed(Computed(Arc::new(answer))))
    }

    fn of(kind: Kind) -> Self {
        Self {
            kind,
            rules: Vec::new(),
        }
    }

    /// Adds a rule. Of several that fit the last one counts.
    #[must_use]
    pub fn on(mut self, on: On, answer: Answer) -> Self {
        self.rules.push(Rule {
            on,
            answer,
            seen: 0,
        });
        self
    }

    /// Starts the server on a free port of the loopback interface.
    pub async fn start(self) -> io::Result<HttpServer> {
        HttpServer::start(self).await
    }

    /// The answer to a request.
    pub(super) fn answer(&mut self, request: &HttpRequest) -> Answer {
        let message = request.message();
        let mut chosen = None;
        for rule in &mut self.rules {
            if rule.on.fits(request, &message) {
                rule.seen += 1;
                let last = rule.on.last.unwrap_or(usize::MAX);
                if (rule.on.first..=last).contains(&rule.seen) {
                    chosen = Some(rule.answer.clone());
                }
            }
        }
        chosen.unwrap_or_else(|| usual::answer(&self.kind, request, &message))
    }
}
