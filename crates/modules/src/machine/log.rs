//! [`CallLog`]: where the diagnostic lines of one call go.

use std::fmt::Arguments;

use rocksalt_core::log::{LogLevel, LogRecord};

/// Sends lines up to a level to the controller.
pub struct CallLog {
    level: LogLevel,
    send: Box<dyn Fn(LogRecord) + Send + Sync>,
}

impl CallLog {
    pub fn new(level: LogLevel, send: impl Fn(LogRecord) + Send + Sync + 'static) -> CallLog {
        CallLog { level, send: Box::new(send) }
    }

    /// Formats and sends the line if its level was asked for. The text must not hold values that may be secret:
    /// arguments, pillar, file contents, variables, command lines.
    pub fn write(&self, level: LogLevel, module: &str, text: Arguments<'_>) {
        if level <= self.level {
            let record = LogRecord { level, module: module.to_owned(), text: text.to_string() };
            (self.send)(record.bounded());
        }
    }
}
