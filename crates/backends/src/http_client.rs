//! [`HttpClient`]: fetches documents from web services, with limits on time, size and redirects.
//!
//! HTTP/1.1 over TCP or TLS, through a proxy if the environment names one as for curl (`HTTPS_PROXY`, `NO_PROXY`, …).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    ACCEPT, AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{Request, Response, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The limit of redirects.
const MOST_REDIRECTS: usize = 5;

/// The limit of idle connections for each server.
const IDLE: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("'{0}' is not an address that begins with http:// or https://")]
    Address(String),
    #[error("the header '{0}' has characters that no header has")]
    Header(String),
    #[error("can't connect to {to}: {why}")]
    Connect { to: String, why: String },
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the server answered {0}")]
    Status(u16),
    #[error("it redirects more than {MOST_REDIRECTS} times")]
    Redirects,
    #[error("it took longer than {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("it has more than {0} bytes")]
    TooLong(usize),
}

/// Keeps idle connections, so that a request for each of many targets costs one TLS handshake.
pub struct HttpClient {
    /// The time limit of a whole request, with its redirects and its body.
    timeout: Duration,
    proxies: Matcher,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    idle: Mutex<HashMap<Origin, Vec<Sender>>>,
}

type Sender = SendRequest<Empty<Bytes>>;

/// The server that an address names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Origin {
    tls: bool,
    host: String,
    port: u16,
}

trait HttpStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> HttpStream for T {}

impl HttpClient {
    pub fn new(timeout: Duration) -> HttpClient {
        HttpClient { timeout, proxies: Matcher::from_env(), tls: OnceLock::new(), idle: Mutex::default() }
    }

    /// Returns the body of a successful response; an error if it has more than `limit` bytes.
    pub async fn get(&self, url: &str, headers: &[(String, String)], limit: usize) -> Result<Vec<u8>, Error> {
        let address: Uri = url.parse().map_err(|_| Error::Address(url.to_owned()))?;
        let headers = header_map(headers)?;
        let answer = tokio::time::timeout(self.timeout, self.follow(address, headers, limit)).await;
        answer.unwrap_or(Err(Error::TimedOut(self.timeout)))
    }

    async fn follow(&self, mut address: Uri, mut headers: HeaderMap, limit: usize) -> Result<Vec<u8>, Error> {
        for _ in 0..=MOST_REDIRECTS {
            let origin = Origin::of(&address)?;
            let (response, sender) = self.send(&origin, &address, &headers).await?;
            if let Some(next) = redirect(&address, &response)? {
                // A password must only be sent to the server that it was configured for.
                headers.remove(AUTHORIZATION);
                address = next;
                continue;
            }
            let status = response.status();
            if status.is_client_error() || status.is_server_error() {
                return Err(Error::Status(status.as_u16()));
            }
            let body = Limited::new(response.into_body(), limit).collect().await;
            let body = body.map_err(|error| match error.is::<LengthLimitError>() {
                true => Error::TooLong(limit),
                false => Error::Broken(error.to_string()),
            })?;
            self.keep(origin, sender);
            return Ok(body.to_bytes().into());
        }
        Err(Error::Redirects)
    }

    /// Sends a request over an idle connection, if one is still open.
    async fn send(
        &self,
        origin: &Origin,
        address: &Uri,
        headers: &HeaderMap,
    ) -> Result<(Response<Incoming>, Sender), Error> {
        let mut request = request(origin, address, headers)?;
        while let Some(mut sender) = self.idle(origin) {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, sender)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(broken(error.into_error())),
                },
            }
        }
        let mut sender = greet(self.connect(origin).await?).await?;
        let response = sender.send_request(request).await.map_err(broken)?;
        Ok((response, sender))
    }

    fn idle(&self, origin: &Origin) -> Option<Sender> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_mut(origin)?.pop()
    }

    fn keep(&self, origin: Origin, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = idle.entry(origin).or_default();
        if idle.len() < IDLE && !sender.is_closed() {
            idle.push(sender);
        }
    }

    async fn connect(&self, origin: &Origin) -> Result<Box<dyn HttpStream>, Error> {
        let stream = match origin.uri().and_then(|uri| self.proxies.intercept(&uri)) {
            None => dial(origin).await?,
            Some(proxy) => self.tunnel(&proxy, origin).await?,
        };
        if origin.tls { self.encrypt(stream, origin).await } else { Ok(stream) }
    }

    /// Requests a connection to the server from a proxy, by `CONNECT`.
    async fn tunnel(&self, proxy: &Intercept, origin: &Origin) -> Result<Box<dyn HttpStream>, Error> {
        let place = Origin::of(proxy.uri())?;
        let mut stream = dial(&place).await?;
        if place.tls {
            stream = self.encrypt(stream, &place).await?;
        }
        let to = origin.authority();
        let mut request = Request::connect(&to).header(HOST, &to);
        if let Some(login) = proxy.basic_auth() {
            request = request.header(PROXY_AUTHORIZATION, login);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|_| Error::Address(to.clone()))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        tokio::spawn(connection.with_upgrades());
        let response = sender.send_request(request).await.map_err(broken)?;
        if !response.status().is_success() {
            let why = format!("the proxy {} answered {}", place.authority(), response.status().as_u16());
            return Err(Error::Connect { to, why });
        }
        let stream = hyper::upgrade::on(response).await.map_err(broken)?;
        Ok(Box::new(TokioIo::new(stream)))
    }

    async fn encrypt(&self, stream: Box<dyn HttpStream>, origin: &Origin) -> Result<Box<dyn HttpStream>, Error> {
        let failed = |why: String| Error::Connect { to: origin.authority(), why };
        let config = self.tls.get_or_init(tls_config).clone().map_err(failed)?;
        let name = ServerName::try_from(origin.host.clone()).map_err(|error| failed(error.to_string()))?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        Ok(Box::new(stream.map_err(|error| failed(error.to_string()))?))
    }
}

impl Origin {
    fn of(address: &Uri) -> Result<Origin, Error> {
        let wrong = || Error::Address(address.to_string());
        let tls = match address.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let host = address.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Origin { tls, host, port: address.port_u16().unwrap_or(if tls { 443 } else { 80 }) })
    }

    /// The address with brackets if it is IPv6.
    fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    fn uri(&self) -> Option<Uri> {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}/", self.authority()).parse().ok()
    }
}

async fn dial(origin: &Origin) -> Result<Box<dyn HttpStream>, Error> {
    let stream = TcpStream::connect((origin.host.as_str(), origin.port)).await;
    let stream = stream.map_err(|error| Error::Connect { to: origin.authority(), why: error.to_string() })?;
    // Only affects the speed.
    let _ = stream.set_nodelay(true);
    Ok(Box::new(stream))
}

async fn greet(stream: Box<dyn HttpStream>) -> Result<Sender, Error> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Ends with its sender, or when the server closes it; the request reports errors.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

/// TLS with the authorities that the machine trusts. Verification can't be disabled (docs/security-rules.md#r11).
fn tls_config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(format!("this machine has no certificates of authorities: {}", why.join("; ")));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, Error> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || Error::Header(name.clone());
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.append(HeaderName::try_from(name).map_err(|_| wrong())?, value);
    }
    Ok(map)
}

fn request(origin: &Origin, address: &Uri, headers: &HeaderMap) -> Result<Request<Empty<Bytes>>, Error> {
    let wrong = || Error::Address(address.to_string());
    let path = address.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::get(path).body(Empty::new()).map_err(|_| wrong())?;
    let own = request.headers_mut();
    let host = HeaderValue::from_str(&host_header(origin)).map_err(|_| wrong())?;
    own.insert(HOST, host);
    own.insert(ACCEPT, HeaderValue::from_static("*/*"));
    own.insert(USER_AGENT, HeaderValue::from_static(concat!("rocksalt/", env!("CARGO_PKG_VERSION"))));
    if let Some((login, _)) = address.authority().and_then(|authority| authority.as_str().rsplit_once('@')) {
        let login = if login.contains(':') { login.to_owned() } else { format!("{login}:") };
        let login = format!("Basic {}", BASE64_STANDARD.encode(login));
        own.insert(AUTHORIZATION, HeaderValue::from_str(&login).map_err(|_| wrong())?);
    }
    for name in headers.keys() {
        own.remove(name);
    }
    own.extend(headers.clone());
    Ok(request)
}

/// The `Host` header. As in browsers, the default port is left out: some servers compare the text.
fn host_header(origin: &Origin) -> String {
    let authority = origin.authority();
    let usual = if origin.tls { ":443" } else { ":80" };
    authority.strip_suffix(usual).map_or(authority.clone(), str::to_owned)
}

/// The target of a redirect, if the response is one.
fn redirect<B>(address: &Uri, response: &Response<B>) -> Result<Option<Uri>, Error> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let shown = String::from_utf8_lossy(location.as_bytes()).into_owned();
    let scheme = address.scheme_str().unwrap_or("http");
    let authority = address.authority().map_or("", |authority| authority.as_str());
    let authority = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    let whole = if shown.contains("://") {
        shown.clone()
    } else if shown.starts_with("//") {
        format!("{scheme}:{shown}")
    } else if shown.starts_with('/') {
        format!("{scheme}://{authority}{shown}")
    } else if shown.starts_with('?') {
        format!("{scheme}://{authority}{}{shown}", address.path())
    } else {
        let folder = address.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{shown}")
    };
    whole.parse().map(Some).map_err(|_| Error::Address(shown))
}

fn broken(error: hyper::Error) -> Error {
    let error: &dyn std::error::Error = &error;
    let causes = std::iter::successors(Some(error), |error| error.source());
    Error::Broken(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Starts a server that responds with `reply`, which gets the head of each request; requests may share a
    /// connection.
    fn serve(reply: impl Fn(&str) -> String + Send + Sync + 'static) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let reply = Arc::new(reply);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let reply = Arc::clone(&reply);
                std::thread::spawn(move || {
                    let mut head = Vec::new();
                    let mut byte = [0];
                    while stream.read(&mut byte).is_ok_and(|count| count > 0) {
                        head.push(byte[0]);
                        if head.ends_with(b"\r\n\r\n") {
                            let answer = reply(&String::from_utf8_lossy(&head));
                            head.clear();
                            if answer.is_empty() || stream.write_all(answer.as_bytes()).is_err() {
                                // Without a response the connection stays open and silent.
                                std::thread::sleep(Duration::from_secs(60));
                            }
                        }
                    }
                });
            }
        });
        port
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    fn to(location: &str) -> String {
        format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
    }

    fn direct(timeout: Duration) -> HttpClient {
        HttpClient { proxies: Matcher::builder().build(), ..HttpClient::new(timeout) }
    }

    async fn get(client: &HttpClient, url: &str) -> Result<String, String> {
        let headers = [("Authorization".to_owned(), "Basic Zzpw".to_owned())];
        let answer = client.get(url, &headers, 1000).await;
        answer.map(|body| String::from_utf8_lossy(&body).into_owned()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn redirects_are_followed_without_the_password() {
        let port = serve(|head| match head.split(' ').nth(1) {
            Some("/a/relative") => to("echo?x"),
            Some("/absolute") => to("/a/echo"),
            Some("/loop") => to("/loop"),
            Some("/gone") => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into(),
            _ => ok(head),
        });
        let client = direct(Duration::from_secs(10));
        let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
        let first = get(&client, &at("/a/echo")).await.expect("it is there").to_lowercase();
        assert!(first.contains("authorization: basic zzpw") && first.contains(&format!("host: 127.0.0.1:{port}")));
        for (path, line) in [("/a/relative", "get /a/echo?x http"), ("/absolute", "get /a/echo http")] {
            let body = get(&client, &at(path)).await.expect("it is there").to_lowercase();
            assert!(body.starts_with(line) && !body.contains("authorization"), "{path}: {body}");
        }
        assert_eq!(get(&client, &at("/loop")).await, Err("it redirects more than 5 times".into()));
        assert_eq!(get(&client, &at("/gone")).await, Err("the server answered 404".into()));
        assert!(get(&client, "ftp://127.0.0.1/").await.is_err_and(|error| error.contains("http://")));
    }

    #[tokio::test]
    async fn what_takes_too_long_or_is_too_long_ends() {
        let silent = serve(|_| String::new());
        let client = direct(Duration::from_millis(300));
        let error = get(&client, &format!("http://127.0.0.1:{silent}/")).await;
        assert_eq!(error, Err("it took longer than 0.3 s".into()));
        let long = serve(|_| ok(&"x".repeat(1001)));
        let client = direct(Duration::from_secs(10));
        let error = get(&client, &format!("http://127.0.0.1:{long}/")).await;
        assert_eq!(error, Err("it has more than 1000 bytes".into()));
        let chunked = serve(|_| {
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned()
                + "3e8\r\n"
                + &"x".repeat(1000)
                + "\r\n0\r\n\r\n"
        });
        assert_eq!(get(&client, &format!("http://127.0.0.1:{chunked}/")).await.map(|body| body.len()), Ok(1000));
    }

    #[tokio::test]
    async fn a_proxy_is_asked_for_a_tunnel_and_logins_of_the_address_are_sent() {
        // After `CONNECT` the same connection leads to the server, and this program acts as both.
        let proxy = serve(|head| match head.starts_with("CONNECT web.invalid:80 ") {
            true if head.to_lowercase().contains("proxy-authorization: basic djpw") => "HTTP/1.1 200 OK\r\n\r\n".into(),
            true => "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n".into(),
            false => ok(head),
        });
        let through = |login: &str| {
            let proxies =
                Matcher::builder().all(format!("http://{login}127.0.0.1:{proxy}")).no("other.invalid").build();
            HttpClient { proxies, ..HttpClient::new(Duration::from_secs(10)) }
        };
        let answer = through("v:p@").get("http://u:p@web.invalid/x", &[], 1000).await.expect("it is there");
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(answer.starts_with("get /x http") && answer.contains("host: web.invalid\r\n"), "{answer}");
        assert!(answer.contains("authorization: basic dtpw"), "{answer}");
        let refused = get(&through(""), "http://web.invalid/x").await;
        assert!(refused.as_ref().is_err_and(|error| error.contains("answered 407")), "{refused:?}");
        assert!(get(&through("v:p@"), "http://other.invalid/x").await.is_err());
    }

    #[tokio::test]
    async fn a_certificate_that_nobody_signed_is_refused() {
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let server = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![key.cert.der().clone()],
                rustls::pki_types::PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into()),
            )
            .expect("a configuration");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = tokio_rustls::TlsAcceptor::from(Arc::new(server.clone())).accept(stream).await;
            }
        });
        let url = format!("https://localhost:{port}/");
        let answer = get(&direct(Duration::from_secs(10)), &url).await;
        assert!(answer.as_ref().is_err_and(|error| error.starts_with("can't connect to localhost")), "{answer:?}");
        // A client that trusts the certificate accepts the same server: the rest of it works.
        let mut roots = RootCertStore::empty();
        roots.add(key.cert.der().clone()).expect("a root");
        let trusting = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = HttpClient { tls: OnceLock::from(Ok(Arc::new(trusting))), ..direct(Duration::from_secs(10)) };
        let answer = get(&client, &url).await;
        assert!(answer.as_ref().is_err_and(|error| error.starts_with("the connection broke")), "{answer:?}");
    }
}
