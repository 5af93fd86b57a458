//! Structured logs: a line of text on a terminal, JSON elsewhere.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub format: Format,
    /// `error`, `warning`, `info` …, or filters as `info,rocksalt_daemon=debug`.
    pub level: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text on a terminal, else JSON.
    #[default]
    Auto,
    Text,
    Json,
}

/// Logs go to standard error from now on. To be called once.
pub fn start(settings: &Settings) -> Result<(), String> {
    let filter = filter(&settings.level)?;
    let terminal = std::io::stderr().is_terminal();
    let text = settings.format == Format::Text || (settings.format == Format::Auto && terminal);
    let builder = fmt::Subscriber::builder().with_env_filter(filter).with_writer(std::io::stderr);
    let set = match text {
        true => tracing::subscriber::set_global_default(builder.with_ansi(terminal).with_target(false).finish()),
        false => {
            let json = builder.json().flatten_event(true).with_current_span(false).with_span_list(false);
            tracing::subscriber::set_global_default(json.finish())
        }
    };
    set.map_err(|error| error.to_string())
}

/// Something that a person would be told, if there were one.
pub fn notice(text: &str) {
    tracing::info!("{text}");
}

/// Salt's names of levels as well as ours.
fn filter(level: &str) -> Result<EnvFilter, String> {
    let directives = match level {
        "" => "info",
        "quiet" => "off",
        "critical" => "error",
        "warning" => "warn",
        "garbage" | "all" => "trace",
        "profile" => "debug",
        other => other,
    };
    EnvFilter::try_new(directives).map_err(|error| format!("log_level: '{level}' is not a level: {error}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn levels_are_salts_and_ours() {
        for level in
            ["", "quiet", "critical", "error", "warning", "warn", "info", "debug", "trace", "all", "info,hyper=debug"]
        {
            assert!(super::filter(level).is_ok(), "{level}");
        }
        assert!(super::filter("loud=very").is_err());
    }
}
