//! Diagnostics: spans that name the target, and lines of other processes as events of this one.

use std::time::Instant;

use rocksalt_core::JobId;
pub(crate) use rocksalt_core::log::printable;
use rocksalt_core::log::{LogLevel, LogRecord};
use tracing::Span;
use tracing::level_filters::LevelFilter;

/// The span of log lines that belong to a target, and to a job if there is one.
///
/// Its target is `rocksalt_span`, so that a filter that selects single modules can still include it.
pub fn target_span(id: &str, job: Option<JobId>) -> Span {
    match job {
        Some(job) => tracing::error_span!(target: "rocksalt_span", "target", id, %job),
        None => tracing::error_span!(target: "rocksalt_span", "target", id),
    }
}

/// The milliseconds since `since`, with fractions.
pub(crate) fn ms(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 10_000.0).round() / 10.0
}

/// The most verbose level that has a listener; `None` if there is no listener.
pub fn level() -> Option<LogLevel> {
    match LevelFilter::current() {
        LevelFilter::OFF => None,
        LevelFilter::ERROR => Some(LogLevel::Error),
        LevelFilter::WARN => Some(LogLevel::Warn),
        LevelFilter::INFO => Some(LogLevel::Info),
        LevelFilter::DEBUG => Some(LogLevel::Debug),
        _ => Some(LogLevel::Trace),
    }
}

macro_rules! emit {
    ($target:literal, $record:expr) => {{
        let LogRecord { level, module, text } = $record.bounded();
        let module = rocksalt_core::log::printable(&module);
        let text = rocksalt_core::log::printable(&text);
        match level {
            LogLevel::Error => tracing::error!(target: $target, "{module}: {text}"),
            LogLevel::Warn => tracing::warn!(target: $target, "{module}: {text}"),
            LogLevel::Info => tracing::info!(target: $target, "{module}: {text}"),
            LogLevel::Debug => tracing::debug!(target: $target, "{module}: {text}"),
            LogLevel::Trace => tracing::trace!(target: $target, "{module}: {text}"),
        }
    }};
}

/// Emits a log line of an agent.
pub fn emit_agent(record: LogRecord) {
    emit!("rocksalt_agent", record);
}

/// Emits a log line of the keeper.
pub fn emit_keeper(record: LogRecord) {
    emit!("rocksalt_keeper", record);
}
