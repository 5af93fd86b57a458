//! [`Client`]: a daemon that can be asked.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use rocksalt_core::{Secret, Value, json};

use crate::connection::{Address, Answered, Connections};
use crate::{Error, Kind, Tls};

pub(crate) const CBOR: &str = "application/cbor";
pub(crate) const JSON: &str = "application/json";

/// The largest answer that is taken.
const LARGEST: usize = 1 << 30;

/// How long an answer may take to begin. Runner functions may take long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Cheap to clone: all clones share their connections and their token.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    connections: Connections,
    token: RwLock<Option<Secret<String>>>,
}

/// What is asked, below `/v1`.
pub(crate) struct Ask<'a> {
    pub method: Method,
    pub path: &'a str,
    pub query: Vec<(&'a str, String)>,
    /// The type, and the bytes.
    pub body: Option<(&'static str, Vec<u8>)>,
    pub accept: &'static str,
    pub last_event: Option<String>,
}

impl<'a> Ask<'a> {
    pub fn new(method: Method, path: &'a str) -> Ask<'a> {
        Ask { method, path, query: Vec::new(), body: None, accept: JSON, last_event: None }
    }

    pub fn get(path: &'a str) -> Ask<'a> {
        Ask::new(Method::GET, path)
    }

    pub fn post(path: &'a str, body: &Value) -> Ask<'a> {
        Ask { body: Some((JSON, json::compact(body).into_bytes())), ..Ask::new(Method::POST, path) }
    }

    pub fn query(mut self, name: &'a str, value: impl ToString) -> Ask<'a> {
        self.query.push((name, value.to_string()));
        self
    }

    pub fn maybe(self, name: &'a str, value: Option<impl ToString>) -> Ask<'a> {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    pub fn cbor(mut self) -> Ask<'a> {
        self.accept = CBOR;
        self
    }
}

impl Client {
    /// By the daemon's socket, on its own machine: the user of the process is who asks.
    pub fn unix(path: impl Into<PathBuf>) -> Client {
        Client::at(Address::Unix(path.into()))
    }

    /// By its URL, as in `https://salt.example:8000`.
    pub fn http(url: &str, tls: Tls) -> Result<Client, Error> {
        let fault = |what: &str| Error::Settings(format!("'{url}' can't be used: {what}"));
        let parsed: hyper::Uri = url.parse().map_err(|_| fault("it is no URL"))?;
        let host = parsed.host().ok_or_else(|| fault("it names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if !matches!(parsed.path(), "" | "/") || parsed.query().is_some() {
            return Err(fault("only the address is given, as in https://salt.example:8000"));
        }
        let config = tls.config()?;
        match (parsed.scheme_str(), &config) {
            (Some("https"), Some(_)) => {}
            (Some("https"), None) => return Err(fault("https needs a CA file or a pinned certificate")),
            (Some("http"), None) if on_this_machine(&host) => {}
            (Some("http"), None) => return Err(fault("without TLS only this machine itself can be asked")),
            (Some("http"), Some(_)) => return Err(fault("it is http, and TLS was asked for; write https")),
            _ => return Err(fault("it begins with https://")),
        }
        let port = parsed.port_u16().unwrap_or(8000);
        Ok(Client::at(Address::Tcp { host, port, tls: config }))
    }

    fn at(address: Address) -> Client {
        Client(Arc::new(Inner { connections: Connections::new(address), token: RwLock::default() }))
    }

    /// Uses a token that somebody got before; see [`Client::login`].
    pub fn set_token(&self, token: Option<Secret<String>>) {
        *self.0.token.write().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// Where the daemon is, for messages.
    pub fn address(&self) -> String {
        self.0.connections.address.shown()
    }

    /// An answer of one value.
    pub(crate) async fn value(&self, ask: Ask<'_>) -> Result<Value, Error> {
        let bytes = self.bytes(ask).await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| self.nonsense("it is no text"))?;
        json::parse(text).map_err(|error| self.nonsense(&format!("it is no JSON: {error}")))
    }

    /// An answer of one record.
    pub(crate) async fn record<T: for<'b> minicbor::Decode<'b, ()>>(&self, ask: Ask<'_>) -> Result<T, Error> {
        let bytes = self.bytes(ask.cbor()).await?;
        minicbor::decode(&bytes).map_err(|error| self.nonsense(&error.to_string()))
    }

    async fn bytes(&self, ask: Ask<'_>) -> Result<Bytes, Error> {
        let (response, sender) = self.send(ask).await?.split();
        let body = Limited::new(response.into_body(), LARGEST).collect();
        let body = body.await.map_err(|error| self.0.connections.broken(error))?.to_bytes();
        Answered::free(sender, &self.0.connections);
        Ok(body)
    }

    /// A stream of events. The connection is its own, and ends with it.
    pub(crate) async fn stream(&self, ask: Ask<'_>) -> Result<Response<Incoming>, Error> {
        Ok(self.send(Ask { accept: "text/event-stream", ..ask }).await?.response)
    }

    /// Only what the daemon does; a refusal is an error.
    async fn send(&self, ask: Ask<'_>) -> Result<Answered, Error> {
        let request = self.request(ask)?;
        let connections = &self.0.connections;
        let answered = tokio::time::timeout(PATIENCE, connections.send(request)).await;
        let late = |_| Error::Timeout { to: connections.address.shown(), seconds: PATIENCE.as_secs() };
        let answered = answered.map_err(late)??;
        if answered.response.status().is_success() {
            return Ok(answered);
        }
        Err(self.refusal(answered.response).await)
    }

    fn request(&self, ask: Ask<'_>) -> Result<Request<Full<Bytes>>, Error> {
        let mut path = format!("/v1{}", ask.path);
        for (index, (name, value)) in ask.query.iter().enumerate() {
            path.push(if index == 0 { '?' } else { '&' });
            path.push_str(name);
            path.push('=');
            path.push_str(&quoted(value));
        }
        let mut request = Request::builder()
            .method(ask.method)
            .uri(path)
            .header(HOST, self.0.connections.address.host())
            .header(ACCEPT, ask.accept);
        if let Some(token) = &*self.0.token.read().unwrap_or_else(PoisonError::into_inner) {
            let mut value = hyper::header::HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
                .map_err(|_| Error::Settings("the token has letters in it that no token has".into()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(last) = ask.last_event {
            request = request.header("last-event-id", last);
        }
        let body = match ask.body {
            Some((kind, bytes)) => {
                request = request.header(CONTENT_TYPE, kind);
                bytes
            }
            None => Vec::new(),
        };
        request.body(Full::new(body.into())).map_err(|error| Error::Settings(error.to_string()))
    }

    async fn refusal(&self, response: Response<Incoming>) -> Error {
        let status = response.status().as_u16();
        let request = response.headers().get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let body = Limited::new(response.into_body(), 1 << 20).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let said = std::str::from_utf8(&body).ok().and_then(|text| json::parse(text).ok()).unwrap_or_default();
        let word = |key: &str| said.walk(&format!("error:{key}"), ":").and_then(Value::as_str).map(str::to_owned);
        let text = word("text").unwrap_or_else(|| format!("{} answered {status}", self.address()));
        let kind = word("kind").as_deref().and_then(Kind::from_name).unwrap_or_else(|| Kind::from_status(status));
        Error::Refused { kind, text, hint: word("hint"), status, request }
    }

    pub(crate) fn nonsense(&self, what: &str) -> Error {
        Error::Answer { to: self.address(), what: what.to_owned() }
    }

    pub(crate) fn broken(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.connections.broken(error)
    }
}

fn on_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// As a part of a URL.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => quoted.push(byte.into()),
            _ => quoted.push_str(&format!("%{byte:02X}")),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_over_no_open_network() {
        let pin = || Tls::Pinned("ab".repeat(32));
        assert!(Client::http("http://127.0.0.1:8000", Tls::Loopback).is_ok());
        assert!(Client::http("http://[::1]:8000/", Tls::Loopback).is_ok());
        assert!(Client::http("https://salt.example", pin()).is_ok());
        for (url, tls) in [
            ("http://salt.example:8000", Tls::Loopback),
            ("http://127.0.0.1:8000", pin()),
            ("https://salt.example", Tls::Loopback),
            ("https://salt.example/v1", pin()),
            ("salt.example", pin()),
            ("ftp://salt.example", pin()),
            ("", pin()),
        ] {
            assert!(matches!(Client::http(url, tls), Err(Error::Settings(_))), "{url}");
        }
    }

    #[test]
    fn what_is_no_letter_is_quoted() {
        assert_eq!(quoted("G@os:Debian and *"), "G%40os%3ADebian%20and%20%2A");
    }
}
