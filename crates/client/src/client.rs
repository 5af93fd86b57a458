//! [`Client`]: sends requests to one daemon.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use rocksalt_core::{Secret, Value, json};

use crate::connection::{Connections, DaemonAddress, PendingResponse};
use crate::{Error, RefusalKind, Tls};

pub(crate) const CBOR: &str = "application/cbor";
pub(crate) const JSON: &str = "application/json";

/// The largest response that is read.
const MAX_RESPONSE: usize = 1 << 30;

/// How long to wait for a response to begin. Runner functions may run long.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(600);

/// A client for one daemon. Clones are cheap, and share their connections and their token.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

struct ClientState {
    connections: Connections,
    token: RwLock<Option<Secret<String>>>,
}

/// A request below `/v1`.
pub(crate) struct ApiRequest<'a> {
    pub method: Method,
    pub path: &'a str,
    pub query: Vec<(&'a str, String)>,
    /// Content type and bytes.
    pub body: Option<(&'static str, Vec<u8>)>,
    pub accept: &'static str,
    pub last_event: Option<String>,
}

impl<'a> ApiRequest<'a> {
    pub fn new(method: Method, path: &'a str) -> ApiRequest<'a> {
        ApiRequest { method, path, query: Vec::new(), body: None, accept: JSON, last_event: None }
    }

    pub fn get(path: &'a str) -> ApiRequest<'a> {
        ApiRequest::new(Method::GET, path)
    }

    pub fn post(path: &'a str, body: &Value) -> ApiRequest<'a> {
        ApiRequest { body: Some((JSON, json::compact(body).into_bytes())), ..ApiRequest::new(Method::POST, path) }
    }

    pub fn query(mut self, name: &'a str, value: impl ToString) -> ApiRequest<'a> {
        self.query.push((name, value.to_string()));
        self
    }

    pub fn query_opt(self, name: &'a str, value: Option<impl ToString>) -> ApiRequest<'a> {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    pub fn cbor(mut self) -> ApiRequest<'a> {
        self.accept = CBOR;
        self
    }
}

impl Client {
    /// Connects over the daemon's unix socket. The daemon identifies the caller by the process's user.
    pub fn unix(path: impl Into<PathBuf>) -> Client {
        Client::at(DaemonAddress::Unix(path.into()))
    }

    /// Connects to a URL such as `https://salt.example:8000`.
    pub fn http(url: &str, tls: Tls) -> Result<Client, Error> {
        let invalid = |what: &str| Error::Settings(format!("'{url}' is not usable: {what}"));
        let parsed: hyper::Uri = url.parse().map_err(|_| invalid("it is not a URL"))?;
        let host = parsed.host().ok_or_else(|| invalid("it names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if !matches!(parsed.path(), "" | "/") || parsed.query().is_some() {
            return Err(invalid("it must have no path or query, as in https://salt.example:8000"));
        }
        let config = tls.config()?;
        match (parsed.scheme_str(), &config) {
            (Some("https"), Some(_)) => {}
            (Some("https"), None) => return Err(invalid("https needs a CA file or a pinned certificate")),
            (Some("http"), None) if on_this_machine(&host) => {}
            (Some("http"), None) => return Err(invalid("http is only allowed to this machine (loopback)")),
            (Some("http"), Some(_)) => return Err(invalid("TLS is configured, so it must begin with https://")),
            _ => return Err(invalid("it must begin with https://")),
        }
        let port = parsed.port_u16().unwrap_or(8000);
        Ok(Client::at(DaemonAddress::Tcp { host, port, tls: config }))
    }

    fn at(address: DaemonAddress) -> Client {
        Client(Arc::new(ClientState { connections: Connections::new(address), token: RwLock::default() }))
    }

    /// Uses a token from an earlier [`Client::login`].
    pub fn set_token(&self, token: Option<Secret<String>>) {
        *self.0.token.write().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// The daemon's address, for messages.
    pub fn address(&self) -> String {
        self.0.connections.address.display()
    }

    /// Sends a request and parses the response as JSON.
    pub(crate) async fn send_json(&self, request: ApiRequest<'_>) -> Result<Value, Error> {
        let bytes = self.send_for_bytes(request).await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| self.unexpected_response("it is not UTF-8"))?;
        json::parse(text).map_err(|error| self.unexpected_response(&format!("it is not JSON: {error}")))
    }

    /// Sends a request and decodes the response from CBOR.
    pub(crate) async fn send_cbor<T: for<'b> minicbor::Decode<'b, ()>>(
        &self,
        request: ApiRequest<'_>,
    ) -> Result<T, Error> {
        let bytes = self.send_for_bytes(request.cbor()).await?;
        minicbor::decode(&bytes).map_err(|error| self.unexpected_response(&error.to_string()))
    }

    async fn send_for_bytes(&self, request: ApiRequest<'_>) -> Result<Bytes, Error> {
        let (response, sender) = self.send(request).await?.split();
        let body = Limited::new(response.into_body(), MAX_RESPONSE).collect();
        let body = body.await.map_err(|error| self.0.connections.broken(error))?.to_bytes();
        self.0.connections.release(sender);
        Ok(body)
    }

    /// Opens a stream of events on a connection of its own, which closes with the stream.
    pub(crate) async fn stream(&self, request: ApiRequest<'_>) -> Result<Response<Incoming>, Error> {
        Ok(self.send(ApiRequest { accept: "text/event-stream", ..request }).await?.response)
    }

    /// Sends a request; a status other than success becomes an error.
    async fn send(&self, request: ApiRequest<'_>) -> Result<PendingResponse, Error> {
        let request = self.build_request(request)?;
        let connections = &self.0.connections;
        let pending = tokio::time::timeout(RESPONSE_TIMEOUT, connections.send(request)).await;
        let late = |_| Error::Timeout { to: connections.address.display(), seconds: RESPONSE_TIMEOUT.as_secs() };
        let pending = pending.map_err(late)??;
        if pending.response.status().is_success() {
            return Ok(pending);
        }
        Err(self.error_from(pending.response).await)
    }

    fn build_request(&self, parts: ApiRequest<'_>) -> Result<Request<Full<Bytes>>, Error> {
        let mut path = format!("/v1{}", parts.path);
        for (index, (name, value)) in parts.query.iter().enumerate() {
            path.push(if index == 0 { '?' } else { '&' });
            path.push_str(name);
            path.push('=');
            path.push_str(&percent_encode(value));
        }
        let mut request = Request::builder()
            .method(parts.method)
            .uri(path)
            .header(HOST, self.0.connections.address.host())
            .header(ACCEPT, parts.accept);
        if let Some(token) = &*self.0.token.read().unwrap_or_else(PoisonError::into_inner) {
            let mut value =
                hyper::header::HeaderValue::from_str(&format!("Bearer {}", token.reveal())).map_err(|_| {
                    Error::Settings("the token contains characters that are not allowed in a header".into())
                })?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(last) = parts.last_event {
            request = request.header("last-event-id", last);
        }
        let body = match parts.body {
            Some((kind, bytes)) => {
                request = request.header(CONTENT_TYPE, kind);
                bytes
            }
            None => Vec::new(),
        };
        request.body(Full::new(body.into())).map_err(|error| Error::Settings(error.to_string()))
    }

    async fn error_from(&self, response: Response<Incoming>) -> Error {
        let status = response.status().as_u16();
        let request = response.headers().get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let body = Limited::new(response.into_body(), 1 << 20).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let reply = std::str::from_utf8(&body).ok().and_then(|text| json::parse(text).ok()).unwrap_or_default();
        let word = |key: &str| reply.walk(&format!("error:{key}"), ":").and_then(Value::as_str).map(str::to_owned);
        let text = word("text").unwrap_or_else(|| format!("{} responded with status {status}", self.address()));
        let kind = word("kind")
            .as_deref()
            .and_then(RefusalKind::from_name)
            .unwrap_or_else(|| RefusalKind::from_status(status));
        Error::Refused { kind, text, hint: word("hint"), status, request }
    }

    pub(crate) fn unexpected_response(&self, what: &str) -> Error {
        Error::Answer { to: self.address(), what: what.to_owned() }
    }

    pub(crate) fn broken(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.connections.broken(error)
    }
}

fn on_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Percent-encodes a text for use in a URL.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_not_sent_over_plain_http() {
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
    fn special_characters_are_percent_encoded() {
        assert_eq!(percent_encode("G@os:Debian and *"), "G%40os%3ADebian%20and%20%2A");
    }
}
