//! Answers: a value in the form that was asked for, or why there is none.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rocksalt_core::{Map, Value, json, yaml};

use crate::requests::{FunctionResult, Kind, Refusal};

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    Yaml,
}

impl Form {
    /// By `Accept`: what is liked best of those we have. No header, or `*/*`, means JSON.
    pub fn wanted(headers: &HeaderMap) -> Result<Form, Refused> {
        let mut best: Option<(f32, Form)> = None;
        let mut any = false;
        for (media, weight) in accepted(headers) {
            any = true;
            let form = match media.as_str() {
                "application/json" | "*/*" | "application/*" => Form::Json,
                "application/x-yaml" | "application/yaml" | "text/yaml" => Form::Yaml,
                _ => continue,
            };
            if weight > 0.0 && best.is_none_or(|(known, _)| weight > known) {
                best = Some((weight, form));
            }
        }
        match best {
            Some((_, form)) => Ok(form),
            None if any => Err(Refused::new(StatusCode::NOT_ACCEPTABLE, "answers are JSON or YAML")),
            None => Ok(Form::Json),
        }
    }

    /// An answer of 200.
    pub fn reply(self, value: &Value) -> Response {
        self.text(match self {
            Form::Json => json::compact(value),
            Form::Yaml => yaml::emit(value),
        })
    }

    fn text(self, text: String) -> Response {
        let kind = match self {
            Form::Json => "application/json",
            Form::Yaml => "application/x-yaml",
        };
        let mut response = Response::new(Body::from(text));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private"));
        response
    }

    /// `{"return": [ … ]}`, with what is written already as it is.
    pub fn all(self, results: Vec<FunctionResult>) -> Response {
        if self == Form::Yaml || !results.iter().any(|given| matches!(given, FunctionResult::Written(_))) {
            return self.returned(results.into_iter().map(FunctionResult::into_value).collect::<Vec<_>>());
        }
        let written = results.into_iter().map(|given| match given {
            FunctionResult::Written(text) => text,
            FunctionResult::Value(value) => json::compact(&value).into(),
        });
        self.text(format!("{{\"return\":[{}]}}", written.collect::<Vec<_>>().join(",")))
    }

    /// `{"return": …}`.
    pub fn returned(self, value: impl Into<Value>) -> Response {
        self.reply(&Map::from_iter([("return".into(), value.into())]).into())
    }
}

/// The media types of `Accept` with their weights, as they stand.
pub fn accepted(headers: &HeaderMap) -> Vec<(String, f32)> {
    let all = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let items = all.flat_map(|text| text.split(',')).map(str::trim).filter(|item| !item.is_empty()).take(32);
    items
        .map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
            (media, weight)
        })
        .collect()
}

/// Why there is no answer. Clients look at the status; Halite reads `error`.
#[derive(Clone, Debug)]
pub struct Refused {
    pub status: StatusCode,
    pub text: String,
}

impl Refused {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Refused {
        Refused { status, text: text.into() }
    }

    pub fn bad(text: impl Into<String>) -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, text)
    }

    pub fn unauthorized(text: impl Into<String>) -> Refused {
        Refused::new(StatusCode::UNAUTHORIZED, text)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let status = match refusal.kind {
            // Salt makes no difference, and its clients don't either.
            Kind::Unauthenticated | Kind::Forbidden => StatusCode::UNAUTHORIZED,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::Taken => StatusCode::CONFLICT,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        };
        let text = match refusal.hint {
            Some(hint) => format!("{}; {hint}", refusal.text),
            None => refusal.text,
        };
        Refused { status, text }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut body = Map::new();
        body.insert("status", u32::from(self.status.as_u16()));
        body.insert("return", self.text.as_str());
        body.insert("error", self.text);
        let mut response = Form::Json.reply(&body.into());
        *response.status_mut() = self.status;
        response
    }
}
