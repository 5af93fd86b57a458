//! [`CompileInputs`]: everything that a compilation depends on besides the files themselves.

use std::rc::Rc;

use rocksalt_core::Map;

use crate::functions::{Decryptor, TemplateFunctions};
use crate::sources::FileSources;

/// The machine, its configuration and what it may use.
#[derive(Clone)]
pub struct CompileInputs<'a> {
    pub id: &'a str,
    /// The minion's configuration: `opts` in templates, and the compiler's own options.
    pub options: &'a Map,
    pub grains: &'a Map,
    pub pillar: &'a Map,
    /// Shared, as templates hold on to them, and so do the functions.
    pub sources: Rc<dyn FileSources>,
    pub functions: Rc<dyn TemplateFunctions>,
    pub decrypt: &'a dyn Decryptor,
    /// For the filters of templates that look at the machine, the clock or random numbers.
    pub machine: Option<Rc<dyn rocksalt_jinja::TemplateMachine>>,
    /// The one environment that is asked for; none: all of them, by the top file.
    pub saltenv: Option<&'a str>,
    pub pillarenv: Option<&'a str>,
}
