//! [`Endpoint`]: a method of a path, with the types that its handler takes and gives.
//!
//! The types are the handler's own, so the document can't say anything else than what is done.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, RawPathParams, State};
use axum::http::{Method, Request, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use schemars::{JsonSchema, SchemaGenerator, schema_for};
use serde_json::Value as Json;

use super::asked::{Asked, Input, Nothing, from_body, from_texts};
use super::fault::Fault;
use super::reply::{Answers, Described};
use super::{query, who};
use crate::api::routes::{Login, Route};
use crate::api::{Api, Peer};

/// An answer that is no stream takes no longer; the functions of the controller have limits of their own.
const LIMIT: Duration = Duration::from_secs(60);

type Work = dyn Fn(Arc<Api>, Request<Body>, How) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync;

pub struct Endpoint {
    pub method: Method,
    pub path: &'static str,
    pub about: &'static str,
    /// The handler's own name: `jobs.start`.
    pub name: String,
    pub example: Option<Json>,
    /// Records can be had instead of JSON.
    pub records: bool,
    /// Writes its schemas: of what goes in, and of what comes out.
    pub shape: fn(&mut SchemaGenerator, &mut SchemaGenerator) -> Shape,
    how: How,
    work: Arc<Work>,
}

/// The types of an endpoint, as schemas.
pub struct Shape {
    pub path: Json,
    pub query: Json,
    /// `None`: it takes no body.
    pub body: Option<Json>,
    /// Some of its fields can't be left out.
    pub body_needed: bool,
    pub answer: Described,
}

#[derive(Clone, Copy)]
struct How {
    needs: Login,
    patient: bool,
}

impl Endpoint {
    pub fn new<P: Input, Q: Input, B: Input, A, F, W>(
        method: Method,
        path: &'static str,
        about: &'static str,
        handler: F,
    ) -> Endpoint
    where
        A: Answers + Send + 'static,
        F: Fn(Asked<P, Q, B>) -> W + Copy + Send + Sync + 'static,
        W: Future<Output = Result<A, Fault>> + Send + 'static,
    {
        let schemas = Arc::new([schema_for!(P), schema_for!(Q), schema_for!(B)].map(|schema| schema.to_value()));
        let work = move |api: Arc<Api>, request: Request<Body>, how: How| {
            let schemas = Arc::clone(&schemas);
            let answer = async move {
                let work = async { handler(read(api, request, how, &schemas).await?).await };
                let answer = match A::STREAM || how.patient {
                    true => work.await,
                    false => match tokio::time::timeout(LIMIT, work).await {
                        Ok(answer) => answer,
                        Err(_) => Err(Fault::timeout(format!("there is no answer after {} s", LIMIT.as_secs()))),
                    },
                };
                answer.map_or_else(IntoResponse::into_response, Answers::response)
            };
            Box::pin(answer) as Pin<Box<dyn Future<Output = Response> + Send>>
        };
        let name = std::any::type_name::<F>().rsplit("::").take(2).collect::<Vec<_>>();
        Endpoint {
            method,
            path,
            about,
            name: name.into_iter().rev().collect::<Vec<_>>().join("."),
            example: None,
            records: false,
            shape: shape::<P, Q, B, A>,
            how: How { needs: Login::Token, patient: false },
            work: Arc::new(work),
        }
    }

    /// For all.
    pub fn open(mut self) -> Endpoint {
        self.how.needs = Login::Nobody;
        self
    }

    /// The body says who asks.
    pub fn with_credentials(mut self) -> Endpoint {
        self.how.needs = Login::Body;
        self
    }

    /// It may take long.
    pub fn patient(mut self) -> Endpoint {
        self.how.patient = true;
        self
    }

    pub fn records(mut self) -> Endpoint {
        self.records = true;
        self
    }

    pub fn example(mut self, example: Json) -> Endpoint {
        self.example = Some(example);
        self
    }

    pub fn needs(&self) -> Login {
        self.how.needs
    }

    pub fn route(&self) -> Route {
        let method = match self.method {
            Method::POST => "POST",
            Method::DELETE => "DELETE",
            _ => "GET",
        };
        Route { method, path: self.path, needs: self.how.needs }
    }

    pub fn handler(&self) -> MethodRouter<Arc<Api>> {
        let filter = match self.method {
            Method::POST => MethodFilter::POST,
            Method::DELETE => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let (work, how) = (Arc::clone(&self.work), self.how);
        on(filter, move |State(api): State<Arc<Api>>, request: Request<Body>| work(api, request, how))
    }
}

/// First who asks, then what.
async fn read<P: Input, Q: Input, B: Input>(
    api: Arc<Api>,
    request: Request<Body>,
    how: How,
    [path, query, body]: &[Json; 3],
) -> Result<Asked<P, Q, B>, Fault> {
    let (mut parts, content) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().cloned().unwrap_or_default();
    let who = match how.needs {
        Login::Token => Some(who::asks(&api, &peer, &parts.method, &parts.headers).await?),
        Login::Nobody | Login::Body => None,
    };
    let fault = |_| Fault::invalid("a part of the path is no text");
    let given = RawPathParams::from_request_parts(&mut parts, &()).await.map_err(fault)?;
    let path = from_texts(path, given.iter().map(|(name, text)| (name.to_owned(), text.to_owned())))?;
    let query = from_texts(query, query::pairs(parts.uri.query().unwrap_or_default())?)?;
    let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let cbor = accept.is_some_and(|accept| accept.trim() == "application/cbor");
    let body = match takes_body::<B>() {
        false => from_texts(body, [])?,
        true => {
            let bytes = read_whole(content, api.settings.max_request_body_size).await?;
            let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
            from_body(body, kind, &bytes)?
        }
    };
    Ok(Asked { api, peer, who, headers: parts.headers, cbor, path, query, body })
}

async fn read_whole(content: Body, limit: usize) -> Result<Bytes, Fault> {
    match Limited::new(content, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() || too_large(&*error) => Err(Fault::too_large(limit)),
        Err(_) => Err(Fault::invalid("the body ended in its middle")),
    }
}

/// An outer limit says it in its own way.
fn too_large(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.is::<LengthLimitError>() {
            return true;
        }
        cause = inner.source();
    }
    false
}

fn takes_body<B: JsonSchema>() -> bool {
    B::schema_name() != Nothing::schema_name()
}

fn shape<P: Input, Q: Input, B: Input, A: Answers>(
    inputs: &mut SchemaGenerator,
    outputs: &mut SchemaGenerator,
) -> Shape {
    // What comes in may be left out where it has a default; what goes out is always there.
    let body = takes_body::<B>().then(|| inputs.subschema_for::<B>().to_value());
    let required =
        schema_for!(B).to_value().get("required").and_then(Json::as_array).is_some_and(|all| !all.is_empty());
    let (path, query) = (schema_for!(P).to_value(), schema_for!(Q).to_value());
    Shape { path, query, body, body_needed: required, answer: A::described(outputs) }
}
