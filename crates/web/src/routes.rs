//! The table of routes: what drives the router, the OpenAPI document and the documentation.

use std::pin::Pin;
use std::sync::Arc;

use attache::server::http::{Peer, Serving, Unread};
use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::answer::secure;
use crate::asked::{self, Asked};
use crate::console::{Console, MAX_BODY};
use crate::error::ApiError;
use crate::{guard, page, table};

/// What all routes of the API begin with.
pub(crate) const BASE: &str = "/api/v1";

/// Where the token is given for a code.
pub(crate) const TOKEN: &str = "/token";

/// One route of the API.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    /// Below [`BASE`], with `{name}` for parts.
    pub(crate) path: &'static str,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [Query],
    /// What its body has to be, if it has one.
    pub(crate) body: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// What its answer is.
    pub(crate) answers: Answers,
    handler: Handler,
}

/// One name of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

/// What a route answers with, when it goes well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    Json,
    /// 202, or 200 if the caller waits.
    Accepted,
    /// 201, or 200 if it is there already.
    Created,
    Nothing,
    Events,
}

type Answered = Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send>>;
type Handler = Arc<dyn Fn(Arc<Console>, Asked) -> Answered + Send + Sync>;

impl Route {
    fn new<F, A>(method: Method, path: &'static str, summary: &'static str, handler: F) -> Self
    where
        F: Fn(Arc<Console>, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        Self {
            method,
            path,
            summary,
            query: &[],
            body: None,
            answers: Answers::Json,
            handler: Arc::new(move |console, asked| Box::pin(handler(console, asked))),
        }
    }

    pub(crate) fn get<F, A>(path: &'static str, summary: &'static str, handler: F) -> Self
    where
        F: Fn(Arc<Console>, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        Self::new(Method::GET, path, summary, handler)
    }

    pub(crate) fn delete<F, A>(path: &'static str, summary: &'static str, handler: F) -> Self
    where
        F: Fn(Arc<Console>, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        Self::new(Method::DELETE, path, summary, handler)
    }

    /// A POST whose body is a `T`.
    pub(crate) fn post<T, F, A>(path: &'static str, summary: &'static str, handler: F) -> Self
    where
        T: JsonSchema,
        F: Fn(Arc<Console>, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        Self {
            body: Some(|schemas| schemas.subschema_for::<T>()),
            ..Self::new(Method::POST, path, summary, handler)
        }
    }

    /// A PUT whose body is a `T`.
    pub(crate) fn put<T, F, A>(path: &'static str, summary: &'static str, handler: F) -> Self
    where
        T: JsonSchema,
        F: Fn(Arc<Console>, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        Self {
            method: Method::PUT,
            ..Self::post::<T, F, A>(path, summary, handler)
        }
    }

    pub(crate) fn query(mut self, query: &'static [Query]) -> Self {
        self.query = query;
        self
    }

    pub(crate) fn answers(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }
}

/// The router of a console: the page, and the API.
pub(crate) fn router(console: Arc<Console>) -> Router {
    let mut router = page::router();
    for route in table::routes() {
        let path = format!("{BASE}{}", route.path);
        let Ok(filter) = MethodFilter::try_from(route.method.clone()) else {
            continue;
        };
        let route = Arc::new(route);
        let handler = move |State(console): State<Arc<Console>>, path: RawPathParams, request| {
            answer(console, route.clone(), path, request)
        };
        router = router.route(&path, on(filter, handler));
    }
    let router: Router<Arc<Console>> = router
        .fallback(nothing_here)
        .method_not_allowed_fallback(another_method);
    let guarded = axum::middleware::from_fn_with_state(console.clone(), guarded);
    router.layer(guarded).with_state(console)
}

async fn nothing_here() -> Response {
    ApiError::not_found("there is nothing at this address")
        .hint("the API is described at /api/v1/openapi.json")
        .into_response()
}

async fn another_method() -> Response {
    ApiError::console(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this address takes other methods",
    )
    .into_response()
}

/// What comes before everything: who asks, and the headers of the answer.
async fn guarded(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_api = request.uri().path().starts_with("/api");
    let checked = console.names.check(headers).and_then(|()| match is_api {
        true => {
            let peer = request.extensions().get::<Peer>();
            let is_opening = request.uri().path().strip_prefix(BASE) == Some(TOKEN);
            let opening = is_opening.then_some(&console.opening);
            guard::admit(
                &console.token,
                opening,
                &console.wrong_tokens,
                headers,
                peer,
            )
        }
        false => Ok(()),
    });
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    secure(response.headers_mut());
    response
}

async fn answer(
    console: Arc<Console>,
    route: Arc<Route>,
    path: RawPathParams,
    request: Request,
) -> Response {
    let answered = async {
        let asked = read(&console, &route, path, request).await?;
        if route.answers == Answers::Events {
            return (route.handler)(console, asked).await;
        }
        let Ok(_running) = console.running.try_acquire() else {
            return Err(ApiError::busy("too many requests run; ask again later"));
        };
        (route.handler)(console.clone(), asked).await
    };
    answered.await.unwrap_or_else(ApiError::into_response)
}

async fn read(
    console: &Console,
    route: &Route,
    path: RawPathParams,
    request: Request,
) -> Result<Asked, ApiError> {
    let (parts, body) = request.into_parts();
    let query = asked::query(parts.uri.query(), route)?;
    let body = match route.body {
        Some(_) => {
            asked::is_json(&parts.headers)?;
            read_body(console, body).await?
        }
        None => Default::default(),
    };
    let path = path
        .iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    Ok(Asked {
        path: path.collect(),
        query,
        body,
        serving: Serving::of(&parts.extensions),
        headers: parts.headers,
    })
}

async fn read_body(console: &Console, body: Body) -> Result<axum::body::Bytes, ApiError> {
    let read = console.bodies.read(body, &console.settings).await;
    read.map_err(|unread| match unread {
        Unread::TooLong => ApiError::console(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            &format!("the body is longer than {MAX_BODY} bytes"),
        ),
        Unread::TooSlow => ApiError::console(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            "the body took too long",
        ),
        Unread::NoRoom => ApiError::busy("too many bodies are on their way; ask again later"),
        Unread::Broken => ApiError::bad("the body broke off"),
    })
}
