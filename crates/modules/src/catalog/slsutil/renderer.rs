//! `slsutil.renderer`: a file or a text through a pipe of renderers.

use rocksalt_core::{Map, Value, json, yaml};
use serde::Deserialize;

use super::Function;
use crate::catalog::cp::source;
use crate::machine::{System, Template};
use crate::{Error, Result};

/// Renders a file or a text, and gives what comes of it: data, or a text.
///
/// ```text
/// rocksalt '*' slsutil.renderer salt://path/to/file
/// rocksalt '*' slsutil.renderer /path/to/file.jinja default_renderer=jinja
/// rocksalt '*' slsutil.renderer string='Hello, {{ name }}.' default_renderer=jinja name=world
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Renderer {
    /// `salt://…`, or a path on the target. A file that isn't there gives an empty map.
    #[serde(default)]
    path: Option<String>,
    /// The text, instead of a file.
    #[serde(default)]
    string: Option<String>,
    /// The renderers, unless the first line of the file names others: `#!jinja|yaml`.
    #[serde(default = "usual")]
    default_renderer: String,
    /// Variables for the template; `saltenv` also says which files `salt://` means.
    kwargs: Map,
}

fn usual() -> String {
    "jinja|yaml".into()
}

impl Function for Renderer {
    const NAME: &'static str = "slsutil.renderer";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let path = self.path.filter(|path| !path.is_empty());
        let given = self.string.filter(|text| !text.is_empty());
        let saltenv = self.kwargs.get("saltenv").map_or_else(|| "base".to_owned(), ToString::to_string);
        let nothing = || Ok(Value::Map(Map::new()));
        let (source, text) = match (path, given) {
            (None, None) => return Err(Error::arguments("Must pass path or string.")),
            (Some(_), Some(_)) => return Err(Error::arguments("Must not pass both path and string.")),
            (None, Some(text)) => (":string:".to_owned(), text),
            (Some(path), None) => match source::content(machine, &path, Some(&saltenv))? {
                None => return nothing(),
                Some(content) => match String::from_utf8(content) {
                    Ok(text) => (path, text),
                    Err(_) => return Err(Error::failed(format!("{path} is not UTF-8: it can't be rendered"))),
                },
            },
        };
        if text.trim().is_empty() {
            return nothing();
        }
        let (renderers, text) = pipe(&text, &self.default_renderer);
        let renderers: Vec<&str> = renderers.split('|').map(str::trim).filter(|name| !name.is_empty()).collect();
        // What makes data of a text comes last; what is before it makes texts of texts.
        let (last, before) = match renderers.split_last() {
            Some((last, before)) if matches!(name(last), "yaml" | "json" | "text") => (name(last), before),
            _ => ("text", &*renderers),
        };
        let mut rendered = text.to_owned();
        if !before.is_empty() {
            let template = Template {
                renderer: &before.join("|"),
                text: &rendered,
                source: &source,
                saltenv: &saltenv,
                context: self.kwargs,
            };
            rendered = machine.tree().render(&template)?;
        }
        data(last, rendered).map_err(|error| Error::failed(format!("Rendering {source} failed: {error}")))
    }
}

/// A renderer's name without what it is given: `jinja -v`.
fn name(renderer: &str) -> &str {
    renderer.split_whitespace().next().unwrap_or_default()
}

/// The renderers of a text, and the text without the line that names them.
fn pipe<'a>(text: &'a str, usual: &'a str) -> (&'a str, &'a str) {
    let line = text.lines().next().unwrap_or_default();
    match line.strip_prefix("#!") {
        // A script's first line is no pipe.
        Some(names) if !names.trim_start().starts_with('/') => {
            (names, text[line.len()..].trim_start_matches('\r').strip_prefix('\n').unwrap_or_default())
        }
        _ => (usual, text),
    }
}

fn data(renderer: &str, text: String) -> Result<Value, String> {
    let value = match renderer {
        "yaml" => yaml::parse(&text).map_err(|error| error.to_string())?,
        "json" => json::parse(&text).map_err(|error| error.to_string())?,
        _ => return Ok(Value::String(text)),
    };
    Ok(if value.truth() { value } else { Value::Map(Map::new()) })
}
