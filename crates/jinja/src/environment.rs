//! [`Environment`]: options, globals, filters and tests, and the templates made with them.

use std::rc::Rc;

use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::options::Options;
use crate::scope::Scope;
use crate::value::Value;

/// `value | filter(…)`
pub type Filter = fn(&Scope<'_>, Value, Arguments) -> Result<Value>;
/// `value is test(…)`
pub type Test = fn(&Scope<'_>, Value, Arguments) -> Result<bool>;
/// A filter that holds something of the host.
pub type HostFilter = Rc<dyn Fn(&Scope<'_>, Value, Arguments) -> Result<Value>>;

pub struct Environment {
    options: Options,
}

impl Environment {
    pub fn new(options: Options) -> Environment {
        Environment { options }
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn set_loader(&mut self, _loader: Rc<dyn Loader>) {}

    pub fn set_global(&mut self, _name: &str, _value: Value) {}

    pub fn add_filter(&mut self, _name: &str, _filter: Filter) {}

    pub fn add_host_filter(&mut self, _name: &str, _filter: HostFilter) {}

    pub fn add_test(&mut self, _name: &str, _test: Test) {}

    /// A template's text, rendered.
    pub fn render_str(&self, source: &str, name: &str, context: &[(&str, Value)]) -> Result<String> {
        Ok(self.render_str_mapped(source, name, context)?.0)
    }

    /// The same, with the template's line that each line of the output came from.
    pub fn render_str_mapped(
        &self,
        _source: &str,
        _name: &str,
        _context: &[(&str, Value)],
    ) -> Result<(String, Vec<u32>)> {
        Err(Error::runtime("not yet"))
    }

    /// A template of the loader, rendered.
    pub fn render(&self, _name: &str, _context: &[(&str, Value)]) -> Result<String> {
        Err(Error::runtime("not yet"))
    }

    /// A bare expression's value.
    pub fn evaluate(&self, _expression: &str, _context: &[(&str, Value)]) -> Result<Value> {
        Err(Error::runtime("not yet"))
    }
}
