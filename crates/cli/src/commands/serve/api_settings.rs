//! The settings of the HTTP APIs: Salt's `rest_cherrypy` block, and `halite`.

use rocksalt_core::{Map, Value};
use rocksalt_daemon::api::Settings;

use crate::config::Config;
use crate::environment::ProcessEnvironment;
use crate::failure::Failure;

pub fn read(config: &Config, environment: &ProcessEnvironment) -> Result<Settings, Failure> {
    let block = config.map("rest_cherrypy")?;
    let mut settings = Settings::default();
    let path = |key: &str| text(&block, key).map(|path| config.path(&path, environment));
    settings.webhook_disable_auth = flag(&block, "webhook_disable_auth");
    settings.stats_disable_auth = flag(&block, "stats_disable_auth");
    if let Some(value) = block.get("max_request_body_size") {
        settings.max_request_body_size = value
            .as_i64()
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(|| config.wrong_because("rest_cherrypy: max_request_body_size", "must be a number of bytes"))?;
    }
    settings.app = path("app");
    settings.static_files = path("static");
    if let Some(at) = text(&block, "app_path") {
        settings.app_path = rooted(&at);
    }
    if let Some(at) = text(&block, "static_path") {
        settings.static_path = rooted(&at);
    }
    // Salt has this setting outside of the block.
    if let Some(clients) = config.get("netapi_enable_clients").and_then(Value::as_list) {
        settings.clients = clients.iter().map(ToString::to_string).collect();
    }
    settings.halite = config.flag("halite")?;
    if let Some(origins) = config.get("cors_origins") {
        settings.origins = match origins {
            Value::List(origins) => origins.iter().map(ToString::to_string).collect(),
            one => vec![one.to_string()],
        };
        // Otherwise any web page could use the rights of its visitor (docs/security-rules.md#r9).
        if settings.origins.iter().any(|origin| !origin.contains("://")) {
            return Err(config.wrong_because("cors_origins", "must list sites as in https://ops.example.com"));
        }
    }
    Ok(settings)
}

fn text(block: &Map, key: &str) -> Option<String> {
    block.get(key).filter(|value| value.truth()).map(ToString::to_string)
}

fn flag(block: &Map, key: &str) -> bool {
    block.get(key).is_some_and(Value::truth)
}

fn rooted(path: &str) -> String {
    format!("/{}", path.trim_matches('/'))
}
