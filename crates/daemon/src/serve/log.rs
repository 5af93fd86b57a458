//! Sets up diagnostics: lines on standard error and in a file, as text or as JSON.
//!
//! The daemon and all commands use this. docs/diagnostics.md defines what may be logged: never a value that may be
//! secret.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksalt_core::log::printable;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub format: LogFormat,
    /// The level of lines on standard error: a level of Salt or of ours, or filters such as
    /// `info,rocksalt_daemon=debug`; empty: `info`.
    pub level: String,
    /// An additional file for the lines.
    pub file: Option<PathBuf>,
    /// The level of lines in the file; empty: `warning`, as in Salt.
    pub file_level: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, otherwise JSON.
    #[default]
    Auto,
    Text,
    Json,
}

/// Starts logging to standard error. Call it once.
pub fn start(settings: &Settings) -> Result<(), String> {
    start_with(settings, || EscapedLines(io::stderr()))
}

/// As [`start`], with a writer in place of standard error.
pub fn start_with<W>(settings: &Settings, console: W) -> Result<(), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let text = match settings.format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => io::stderr().is_terminal(),
    };
    let console = layer(text, console).with_filter(filter("log_level", &settings.level)?);
    let mut layers = vec![console.boxed()];
    if let Some(path) = &settings.file {
        let file = SharedFile(Arc::new(open(path)?));
        let level = if settings.file_level.is_empty() { "warning" } else { &settings.file_level };
        // Always text, as in Salt; `log_format` only applies to standard error.
        let file = layer(true, move || EscapedLines(file.clone()));
        layers.push(file.with_filter(filter("log_level_logfile", level)?).boxed());
    }
    let subscriber = Registry::default().with(layers);
    tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())
}

fn layer<W>(text: bool, writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    match text {
        true => fmt::layer().with_writer(writer).with_ansi(false).boxed(),
        false => {
            let json = fmt::layer().json().flatten_event(true).with_current_span(false).with_span_list(true);
            json.with_writer(writer).boxed()
        }
    }
}

fn open(path: &Path) -> Result<File, String> {
    let file = File::options().create(true).append(true).mode(0o600).open(path);
    file.map_err(|error| format!("log_file: can't open {}: {error}", path.display()))
}

#[derive(Clone)]
struct SharedFile(Arc<File>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Escapes characters of each line that a terminal interprets, whatever their source.
pub struct EscapedLines<W>(pub W);

impl<W: Write> Write for EscapedLines<W> {
    /// The subscriber writes a whole line at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = printable(text.trim_end_matches('\n')) + "\n";
        self.0.write_all(line.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Logs a notice that is meant for a person.
pub fn notice(text: &str) {
    tracing::info!("{text}");
}

/// Parses a level, under Salt's names or ours, or filters.
///
/// A level applies to this program only: libraries may log secret data, so for them the limit is `warn`.
fn filter(key: &str, level: &str) -> Result<EnvFilter, String> {
    let ours = match level.to_ascii_lowercase().as_str() {
        "" => Some("info"),
        "quiet" | "off" => Some("off"),
        "critical" | "error" => Some("error"),
        "warning" | "warn" => Some("warn"),
        "info" => Some("info"),
        "profile" | "debug" => Some("debug"),
        "garbage" | "all" | "trace" => Some("trace"),
        _ => None,
    };
    let directives = match ours {
        Some(level @ ("info" | "debug" | "trace")) => format!("warn,rocksalt={level}"),
        Some(level) => level.to_owned(),
        // Otherwise a misspelt level would be taken for the name of a module that logs nothing.
        None if !level.contains('=') && !level.starts_with("rocksalt") => {
            return Err(format!(
                "{key}: '{level}' is not a level: quiet, critical, error, warning, info, debug, trace, or MODULE=LEVEL,…"
            ));
        }
        // The spans add the target and the job to lines of every module.
        None => format!("{level},rocksalt_span=error"),
    };
    EnvFilter::try_new(directives).map_err(|error| format!("{key}: '{level}' is not a level: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    #[test]
    fn levels_are_salts_and_ours() {
        for level in [
            "",
            "quiet",
            "critical",
            "error",
            "warning",
            "warn",
            "info",
            "profile",
            "debug",
            "trace",
            "garbage",
            "all",
            "DEBUG",
            "info,hyper=debug",
            "rocksalt_connect=trace",
        ] {
            assert!(super::filter("log_level", level).is_ok(), "{level}");
        }
        for level in ["loud=very", "loud", "1"] {
            assert!(super::filter("log_level", level).is_err(), "{level}");
        }
    }

    #[test]
    fn a_line_of_a_target_can_not_act_on_the_terminal() {
        let mut lines = super::EscapedLines(Vec::new());
        lines.write_all(b"a\x1b[2Jb\nc\n").expect("memory");
        assert_eq!(String::from_utf8_lossy(&lines.0), "a\u{fffd}[2Jb c\n");
    }
}
