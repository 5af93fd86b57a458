//! [`HttpResponse`]: the response of a web server, in Salt's form.

use rocksalt_core::{Map, Value, json, yaml};

#[derive(Default)]
pub struct HttpResponse {
    /// The status; 0 if there was no response.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Why the response counts as a failure.
    pub error: Option<String>,
}

/// The requested parts of a response.
pub struct ResponseParts<'a> {
    pub status: bool,
    pub headers: bool,
    pub text: bool,
    /// The format to decode the body from.
    pub decode: Option<&'a str>,
}

impl HttpResponse {
    pub fn new(status: u16, head: &str, body: Vec<u8>, raise: bool) -> HttpResponse {
        // Of several heads after redirects, the last one counts.
        let start = head.rfind("HTTP/").unwrap_or(0);
        let mut lines = head[start..].lines();
        let reason = lines.next().unwrap_or_default().splitn(3, ' ').nth(2).unwrap_or_default().trim().to_owned();
        let reason = if reason.is_empty() { phrase(status).to_owned() } else { reason };
        let pair =
            |line: &str| line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        let error = (raise && status >= 400).then(|| format!("HTTP {status}: {reason}"));
        HttpResponse { status, headers: lines.filter_map(pair).collect(), body, error }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The response in the form of `http.query`.
    pub fn shown(&self, show: &ResponseParts<'_>) -> Map {
        let mut shown = Map::new();
        if let Some(error) = &self.error {
            if self.status != 0 {
                shown.insert("status", i64::from(self.status));
                shown.insert("error", error.as_str());
                shown.insert("body", self.text());
            } else {
                if show.status {
                    shown.insert("status", 0);
                }
                shown.insert("error", error.as_str());
            }
            return shown;
        }
        shown.insert("body", self.text());
        if show.status {
            shown.insert("status", i64::from(self.status));
        }
        if show.headers {
            let pairs = self.headers.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into()));
            shown.insert("headers", pairs.collect::<Map>());
        }
        if let Some(kind) = show.decode {
            match self.decoded(kind) {
                Ok(value) => shown.insert("dict", value),
                Err(text) => shown.insert("error", text),
            };
        }
        if show.text {
            shown.insert("text", self.text());
        }
        shown
    }

    fn decoded(&self, kind: &str) -> Result<Value, String> {
        let content = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let content = content.map(|(_, value)| value.as_str()).unwrap_or_default();
        let kind = match kind {
            "auto" if content.contains("json") => "json",
            "auto" if content.contains("xml") => "xml",
            "auto" => "plain",
            other => other,
        };
        match kind {
            "json" => json::parse(&self.text()).map_err(|error| error.to_string()),
            "yaml" => yaml::parse(&self.text()).map_err(|error| error.to_string()),
            "plain" => Ok(self.text().into()),
            other => Err(format!("answers of the kind '{other}' can't be read; known are json, yaml and plain")),
        }
    }
}

/// The reason phrase for servers that send only a number, as HTTP/2 servers do.
fn phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}
