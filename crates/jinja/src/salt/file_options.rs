//! Options in a template's first line, such as `#jinja2: {"trim_blocks": true}`.

use rocksalt_core::Value;

use crate::options::Options;

const HEADER: &str = "#jinja2:";

impl Options {
    /// Reads the options line of a template, if it has one; returns the options and the text without the line.
    ///
    /// The line may be the second one, below `#!jinja|yaml`. Unknown options are ignored. A line that isn't JSON is not
    /// an options line and stays in the text.
    pub fn of_file(&self, source: &str) -> Option<(Options, String)> {
        let first_end = source.find('\n').map_or(source.len(), |end| end + 1);
        let is_shebang = source.starts_with("#!") && !source.starts_with("#!/");
        let start = if is_shebang { first_end } else { 0 };
        let rest = source.get(start..)?;
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let header = rest[..end].strip_prefix(HEADER)?.trim();
        let settings = rocksalt_core::json::parse(header).ok()?;
        let mut options = self.clone();
        for (name, value) in settings.as_map()?.iter() {
            options.set(&name.as_str()?.to_lowercase(), value);
        }
        Some((options, format!("{}{}", &source[..start], &rest[end..])))
    }

    /// Sets an option by its name in Jinja2 and in Salt's `jinja_env`; false if the name is unknown or the type is
    /// wrong.
    pub fn set(&mut self, name: &str, value: &Value) -> bool {
        let flag = match name {
            "autoescape" => Some(&mut self.autoescape),
            "keep_trailing_newline" => Some(&mut self.keep_trailing_newline),
            "lstrip_blocks" => Some(&mut self.lstrip_blocks),
            "trim_blocks" => Some(&mut self.trim_blocks),
            _ => None,
        };
        if let Some(flag) = flag {
            *flag = value.truth();
            return true;
        }
        let prefix = match name {
            "line_comment_prefix" => Some(&mut self.line_comment_prefix),
            "line_statement_prefix" => Some(&mut self.line_statement_prefix),
            _ => None,
        };
        if let Some(prefix) = prefix {
            *prefix = value.as_str().map(str::to_owned);
            return true;
        }
        let text = match name {
            "block_end_string" => &mut self.block_end,
            "block_start_string" => &mut self.block_start,
            "comment_end_string" => &mut self.comment_end,
            "comment_start_string" => &mut self.comment_start,
            "newline_sequence" => &mut self.newline_sequence,
            "variable_end_string" => &mut self.variable_end,
            "variable_start_string" => &mut self.variable_start,
            _ => return false,
        };
        match value.as_str().filter(|text| !text.is_empty()) {
            Some(given) => *text = given.to_owned(),
            None => return false,
        }
        true
    }
}
