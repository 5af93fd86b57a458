//! [`CallLog`]: sends the diagnostic lines of one call.

use std::fmt::Arguments;

use rocksalt_core::log::{LogLevel, LogRecord};

/// Sends lines to the controller, up to a level.
pub struct CallLog {
    level: LogLevel,
    send: Box<dyn Fn(LogRecord) + Send + Sync>,
}

impl CallLog {
    pub fn new(level: LogLevel, send: impl Fn(LogRecord) + Send + Sync + 'static) -> CallLog {
        CallLog { level, send: Box::new(send) }
    }

    /// Formats and sends the line if its level was requested. The text must not contain values that may be secret:
    /// arguments, pillar, file contents, variables, command lines.
    pub fn write(&self, level: LogLevel, module: &str, text: Arguments<'_>) {
        if level <= self.level {
            let record = LogRecord { level, module: module.to_owned(), text: text.to_string() };
            (self.send)(record.bounded());
        }
    }
}
