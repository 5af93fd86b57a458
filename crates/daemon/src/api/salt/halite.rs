//! Halite's endpoints, with commands without `client` and tokens in URLs; only if the configuration enables them.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use rocksalt_core::{Event, Map, Value, request};

use super::low::LowChunk;
use super::reply::{ErrorResponse, ResponseFormat};
use super::session::{self, SaltSession};
use super::{body, clients, login};
use crate::api::Api;
use crate::functions::{self, FunctionTable};
use crate::requests::FunctionResult;
use crate::{runners, wheels};

/// Prefix of the tags of events that are fired through the page.
const TAG_PREFIX: &str = "wui";

pub async fn run_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let session = session::by_token(&api, &parts, &token).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let chunks = body::chunks(body::parse(&parts.headers, &content)?)?;
    run_chunks(&api, &session, chunks).await
}

/// `/run` without a token in the URL.
pub async fn run(api: &Api, parts: &Parts, chunks: Vec<Map>) -> Result<Response, ErrorResponse> {
    let first = chunks.first().cloned().unwrap_or_default();
    let session = authenticate(api, parts, None, &first).await?;
    run_chunks(api, &session, chunks).await
}

/// Runs commands in turn. An empty first result is a 404.
async fn run_chunks(api: &Api, session: &SaltSession, chunks: Vec<Map>) -> Result<Response, ErrorResponse> {
    let mut results = Vec::new();
    for fields in chunks {
        let chunk = LowChunk::read(to_low_data(fields)?)?;
        let given = clients::run_chunk(api, &session.caller, &chunk).await?;
        results.extend(given.into_iter().map(FunctionResult::into_value));
    }
    match results.first() {
        Some(result) if result.truth() || !matches!(result, Value::Map(_) | Value::List(_)) => {
            Ok(ResponseFormat::Json.returned(results))
        }
        _ => Err(ErrorResponse::new(StatusCode::NOT_FOUND, "the command matches no target")),
    }
}

/// Authenticates by a token in the URL or a header, or by credentials in the command.
async fn authenticate(
    api: &Api,
    parts: &Parts,
    token: Option<&str>,
    fields: &Map,
) -> Result<SaltSession, ErrorResponse> {
    if let Some(token) = token {
        return session::by_token(api, parts, token).await;
    }
    match login::credentials(fields) {
        Some(credentials) => {
            let caller = api.requests.auth.verify(&credentials, session::peer(parts).address).await?;
            Ok(SaltSession { caller, token: None })
        }
        None => session::authenticate(api, parts).await,
    }
}

/// Converts a command of the page to low data. Functions of the controller have the prefix `runner.` or `wheel.`.
fn to_low_data(mut fields: Map) -> Result<Map, ErrorResponse> {
    let function = match fields.get("fun") {
        Some(Value::String(function)) => function.clone(),
        _ => return Err(ErrorResponse::bad_request("fun must be the name of a function")),
    };
    let waits = fields.remove("mode").is_some_and(|mode| mode.as_str() == Some("sync"));
    let table = function.split_once('.').filter(|(_, rest)| rest.contains('.'));
    match table {
        Some((kind @ ("runner" | "wheel"), name)) => {
            let mut own = Map::new();
            // The page waits for the event of a runner, and uses the result of a wheel function.
            own.insert("client", if kind == "runner" { "runner_async" } else { "wheel" });
            own.insert("fun", name);
            for key in ["arg", "kwarg"] {
                own.insert(key, fields.remove(key).unwrap_or_default());
            }
            Ok(own)
        }
        _ => {
            fields.insert("client", if waits { "local" } else { "local_async" });
            if fields.get("expr_form").is_some_and(|kind| !kind.truth()) {
                fields.remove("expr_form");
            }
            Ok(fields)
        }
    }
}

pub async fn events(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let session = session::by_token(&api, &parts, &token).await?;
    let query = parts.uri.query().unwrap_or_default();
    let wanted = query.split('&').filter_map(|pair| pair.strip_prefix("tag=")).find(|tag| !tag.is_empty());
    // A prefix of tags, not a pattern.
    let tags = wanted.map(|tag| format!("{}*", glob_escape(&tag.replace("%2F", "/").replace("%2f", "/"))));
    super::events::respond(&api, &parts, session, "retry: 250\n\n", tags.into_iter().collect()).await
}

/// Escapes a text for a glob.
fn glob_escape(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '*' | '?' | '[') { format!("[{c}]") } else { c.to_string() }).collect()
}

pub async fn signature(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    signatures(&api, request, None).await
}

pub async fn signature_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    signatures(&api, request, Some(token)).await
}

/// The argspecs of functions. The page asks at every keystroke, so no target is called for it.
async fn signatures(api: &Arc<Api>, request: Request, token: Option<String>) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let session = authenticate(api, &parts, token.as_deref(), &Map::new()).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut results = Vec::new();
    for fields in body::chunks(body::parse(&parts.headers, &content)?)? {
        let name = fields.get("module").or_else(|| fields.get("fun")).map(ToString::to_string).unwrap_or_default();
        let table = name.split_once('.').and_then(|(kind, rest)| match kind {
            "runner" => Some((runners::FUNCTION_TABLE, rest)),
            "wheel" => Some((wheels::FUNCTION_TABLE, rest)),
            _ => None,
        });
        results.push(match table {
            Some((table, rest)) => Map::from_iter([("master".into(), table_signatures(table, rest))]),
            None => target_signatures(api, &session, &fields, &name).await?,
        });
    }
    Ok(ResponseFormat::Json.returned(results.into_iter().map(Value::Map).collect::<Vec<_>>()))
}

fn table_signatures(table: FunctionTable, name: &str) -> Value {
    let fits = |entry: &&functions::FunctionEntry| {
        name.is_empty() || entry.name == name || entry.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
    };
    let found = table.entries().filter(fits);
    found.map(|entry| (entry.name.into(), functions::argspec(entry))).collect::<Map>().into()
}

async fn target_signatures(
    api: &Arc<Api>,
    session: &SaltSession,
    fields: &Map,
    name: &str,
) -> Result<Map, ErrorResponse> {
    let context = functions::FunctionContext {
        requests: Arc::clone(&api.requests),
        loaded: api.requests.loaded(),
        caller: session.caller.clone(),
    };
    let kind = fields.get("tgt_type").or_else(|| fields.get("expr_form")).map(ToString::to_string).unwrap_or_default();
    let target = fields.get("tgt").cloned().unwrap_or_else(|| "*".into());
    let entries = functions::select(&context, &target, &kind)
        .await
        .map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    let spec = rocksalt_catalog::docs::argspec(name);
    Ok(entries.into_iter().map(|entry| (entry.id.into(), spec.clone())).collect())
}

pub async fn fire(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    fire_events(&api, request, None).await
}

pub async fn fire_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    fire_events(&api, request, Some(token)).await
}

async fn fire_events(api: &Api, request: Request, token: Option<String>) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let session = authenticate(api, &parts, token.as_deref(), &Map::new()).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut results = Vec::new();
    for mut fields in body::chunks(body::parse(&parts.headers, &content)?)? {
        let tag = match fields.remove("tag") {
            Some(Value::String(tag)) if !tag.is_empty() => format!("{TAG_PREFIX}/{}", tag.trim_matches('/')),
            _ => return Err(ErrorResponse::bad_request("an event needs a tag")),
        };
        let data = match fields.remove("data") {
            Some(Value::Map(data)) => data,
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err(ErrorResponse::bad_request("an event's data must be a map")),
        };
        let event = Event { tag: tag.clone(), data };
        let result = api.requests.answer(&session.caller, request::Request::Fire(event)).await;
        if let Err(refusal) = result {
            return Err(refusal.into());
        }
        results.push(Value::Map(Map::from_iter([("tag".into(), tag.into()), ("result".into(), true.into())])));
    }
    Ok(ResponseFormat::Json.reply(&results.into()))
}
