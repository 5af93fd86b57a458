//! Diagnostic lines that cross a process boundary: from the agent to the controller, and from the keeper to a command.
//!
//! A target may be hostile: a receiver bounds each record's size with [`LogRecord::bounded`], and removes characters
//! that a terminal would interpret with [`printable`] (docs/security-rules.md).

use minicbor::{Decode, Encode};

/// The importance of a line; a lower level is more important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum LogLevel {
    #[n(0)]
    Error,
    #[n(1)]
    Warn,
    #[n(2)]
    Info,
    #[n(3)]
    Debug,
    #[n(4)]
    Trace,
}

/// One diagnostic line.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LogRecord {
    #[n(0)]
    pub level: LogLevel,
    /// The module that wrote it.
    #[n(1)]
    pub module: String,
    /// Never contains argument values, pillar, file contents, variables or passwords.
    #[n(2)]
    pub text: String,
}

/// The longest text of a record in bytes.
pub const MAX_TEXT: usize = 2048;
/// The longest name of a module in bytes.
pub const MAX_MODULE: usize = 64;

impl LogRecord {
    /// The record with its texts cut to [`MAX_TEXT`] and [`MAX_MODULE`].
    #[must_use]
    pub fn bounded(mut self) -> LogRecord {
        cut(&mut self.text, MAX_TEXT);
        cut(&mut self.module, MAX_MODULE);
        self
    }
}

fn cut(text: &mut String, limit: usize) {
    if text.len() > limit {
        let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
}

/// Returns the text on one line, without characters that a terminal interprets: control characters, and characters that
/// change the direction or the visibility of text.
pub fn printable(text: &str) -> String {
    let harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars()
        .map(|c| match c {
            '\n' | '\t' | '\r' => ' ',
            c if harmful(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_acts_on_nothing() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{9b}d\u{202e}é"), "a\u{fffd}[2Jb c\u{fffd}d\u{fffd}é");
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = "é".repeat(MAX_TEXT);
        let record = LogRecord { level: LogLevel::Info, module: "m".repeat(1000), text }.bounded();
        assert!(record.text.len() <= MAX_TEXT + '…'.len_utf8() && record.text.ends_with('…'));
        assert!(record.module.len() <= MAX_MODULE + '…'.len_utf8());
        assert!(LogLevel::Error < LogLevel::Trace);
    }
}
