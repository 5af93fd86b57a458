//! Renders files while copying them, and paths that are templates.

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::source::{self, ContentSource};
use super::{Function, fetch};
use crate::machine::{System, Template};
use crate::{Error, Result};

/// Renders a file of the controller's tree to a path on the target and returns it; an empty text if there is none.
///
/// ```text
/// rocksalt '*' cp.get_template salt://path/to/template /srv/file port=80
/// ```
#[function("cp.get_template", changes)]
pub struct GetTemplate {
    /// `salt://…`
    path: String,
    /// The path on the target, or a directory.
    dest: String,
    /// The template language.
    #[default("jinja")]
    template: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Create parent directories.
    makedirs: bool,
    /// Variables for the template.
    kwargs: Map,
}

impl Function for GetTemplate {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let Some(content) = source::content(machine, &self.path, self.saltenv.as_deref())? else {
            return Ok(String::new());
        };
        let text = String::from_utf8(content)
            .map_err(|_| Error::failed(format!("{} is not UTF-8: it can't be rendered", self.path)))?;
        let template = Template {
            renderer: &self.template,
            text: &text,
            source: &self.path,
            saltenv: &source::environment(machine, self.saltenv.as_deref())?,
            context: self.kwargs,
        };
        let rendered = machine.templates().render(&template)?;
        let from = ContentSource::parse(machine, &self.path, self.saltenv.as_deref())?;
        let dest = fetch::target(machine, &from, &self.dest, self.makedirs)?;
        machine.write(&dest, rendered.as_bytes(), None).map_err(|error| Error::io("write", &dest, &error))?;
        Ok(dest.to_string_lossy().into_owned())
    }
}

/// Renders a path that may be a template.
pub fn name(machine: &dyn System, text: &str, language: Option<&str>, saltenv: Option<&str>) -> Result<String> {
    let Some(renderer) = language.filter(|language| !language.is_empty()) else { return Ok(text.to_owned()) };
    let saltenv = source::environment(machine, saltenv)?;
    let template = Template { renderer, text, source: text, saltenv: &saltenv, context: Map::new() };
    machine.templates().render(&template)
}
