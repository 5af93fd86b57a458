//! [`Forward`]: sends the diagnostic lines of a login to the command that waits for it.

use std::fmt::{Debug, Write};

use rocksalt_core::log::{LogLevel, LogRecord};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// A subscriber for one task of the keeper, which itself has no log.
pub struct Forward<F> {
    pub level: LogLevel,
    pub send: F,
}

fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    }
}

impl<F: Fn(LogRecord) + Send + Sync + 'static> Subscriber for Forward<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rocksalt") && *metadata.level() <= level(self.level)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(level(self.level)))
    }

    /// The command knows the target and the job itself, so all spans share one id.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            Level::DEBUG => LogLevel::Debug,
            Level::TRACE => LogLevel::Trace,
        };
        let mut line = LogFields::default();
        event.record(&mut line);
        let module = event.metadata().target().trim_start_matches("rocksalt_").to_owned();
        (self.send)(LogRecord { level, module, text: line.message + &line.fields }.bounded());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message, then the fields as `name=value`.
#[derive(Default)]
struct LogFields {
    message: String,
    fields: String,
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to memory can't fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn lines_up_to_the_level_are_sent() {
        let lines: Arc<Mutex<Vec<LogRecord>>> = Arc::default();
        let sent = Arc::clone(&lines);
        let forward =
            Forward { level: LogLevel::Debug, send: move |record| sent.lock().expect("no panic").push(record) };
        tracing::subscriber::with_default(forward, || {
            let _span = crate::log::target_span("web1", None).entered();
            tracing::debug!(target: "rocksalt_connect::x", port = 22, "TCP connection open");
            tracing::trace!(target: "rocksalt_connect::x", "too fine");
            tracing::error!(target: "other", "of another crate");
        });
        let lines = lines.lock().expect("no panic");
        let text = "TCP connection open port=22".to_owned();
        assert_eq!(*lines, [LogRecord { level: LogLevel::Debug, module: "connect::x".into(), text }]);
    }
}
