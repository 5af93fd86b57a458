//! How templates are read: the configuration's `jinja_env` and `jinja_sls_env`, and a file's own `#jinja2:` line.

use rocksalt_core::{Map, Value, json};
use rocksalt_jinja::{Options, UndefinedKind};

use crate::setting::switch;

pub(super) fn options(configuration: &Map, is_sls: bool, header: &Map) -> Options {
    let mut options = Options::salt();
    // Old names of two of them.
    options.trim_blocks = switch(configuration, "jinja_trim_blocks");
    options.lstrip_blocks = switch(configuration, "jinja_lstrip_blocks");
    if switch(configuration, "allow_undefined") {
        options.undefined = UndefinedKind::Lenient;
    }
    let name = if is_sls { "jinja_sls_env" } else { "jinja_env" };
    let configured = configuration.get(name).and_then(Value::as_map);
    for (key, value) in configured.into_iter().flat_map(Map::iter).chain(header.iter()) {
        set(&mut options, &key.to_string().to_lowercase(), value);
    }
    options
}

/// Names that Jinja doesn't know are ignored, as in Salt.
fn set(options: &mut Options, name: &str, value: &Value) {
    let text = || value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let place = match name {
        "trim_blocks" => return options.trim_blocks = value.truth(),
        "lstrip_blocks" => return options.lstrip_blocks = value.truth(),
        "line_statement_prefix" => return options.line_statement_prefix = text(),
        "line_comment_prefix" => return options.line_comment_prefix = text(),
        "block_start_string" => &mut options.block_start,
        "block_end_string" => &mut options.block_end,
        "variable_start_string" => &mut options.variable_start,
        "variable_end_string" => &mut options.variable_end,
        "comment_start_string" => &mut options.comment_start,
        "comment_end_string" => &mut options.comment_end,
        "newline_sequence" => &mut options.newline_sequence,
        _ => return,
    };
    if let Some(text) = text() {
        *place = text;
    }
}

/// Whether there is anything to be done: most of a tree's lines are plain.
pub(super) fn has_code(source: &str, options: &Options) -> bool {
    options.line_statement_prefix.is_some()
        || options.line_comment_prefix.is_some()
        || options.newline_sequence != "\n"
        || [&options.block_start, &options.variable_start, &options.comment_start]
            .into_iter()
            .any(|start| source.contains(start.as_str()))
}

/// A line `#jinja2: {…}` at the top of a file, or below its shebang.
pub(super) struct Header {
    pub options: Map,
    /// The file without it.
    pub rest: String,
    /// Which line it was, from 1.
    pub line: u32,
}

impl Header {
    /// What is no JSON object is a comment.
    pub fn read(source: &str) -> Option<Header> {
        let has_shebang = source.starts_with("#!") && !source.starts_with("#!/");
        let start = if has_shebang { source.find('\n')? + 1 } else { 0 };
        let line = source[start..].split_inclusive('\n').next()?;
        let payload = line.strip_prefix("#jinja2:")?;
        let Ok(Value::Map(options)) = json::parse(payload) else { return None };
        let rest = format!("{}{}", &source[..start], &source[start + line.len()..]);
        Some(Header { options, rest, line: if has_shebang { 2 } else { 1 } })
    }

    /// The line in the file of a line of the rest.
    pub fn original(&self, line: u32) -> u32 {
        if line >= self.line { line + 1 } else { line }
    }

    pub fn line_map(&self, lines: usize) -> Vec<u32> {
        (1..=u32::try_from(lines).unwrap_or(u32::MAX)).map(|line| self.original(line)).collect()
    }
}
