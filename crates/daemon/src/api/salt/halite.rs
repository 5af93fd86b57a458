//! Halite's endpoints: commands without `client`, tokens in addresses, only where the configuration wants them.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use rocksalt_core::{Event, Map, Value, request};

use super::low::Chunk;
use super::reply::{Form, Refused};
use super::session::{self, Session};
use super::{body, clients, login};
use crate::api::Api;
use crate::functions::{self, House};
use crate::requests::FunctionResult;
use crate::{runners, wheels};

/// The first word of a tag that somebody fires through the page.
const OURS: &str = "wui";

pub async fn run_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, content) = request.into_parts();
    let session = session::by_token(&api, &parts, &token).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let chunks = body::chunks(body::parse(&parts.headers, &content)?)?;
    perform(&api, &session, chunks).await
}

/// The same without a token in the address.
pub async fn run(api: &Api, parts: &Parts, chunks: Vec<Map>) -> Result<Response, Refused> {
    let first = chunks.first().cloned().unwrap_or_default();
    let session = known(api, parts, None, &first).await?;
    perform(api, &session, chunks).await
}

/// Commands one after the other. A first result with nothing in it is a 404.
async fn perform(api: &Api, session: &Session, chunks: Vec<Map>) -> Result<Response, Refused> {
    let mut results = Vec::new();
    for fields in chunks {
        let chunk = Chunk::read(translated(fields)?)?;
        let given = clients::perform(api, &session.caller, &chunk).await?;
        results.extend(given.into_iter().map(FunctionResult::into_value));
    }
    match results.first() {
        Some(result) if result.truth() || !matches!(result, Value::Map(_) | Value::List(_)) => {
            Ok(Form::Json.returned(results))
        }
        _ => Err(Refused::new(StatusCode::NOT_FOUND, "the command means no target")),
    }
}

/// Whose token it is: in the address, in a header, or credentials in the command.
async fn known(api: &Api, parts: &Parts, token: Option<&str>, fields: &Map) -> Result<Session, Refused> {
    if let Some(token) = token {
        return session::by_token(api, parts, token).await;
    }
    match login::credentials(fields) {
        Some(credentials) => {
            let caller = api.requests.auth.verify(&credentials, session::peer(parts).address).await?;
            Ok(Session { caller, token: None })
        }
        None => session::of(api, parts).await,
    }
}

/// A command of the page as low data: functions of the controller have `runner.` or `wheel.` before them.
fn translated(mut fields: Map) -> Result<Map, Refused> {
    let function = match fields.get("fun") {
        Some(Value::String(function)) => function.clone(),
        _ => return Err(Refused::bad("fun must be the name of a function")),
    };
    let waits = fields.remove("mode").is_some_and(|mode| mode.as_str() == Some("sync"));
    let house = function.split_once('.').filter(|(_, rest)| rest.contains('.'));
    match house {
        Some((kind @ ("runner" | "wheel"), name)) => {
            let mut own = Map::new();
            // The page waits for the event of a runner, and takes the result of a wheel function.
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
) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    let session = session::by_token(&api, &parts, &token).await?;
    let query = parts.uri.query().unwrap_or_default();
    let wanted = query.split('&').filter_map(|pair| pair.strip_prefix("tag=")).find(|tag| !tag.is_empty());
    // The beginning of a tag, not a pattern.
    let tags = wanted.map(|tag| format!("{}*", literal(&tag.replace("%2F", "/").replace("%2f", "/"))));
    super::events::respond(&api, &parts, session, "retry: 250\n\n", tags.into_iter().collect()).await
}

/// A text that a glob takes as it is.
fn literal(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '*' | '?' | '[') { format!("[{c}]") } else { c.to_string() }).collect()
}

pub async fn signature(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    sign(&api, request, None).await
}

pub async fn signature_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    sign(&api, request, Some(token)).await
}

/// What functions take. The page asks with every letter that is typed, so no target is troubled with it.
async fn sign(api: &Arc<Api>, request: Request, token: Option<String>) -> Result<Response, Refused> {
    let (parts, content) = request.into_parts();
    let session = known(api, &parts, token.as_deref(), &Map::new()).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut results = Vec::new();
    for fields in body::chunks(body::parse(&parts.headers, &content)?)? {
        let name = fields.get("module").or_else(|| fields.get("fun")).map(ToString::to_string).unwrap_or_default();
        let house = name.split_once('.').and_then(|(kind, rest)| match kind {
            "runner" => Some((runners::HOUSE, rest)),
            "wheel" => Some((wheels::HOUSE, rest)),
            _ => None,
        });
        results.push(match house {
            Some((house, rest)) => Map::from_iter([("master".into(), own(house, rest))]),
            None => on_targets(api, &session, &fields, &name).await?,
        });
    }
    Ok(Form::Json.returned(results.into_iter().map(Value::Map).collect::<Vec<_>>()))
}

fn own(house: House, name: &str) -> Value {
    let fits = |entry: &&functions::Entry| {
        name.is_empty() || entry.name == name || entry.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
    };
    let found = house.entries().filter(fits);
    found.map(|entry| (entry.name.into(), functions::argspec(entry))).collect::<Map>().into()
}

async fn on_targets(api: &Arc<Api>, session: &Session, fields: &Map, name: &str) -> Result<Map, Refused> {
    let context = functions::Context {
        requests: Arc::clone(&api.requests),
        loaded: api.requests.loaded(),
        caller: session.caller.clone(),
    };
    let kind = fields.get("tgt_type").or_else(|| fields.get("expr_form")).map(ToString::to_string).unwrap_or_default();
    let target = fields.get("tgt").cloned().unwrap_or_else(|| "*".into());
    let entries = functions::select(&context, &target, &kind).await.map_err(|error| Refused::bad(error.to_string()))?;
    let spec = rocksalt_modules::docs::argspec(name);
    Ok(entries.into_iter().map(|entry| (entry.id.into(), spec.clone())).collect())
}

pub async fn fire(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    send(&api, request, None).await
}

pub async fn fire_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    send(&api, request, Some(token)).await
}

async fn send(api: &Api, request: Request, token: Option<String>) -> Result<Response, Refused> {
    let (parts, content) = request.into_parts();
    let session = known(api, &parts, token.as_deref(), &Map::new()).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut results = Vec::new();
    for mut fields in body::chunks(body::parse(&parts.headers, &content)?)? {
        let tag = match fields.remove("tag") {
            Some(Value::String(tag)) if !tag.is_empty() => format!("{OURS}/{}", tag.trim_matches('/')),
            _ => return Err(Refused::bad("an event needs a tag")),
        };
        let data = match fields.remove("data") {
            Some(Value::Map(data)) => data,
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err(Refused::bad("an event's data must be a map")),
        };
        let event = Event { tag: tag.clone(), data };
        let result = api.requests.answer(&session.caller, request::Request::Fire(event)).await;
        if let Err(refusal) = result {
            return Err(refusal.into());
        }
        results.push(Value::Map(Map::from_iter([("tag".into(), tag.into()), ("result".into(), true.into())])));
    }
    Ok(Form::Json.reply(&results.into()))
}
