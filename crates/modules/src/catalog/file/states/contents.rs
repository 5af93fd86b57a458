//! The content of a file, from `contents` and similar arguments.

use rocksalt_core::{Map, Value};

use super::{Verdict, lines};
use crate::machine::{Probe, Template};

/// The arguments that define the content.
pub struct Contents<'a> {
    pub contents: &'a Value,
    pub contents_pillar: &'a Value,
    pub contents_grains: &'a Value,
    pub contents_delimiter: &'a str,
    pub contents_newline: bool,
    pub allow_empty: bool,
}

/// Text, or bytes that are not UTF-8.
pub enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl Contents<'_> {
    /// The number of given arguments.
    pub fn count(&self) -> usize {
        [self.contents, self.contents_pillar, self.contents_grains].iter().filter(|value| !value.is_null()).count()
    }

    /// The content; `None` if no argument defines it, a verdict if an argument is invalid.
    pub fn read(&self, machine: &dyn Probe) -> Result<Option<TextOrBytes>, Verdict> {
        let (value, what) = if !self.contents_pillar.is_null() {
            let pillar = machine.pillar().map_err(|error| Verdict::bad(error.to_string()))?;
            (
                self.looked_up(&pillar, self.contents_pillar, "Pillar")?,
                format!("contents_pillar {}", self.contents_pillar),
            )
        } else if !self.contents_grains.is_null() {
            let grains = machine.grains();
            (
                self.looked_up(&grains, self.contents_grains, "Grain")?,
                format!("contents_grains {}", self.contents_grains),
            )
        } else if self.contents.is_null() {
            return Ok(None);
        } else {
            (self.contents.clone(), "'contents'".to_owned())
        };
        if !self.allow_empty && !value.truth() {
            return Err(Verdict::bad(format!(
                "{what} value would result in empty contents. Set allow_empty to True to allow the managed file to be \
                 empty."
            )));
        }
        let parts: Vec<String> = match value {
            Value::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => vec![text],
                Err(error) => return Ok(Some(TextOrBytes::Bytes(error.into_bytes()))),
            },
            Value::List(items) => items.iter().map(ToString::to_string).collect(),
            other => vec![other.to_string()],
        };
        if parts.is_empty() {
            return Err(Verdict::bad(
                "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, \
                 and is not binary data. SLS is likely malformed.",
            ));
        }
        let mut text: String = parts.iter().flat_map(|part| lines::bare(part)).flat_map(|line| [line, "\n"]).collect();
        if !self.contents_newline {
            text.truncate(text.trim_end_matches('\n').trim_end_matches('\r').len());
        }
        Ok(Some(TextOrBytes::Text(text)))
    }

    fn looked_up(&self, data: &Map, path: &Value, what: &str) -> Result<Value, Verdict> {
        let one = |path: &Value| {
            lookup(data, &path.to_string(), self.contents_delimiter)
                .ok_or_else(|| Verdict::bad(format!("{what} {path} does not exist")))
        };
        match path {
            Value::List(paths) => {
                let found: Result<Vec<String>, Verdict> = paths.iter().map(|path| Ok(one(path)?.to_string())).collect();
                Ok(found?.join("\n").into())
            }
            path => one(path).cloned(),
        }
    }
}

/// A value by its path of keys.
pub fn lookup<'a>(data: &'a Map, path: &str, delimiter: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once(delimiter).map_or((path, None), |(first, rest)| (first, Some(rest)));
    let found = data.get(first)?;
    rest.map_or(Some(found), |rest| found.walk(rest, delimiter))
}

/// `defaults`, with `context` over them.
pub fn variables(defaults: &Value, context: &Value) -> Map {
    let mut variables = defaults.as_map().cloned().unwrap_or_default();
    variables.extend(context.as_map().cloned().unwrap_or_default());
    variables
}

/// Renders a text; returns Salt's message if that fails.
pub fn render(
    machine: &dyn Probe,
    renderer: &str,
    text: &str,
    source: &str,
    saltenv: &str,
    context: Map,
) -> Result<String, String> {
    if renderer != "jinja" {
        return Err(format!("Specified template format {renderer} is not supported"));
    }
    let template = Template { renderer, text, source, saltenv, context };
    machine.templates().render(&template).map_err(|error| error.to_string())
}
