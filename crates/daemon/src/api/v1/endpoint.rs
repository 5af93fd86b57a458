//! [`Endpoint`]: a method of a path with its handler.
//!
//! The schemas of the OpenAPI document come from the handler's types, so the document can't differ from the code.

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

use super::call::{ApiCall, ApiInput, Empty, from_body, from_texts};
use super::error::ApiError;
use super::reply::{ApiResponse, ResponseSchema};
use super::{identity, query};
use crate::api::routes::{ApiRoute, RouteAuth};
use crate::api::{Api, Peer};

/// Time limit of a response that isn't a stream. Functions of the controller have limits of their own.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

type Handler =
    dyn Fn(Arc<Api>, Request<Body>, EndpointOptions) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync;

pub struct Endpoint {
    pub method: Method,
    pub path: &'static str,
    pub about: &'static str,
    /// The handler's name, which is the operation id: `jobs.start`.
    pub name: String,
    pub example: Option<Json>,
    /// CBOR records are available instead of JSON.
    pub records: bool,
    /// Generates the schemas of inputs and outputs.
    pub schemas: fn(&mut SchemaGenerator, &mut SchemaGenerator) -> EndpointSchema,
    options: EndpointOptions,
    handler_fn: Arc<Handler>,
}

/// The schemas of an endpoint.
pub struct EndpointSchema {
    pub path: Json,
    pub query: Json,
    /// `None` without a body.
    pub body: Option<Json>,
    /// Some fields of the body are required.
    pub body_required: bool,
    pub answer: ResponseSchema,
}

#[derive(Clone, Copy)]
struct EndpointOptions {
    needs: RouteAuth,
    unlimited: bool,
}

impl Endpoint {
    pub fn new<P: ApiInput, Q: ApiInput, B: ApiInput, A, F, W>(
        method: Method,
        path: &'static str,
        about: &'static str,
        handler: F,
    ) -> Endpoint
    where
        A: ApiResponse + Send + 'static,
        F: Fn(ApiCall<P, Q, B>) -> W + Copy + Send + Sync + 'static,
        W: Future<Output = Result<A, ApiError>> + Send + 'static,
    {
        let schemas = Arc::new([schema_for!(P), schema_for!(Q), schema_for!(B)].map(|schema| schema.to_value()));
        let handler_fn = move |api: Arc<Api>, request: Request<Body>, options: EndpointOptions| {
            let schemas = Arc::clone(&schemas);
            let answer = async move {
                let running = async { handler(read(api, request, options, &schemas).await?).await };
                let answer = match A::STREAM || options.unlimited {
                    true => running.await,
                    false => match tokio::time::timeout(RESPONSE_TIMEOUT, running).await {
                        Ok(answer) => answer,
                        Err(_) => {
                            Err(ApiError::timeout(format!("no response within {} s", RESPONSE_TIMEOUT.as_secs())))
                        }
                    },
                };
                answer.map_or_else(IntoResponse::into_response, ApiResponse::into_api_response)
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
            schemas: endpoint_schema::<P, Q, B, A>,
            options: EndpointOptions { needs: RouteAuth::Token, unlimited: false },
            handler_fn: Arc::new(handler_fn),
        }
    }

    /// Without authentication.
    pub fn open(mut self) -> Endpoint {
        self.options.needs = RouteAuth::None;
        self
    }

    /// Authenticated by credentials in the body.
    pub fn with_credentials(mut self) -> Endpoint {
        self.options.needs = RouteAuth::Body;
        self
    }

    /// Without the general time limit.
    pub fn unlimited(mut self) -> Endpoint {
        self.options.unlimited = true;
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

    pub fn needs(&self) -> RouteAuth {
        self.options.needs
    }

    pub fn route(&self) -> ApiRoute {
        let method = match self.method {
            Method::POST => "POST",
            Method::DELETE => "DELETE",
            _ => "GET",
        };
        ApiRoute { method, path: self.path, needs: self.options.needs }
    }

    pub fn handler(&self) -> MethodRouter<Arc<Api>> {
        let filter = match self.method {
            Method::POST => MethodFilter::POST,
            Method::DELETE => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let (handler_fn, options) = (Arc::clone(&self.handler_fn), self.options);
        on(filter, move |State(api): State<Arc<Api>>, request: Request<Body>| handler_fn(api, request, options))
    }
}

/// Authenticates first, then parses.
async fn read<P: ApiInput, Q: ApiInput, B: ApiInput>(
    api: Arc<Api>,
    request: Request<Body>,
    options: EndpointOptions,
    [path, query, body]: &[Json; 3],
) -> Result<ApiCall<P, Q, B>, ApiError> {
    let (mut parts, content) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().cloned().unwrap_or_default();
    let identity = match options.needs {
        RouteAuth::Token => Some(identity::authenticate(&api, &peer, &parts.method, &parts.headers).await?),
        RouteAuth::None | RouteAuth::Body => None,
    };
    let fault = |_| ApiError::invalid("a part of the path is not UTF-8");
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
    Ok(ApiCall { api, peer, identity, headers: parts.headers, cbor, path, query, body })
}

async fn read_whole(content: Body, limit: usize) -> Result<Bytes, ApiError> {
    match Limited::new(content, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() || too_large(&*error) => Err(ApiError::too_large(limit)),
        Err(_) => Err(ApiError::invalid("the body is incomplete")),
    }
}

/// Whether an outer limit is the cause.
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
    B::schema_name() != Empty::schema_name()
}

fn endpoint_schema<P: ApiInput, Q: ApiInput, B: ApiInput, A: ApiResponse>(
    inputs: &mut SchemaGenerator,
    outputs: &mut SchemaGenerator,
) -> EndpointSchema {
    // Inputs with a default are optional; outputs are always present.
    let body = takes_body::<B>().then(|| inputs.subschema_for::<B>().to_value());
    let required =
        schema_for!(B).to_value().get("required").and_then(Json::as_array).is_some_and(|all| !all.is_empty());
    let (path, query) = (schema_for!(P).to_value(), schema_for!(Q).to_value());
    EndpointSchema { path, query, body, body_required: required, answer: A::response_schema(outputs) }
}
