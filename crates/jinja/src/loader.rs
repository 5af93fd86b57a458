//! [`TemplateLoader`]: loads the templates that templates import.

use std::collections::HashMap;
use std::rc::Rc;

use crate::value::Value;

pub trait TemplateLoader {
    /// The template `name`, asked for by the template `parent`; `None` if there is none. An error is why it can't be read.
    fn load(&self, name: &str, parent: Option<&str>) -> Result<Option<LoadedTemplate>, String>;

    /// Asked behind a load: what a template that is imported without context sees in place of the importer's names.
    /// `None`: it sees where it is itself.
    fn variables(&self) -> Option<Vec<(&'static str, Value)>> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct LoadedTemplate {
    /// The name under which it is known, whatever the way it was asked for.
    pub name: String,
    pub source: Rc<str>,
}

/// Templates in memory.
impl TemplateLoader for HashMap<String, String> {
    fn load(&self, name: &str, _parent: Option<&str>) -> Result<Option<LoadedTemplate>, String> {
        Ok(self.get(name).map(|source| LoadedTemplate { name: name.to_owned(), source: source.as_str().into() }))
    }
}
