//! [`CompileInputs`]: everything that a compilation depends on besides the files themselves.

use std::rc::Rc;

use rocksalt_core::Map;

use crate::functions::{Decryptor, TemplateFunctions};
use crate::sources::FileSources;

/// The machine, its configuration and the functions it may use.
#[derive(Clone)]
pub struct CompileInputs<'a> {
    pub id: &'a str,
    /// The minion's configuration: `opts` in templates, and the compiler's own options.
    pub options: &'a Map,
    pub grains: &'a Map,
    pub pillar: &'a Map,
    /// Shared, since templates and functions hold it.
    pub sources: Rc<dyn FileSources>,
    pub functions: Rc<dyn TemplateFunctions>,
    pub decrypt: &'a dyn Decryptor,
    /// The machine for the filters that read it, the clock or random numbers.
    pub machine: Option<Rc<dyn rocksalt_jinja::TemplateMachine>>,
    /// The one requested environment; `None` means all of them, as in the top file.
    pub saltenv: Option<&'a str>,
    pub pillarenv: Option<&'a str>,
}
