//! `slsutil.renderer`: renders a file or a text with a pipe of renderers.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use crate::catalog::cp::source;
use crate::machine::{System, Template};
use crate::{Error, Result};

/// Renders a file or a text, and returns what comes of it: data, or a text.
///
/// ```text
/// rocksalt '*' slsutil.renderer salt://path/to/file
/// rocksalt '*' slsutil.renderer /path/to/file.jinja default_renderer=jinja
/// rocksalt '*' slsutil.renderer string='Hello, {{ name }}.' default_renderer=jinja name=world
/// ```
#[function("slsutil.renderer", changes)]
pub struct Renderer {
    /// `salt://…`, or a path on the target. A file that isn't there gives an empty map.
    path: Option<String>,
    /// The text, instead of a file.
    string: Option<String>,
    /// The renderers, unless the first line of the file names others: `#!jinja|yaml`.
    #[default("jinja|yaml")]
    default_renderer: String,
    /// Variables for the template; `saltenv` also says which files `salt://` means.
    kwargs: Map,
}

impl Function for Renderer {
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
        let template = Template {
            renderer: &self.default_renderer,
            text: &text,
            source: &source,
            saltenv: &saltenv,
            context: self.kwargs,
        };
        machine.templates().render_data(&template)
    }
}
