//! [`TemplateLoader`]: loads the templates that templates import.

use std::collections::HashMap;
use std::rc::Rc;

use crate::value::Value;

pub trait TemplateLoader {
    /// Loads the template `name` for the template `parent`; `None` if it doesn't exist, an error if it can't be read.
    fn load(&self, name: &str, parent: Option<&str>) -> Result<Option<LoadedTemplate>, String>;

    /// The variables that name the place of the template that was just loaded (`tplfile` and so on), if it is imported
    /// without context. With `None` they are derived from its name.
    fn variables(&self) -> Option<Vec<(&'static str, Value)>> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct LoadedTemplate {
    /// The template's canonical name, however it was requested.
    pub name: String,
    pub source: Rc<str>,
}

/// Serves templates from memory.
impl TemplateLoader for HashMap<String, String> {
    fn load(&self, name: &str, _parent: Option<&str>) -> Result<Option<LoadedTemplate>, String> {
        Ok(self.get(name).map(|source| LoadedTemplate { name: name.to_owned(), source: source.as_str().into() }))
    }
}
