//! The daemon's settings from the configuration; Salt's `rest_cherrypy` applies where our own keys are not set.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use rocksalt_backends::store;
use rocksalt_core::{Map, Value, nearest};
use rocksalt_daemon::requests::presence;
use rocksalt_daemon::serve::log::{self, LogFormat};
use rocksalt_daemon::serve::{Settings, TlsMode};

use crate::config::Config;
use crate::environment::ProcessEnvironment;
use crate::failure::Failure;

/// Salt's own API listens everywhere without `host`; ours only where somebody asked for it.
const LOOPBACK: &str = "127.0.0.1";
const PORT: u16 = 8000;

pub fn read(config: &Config, environment: &ProcessEnvironment, listen: &[String]) -> Result<Settings, Failure> {
    let cherrypy = config.map("rest_cherrypy")?;
    let path = |key: &str| config.text(key).map(|path| config.path(&path, environment));
    let salts = |key: &str| {
        cherrypy.get(key).filter(|value| value.truth()).map(|path| config.path(&path.to_string(), environment))
    };
    let seconds = |key: &str| Ok::<_, Failure>(config.number(key)?.map(Duration::from_secs));
    let mut settings = Settings::new(config.state_dir(environment));
    settings.socket = config.socket(environment);
    settings.listen = addresses(config, &cherrypy, listen)?;
    settings.tls = tls(config, &cherrypy)?;
    settings.certificate = path("tls_certificate").or_else(|| salts("ssl_crt"));
    settings.key = path("tls_key").or_else(|| salts("ssl_key"));
    settings.client_ca = path("client_ca");
    if settings.key.is_some() && settings.certificate.is_none() {
        return Err(config.wrong_because("tls_key", "needs `tls_certificate` beside it"));
    }
    settings.store = config.text("store").unwrap_or_else(|| "disk".into());
    if !store::KINDS.contains(&settings.store.as_str()) {
        let near = nearest::hint(&settings.store, store::KINDS);
        let why = format!("is one of {}, not '{}'{near}", store::KINDS.join(", "), settings.store);
        return Err(config.wrong_because("store", &why));
    }
    settings.store_settings = store::Settings {
        path: path("store_path").unwrap_or_else(|| settings.state.join("store")),
        endpoints: list(config.get("etcd_endpoints")),
        ca: path("etcd_ca"),
        certificate: path("etcd_certificate"),
        key: path("etcd_key"),
        prefix: config.text("etcd_prefix").unwrap_or_else(|| "rocksalt/".into()),
        ..store::Settings::default()
    };
    if settings.store == "etcd" && settings.store_settings.endpoints.is_empty() {
        return Err(config.wrong_because("store", "etcd needs `etcd_endpoints`"));
    }
    if let Some(keep) = config.number("keep_jobs_seconds")? {
        // As in Salt, 0 keeps jobs forever.
        settings.keep_jobs_seconds = if keep == 0 { u64::MAX } else { keep };
    }
    settings.keep_events_seconds = config.number("keep_events_seconds")?.unwrap_or(settings.keep_jobs_seconds);
    if let Some(seconds) = config.number("recall_seconds")? {
        settings.recall = Duration::from_secs(seconds);
    }
    if let Some(largest) = config.number("largest_return")? {
        settings.largest_return = largest as usize;
    }
    if let Some(most) = config.number("max_connections")? {
        // The semaphore behind it allows this many.
        settings.limits.connections = (most as usize).clamp(1, 1 << 20);
        settings.limits.from_one = (settings.limits.connections / 4).max(1);
    }
    if let Some(stop) = seconds("stop_seconds")? {
        settings.stop = stop;
    }
    settings.spool = Some(config.spool(environment)?);
    settings.metrics_auth = config.flag("metrics_auth")?;
    Ok(settings)
}

pub fn presence(config: &Config) -> Result<presence::Settings, Failure> {
    let mut settings = presence::Settings { events: config.flag("presence_events")?, ..presence::Settings::default() };
    if let Some(seconds) = config.number("presence_seconds")? {
        settings.every = Duration::from_secs(seconds);
    }
    Ok(settings)
}

pub fn log(config: &Config) -> Result<log::Settings, Failure> {
    let format = match config.text("log_format").as_deref() {
        None | Some("auto") => LogFormat::Auto,
        Some("text") => LogFormat::Text,
        Some("json") => LogFormat::Json,
        Some(other) => return Err(config.wrong_because("log_format", &format!("is auto, text or json, not '{other}'"))),
    };
    Ok(log::Settings { format, level: config.text("log_level").unwrap_or_default(), ..log::Settings::default() })
}

fn addresses(config: &Config, cherrypy: &Map, given: &[String]) -> Result<Vec<SocketAddr>, Failure> {
    let ours = list(config.get("listen"));
    let wanted = match (given.is_empty(), ours.is_empty(), cherrypy.is_empty()) {
        (false, _, _) => given.to_vec(),
        (true, false, _) => ours,
        (true, true, false) => {
            let text = |key: &str| cherrypy.get(key).filter(|value| value.truth()).map(ToString::to_string);
            let host = text("host").unwrap_or_else(|| LOOPBACK.into());
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            vec![format!("{host}:{}", text("port").unwrap_or_else(|| PORT.to_string()))]
        }
        (true, true, true) => vec![format!("{LOOPBACK}:{PORT}")],
    };
    let mut all = Vec::new();
    for text in wanted {
        let whole = match text.rsplit_once(':') {
            _ if text.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_ipv6()) => format!("[{text}]:{PORT}"),
            Some((_, port)) if port.parse::<u16>().is_ok() => text.clone(),
            _ => format!("{text}:{PORT}"),
        };
        let found = whole.to_socket_addrs().map_err(|error| {
            config.wrong_because("listen", &format!("'{text}' is not an address with a port: {error}"))
        })?;
        all.extend(found);
    }
    all.dedup();
    Ok(all)
}

fn tls(config: &Config, cherrypy: &Map) -> Result<TlsMode, Failure> {
    match config.get("tls") {
        Some(Value::Bool(true)) => Ok(TlsMode::Always),
        Some(Value::Bool(false)) => Ok(TlsMode::Never),
        Some(Value::String(text)) if text == "auto" => Ok(TlsMode::Auto),
        Some(_) => Err(config.wrong_because("tls", "is true, false or auto")),
        None if cherrypy.get("disable_ssl").is_some_and(Value::truth) => Ok(TlsMode::Never),
        None => Ok(TlsMode::Auto),
    }
}

fn list(value: Option<&Value>) -> Vec<String> {
    match value {
        None => Vec::new(),
        Some(Value::List(items)) => items.iter().map(ToString::to_string).collect(),
        Some(one) => vec![one.to_string()],
    }
}
