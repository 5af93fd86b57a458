//! Jinja2 with Python's value semantics.

mod environment;
mod error;
mod loader;
mod options;

mod ast;
mod lexer;
mod parser;
mod place;
mod symbol;

mod evaluate;
mod scope;

mod arguments;
pub mod value;

mod filters;
mod format;
mod globals;
mod methods;
mod salt;
mod tests;

pub use arguments::FunctionArguments;
pub use environment::{Environment, FilterFunction, HostFilter, TestFunction};
pub use error::{Error, ErrorDetails, ErrorKind, Result};
pub use loader::{LoadedTemplate, TemplateLoader};
pub use options::{Options, RenderLimits};
pub use salt::TemplateMachine;
pub use scope::Scope;
pub use value::{Dict, MarkupText, ORDERED, PythonObject, PythonSet, UndefinedKind, Value};
