//! Load generator of `bench/http`: requests as fast as possible, or listeners that must get every event.
//!
//!     load requests URL PATH --connections 16 --seconds 5 [--method POST] [--body TEXT] [--header 'NAME: VALUE']… [--expect TEXT]
//!     load listen URL PATH --listeners 1000 --events 50 --pause-ms 100 --fire-path PATH --fire-body TEXT [--header …]…
//!
//! Prints one line of JSON. It knows nothing about Rocksalt, so that salt-api is measured with the same program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Time limit of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long to wait for missing events after the last one.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let worked = runtime.map_err(BoxError::from).and_then(|runtime| runtime.block_on(run()));
    match worked {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<serde_json::Value, BoxError> {
    let options = Options::read()?;
    match options.kind.as_str() {
        "requests" => requests(Arc::new(options)).await,
        "listen" => listen(Arc::new(options)).await,
        other => Err(format!("'{other}' is neither requests nor listen").into()),
    }
}

/// The command line.
struct Options {
    kind: String,
    address: String,
    path: String,
    headers: Vec<(String, String)>,
    words: HashMap<String, String>,
}

impl Options {
    fn read() -> Result<Options, BoxError> {
        let mut arguments = std::env::args().skip(1);
        let mut word = |what: &str| arguments.next().ok_or(format!("{what} is missing"));
        let (kind, url, path) = (word("what to do")?, word("the URL")?, word("the path")?);
        let address = url.strip_prefix("http://").ok_or("only http:// is measured")?.trim_end_matches('/').to_owned();
        let (mut headers, mut words) = (Vec::new(), HashMap::new());
        while let Some(name) = arguments.next() {
            let name = name.strip_prefix("--").ok_or(format!("'{name}' is not an option"))?.to_owned();
            let value = arguments.next().ok_or(format!("--{name} needs a value"))?;
            match name.as_str() {
                "header" => {
                    let (name, value) = value.split_once(':').ok_or("a header is NAME: VALUE")?;
                    headers.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                _ => drop(words.insert(name, value)),
            }
        }
        Ok(Options { kind, address, path, headers, words })
    }

    fn word(&self, name: &str) -> &str {
        self.words.get(name).map(String::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Result<u64, BoxError> {
        self.word(name).parse().map_err(|_| format!("--{name} needs a number").into())
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Result<Request<Full<Bytes>>, BoxError> {
        let mut request = Request::builder().method(method).uri(path).header("host", &self.address);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        Ok(request.body(Full::new(Bytes::copy_from_slice(body.as_bytes())))?)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, BoxError> {
        let stream = tokio::time::timeout(REQUEST_TIMEOUT, TcpStream::connect(&self.address)).await??;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// Each connection sends the next request when it has the response.
async fn requests(options: Arc<Options>) -> Result<serde_json::Value, BoxError> {
    let (connections, seconds) = (options.number("connections")?, options.number("seconds")?);
    let begun = Instant::now();
    let until = begun + Duration::from_secs(seconds);
    // The most requests of each connection.
    let most = if options.word("most").is_empty() { u64::MAX } else { options.number("most")? };
    let mut work = JoinSet::new();
    for _ in 0..connections {
        work.spawn(request_until(Arc::clone(&options), until, most));
    }
    let (mut times, mut errors, mut first) = (Vec::new(), 0_u64, None);
    while let Some(done) = work.join_next().await {
        let (some, failed, why) = done?;
        times.extend(some);
        errors += failed;
        first = first.or(why);
    }
    let elapsed = begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let rate = times.len() as f64 / elapsed;
    Ok(json!({
        "requests": times.len(), "errors": errors, "error": first, "seconds": elapsed, "rate": rate,
        "p50_ms": quantile(&times, 0.5), "p99_ms": quantile(&times, 0.99), "max_ms": quantile(&times, 1.0),
    }))
}

async fn request_until(options: Arc<Options>, until: Instant, most: u64) -> (Vec<Duration>, u64, Option<String>) {
    let method = if options.word("method").is_empty() { "GET" } else { options.word("method") };
    let (mut times, mut errors, mut first) = (Vec::new(), 0, None);
    let mut sender = None;
    while Instant::now() < until && (times.len() as u64) < most {
        let begun = Instant::now();
        match tokio::time::timeout(REQUEST_TIMEOUT, send_request(&options, &mut sender, method)).await {
            Ok(Ok(())) => times.push(begun.elapsed()),
            failed => {
                sender = None;
                errors += 1;
                let why = match failed {
                    Ok(Err(error)) => error.to_string(),
                    _ => "no response in time".into(),
                };
                first.get_or_insert(why);
                // Don't flood a server that refuses at once.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    (times, errors, first)
}

async fn send_request(
    options: &Options,
    kept: &mut Option<SendRequest<Full<Bytes>>>,
    method: &str,
) -> Result<(), BoxError> {
    let mut sender = match kept.take().filter(|sender| !sender.is_closed()) {
        Some(sender) => sender,
        None => options.connect().await?,
    };
    let response = sender.send_request(options.request(method, &options.path, options.word("body"))?).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    let expected = options.word("expect").as_bytes();
    let right = expected.is_empty() || body.windows(expected.len()).any(|part| part == expected);
    if !status.is_success() || !right {
        let text: String = String::from_utf8_lossy(&body).chars().take(200).collect();
        return Err(format!("{status}: {text}").into());
    }
    if sender.ready().await.is_ok() {
        *kept = Some(sender);
    }
    Ok(())
}

/// Counters of all listeners.
#[derive(Default)]
struct ListenerStats {
    connected: AtomicU64,
    broken: AtomicU64,
    doubles: AtomicU64,
    /// When each event was fired.
    fired: Mutex<HashMap<u64, Instant>>,
    delays: Mutex<Vec<Duration>>,
}

/// Starts listeners, then fires events one after another; each has `load-<n>-end` in its body in place of `@`.
async fn listen(options: Arc<Options>) -> Result<serde_json::Value, BoxError> {
    let (listeners, events) = (options.number("listeners")?, options.number("events")?);
    let pause = Duration::from_millis(options.number("pause-ms")?);
    let stats = Arc::new(ListenerStats::default());
    let mut work = JoinSet::new();
    for _ in 0..listeners {
        let (options, stats) = (Arc::clone(&options), Arc::clone(&stats));
        work.spawn(async move {
            if listen_once(&options, &stats, events).await.is_err() {
                stats.broken.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for _ in 0..150 {
        if stats.connected.load(Ordering::Relaxed) + stats.broken.load(Ordering::Relaxed) >= listeners {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let connected = stats.connected.load(Ordering::Relaxed);
    let (mut sender, mut refused) = (None, 0);
    for n in 0..events {
        stats.fired.lock().unwrap_or_else(PoisonError::into_inner).insert(n, Instant::now());
        let body = options.word("fire-body").replace('@', &format!("load-{n}-end"));
        match tokio::time::timeout(Duration::from_secs(10), fire(&options, &mut sender, &body)).await {
            Ok(Ok(())) => {}
            _ => {
                sender = None;
                refused += 1;
            }
        }
        tokio::time::sleep(pause).await;
    }
    let end = Instant::now() + DRAIN_TIMEOUT;
    while Instant::now() < end {
        let heard = stats.delays.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        if heard >= connected * events {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    work.abort_all();
    let mut delays = std::mem::take(&mut *stats.delays.lock().unwrap_or_else(PoisonError::into_inner));
    delays.sort_unstable();
    Ok(json!({
        "listeners": listeners, "connected": connected, "events": events, "refused": refused,
        "heard": delays.len(), "missing": (listeners * events).saturating_sub(delays.len() as u64),
        "doubles": stats.doubles.load(Ordering::Relaxed), "broken": stats.broken.load(Ordering::Relaxed),
        "p50_ms": quantile(&delays, 0.5), "p99_ms": quantile(&delays, 0.99), "max_ms": quantile(&delays, 1.0),
    }))
}

async fn fire(options: &Options, kept: &mut Option<SendRequest<Full<Bytes>>>, body: &str) -> Result<(), BoxError> {
    let mut sender = match kept.take().filter(|sender| !sender.is_closed()) {
        Some(sender) => sender,
        None => options.connect().await?,
    };
    let response = sender.send_request(options.request("POST", options.word("fire-path"), body)?).await?;
    let status = response.status();
    response.into_body().collect().await?;
    if !status.is_success() {
        return Err(status.to_string().into());
    }
    if sender.ready().await.is_ok() {
        *kept = Some(sender);
    }
    Ok(())
}

async fn listen_once(options: &Options, stats: &ListenerStats, events: u64) -> Result<(), BoxError> {
    let mut sender = options.connect().await?;
    let response = sender.send_request(options.request("GET", &options.path, "")?).await?;
    if !response.status().is_success() {
        return Err(response.status().to_string().into());
    }
    let mut body = response.into_body();
    let mut seen = vec![false; events as usize];
    let mut text: Vec<u8> = Vec::new();
    let mut greeted = false;
    while let Some(frame) = body.frame().await {
        let now = Instant::now();
        if !greeted {
            greeted = true;
            stats.connected.fetch_add(1, Ordering::Relaxed);
        }
        text.extend_from_slice(&frame?.into_data().unwrap_or_default());
        let Some(end) = text.windows(2).rposition(|part| part == b"\n\n") else { continue };
        let whole: Vec<u8> = text.drain(..end + 2).collect();
        for event in String::from_utf8_lossy(&whole).split("\n\n") {
            let Some(n) = event_number(event).filter(|n| (*n as usize) < seen.len()) else { continue };
            if std::mem::replace(&mut seen[n as usize], true) {
                stats.doubles.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let fired = stats.fired.lock().unwrap_or_else(PoisonError::into_inner).get(&n).copied();
            let delay = fired.map_or(Duration::ZERO, |fired| now.saturating_duration_since(fired));
            stats.delays.lock().unwrap_or_else(PoisonError::into_inner).push(delay);
        }
    }
    Err("it ended".into())
}

/// The number of one of our events.
fn event_number(event: &str) -> Option<u64> {
    let (_, rest) = event.split_once("load-")?;
    rest.split_once("-end")?.0.parse().ok()
}

fn quantile(sorted: &[Duration], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[(last as f64 * share).round() as usize].as_secs_f64() * 1000.0)
}
