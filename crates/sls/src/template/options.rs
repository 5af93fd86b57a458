//! Jinja's options: from `jinja_env` and `jinja_sls_env` in the configuration, and from a file's `#jinja2:` line.

use rocksalt_core::{Map, Value};
use rocksalt_jinja::{Options, UndefinedKind};

use crate::options::switch;

/// The options for a file without such a line.
pub(super) fn options(configuration: &Map, is_sls: bool) -> Options {
    let mut options = Options::salt();
    // These are the old names of two options.
    options.trim_blocks = switch(configuration, "jinja_trim_blocks");
    options.lstrip_blocks = switch(configuration, "jinja_lstrip_blocks");
    if switch(configuration, "allow_undefined") {
        options.undefined = UndefinedKind::Lenient;
    }
    let name = if is_sls { "jinja_sls_env" } else { "jinja_env" };
    for (key, value) in configuration.get(name).and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        // As in Salt, names that Jinja doesn't know are ignored.
        options.set(&key.to_string().to_lowercase(), value);
    }
    options
}

/// Whether the text contains template syntax.
pub(super) fn has_code(source: &str, options: &Options) -> bool {
    options.line_statement_prefix.is_some()
        || options.line_comment_prefix.is_some()
        || options.newline_sequence != "\n"
        || [&options.block_start, &options.variable_start, &options.comment_start]
            .into_iter()
            .any(|start| source.contains(start.as_str()))
}

/// The line `#jinja2: {…}` at the top of a file, or below its shebang.
pub(super) struct JinjaHeader {
    pub options: Options,
    /// The text without that line.
    pub rest: String,
    /// The number of the line, from 1.
    pub line: u32,
}

impl JinjaHeader {
    pub fn read(source: &str, defaults: &Options) -> Option<JinjaHeader> {
        let (options, rest) = defaults.of_file(source)?;
        Some(JinjaHeader { options, rest, line: if source.starts_with("#!") { 2 } else { 1 } })
    }

    /// Maps a line of the rest to a line of the file.
    pub fn original(&self, line: u32) -> u32 {
        if line >= self.line { line + 1 } else { line }
    }

    pub fn line_map(&self, lines: usize) -> Vec<u32> {
        (1..=u32::try_from(lines).unwrap_or(u32::MAX)).map(|line| self.original(line)).collect()
    }
}
