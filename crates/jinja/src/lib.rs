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

pub use arguments::Arguments;
pub use environment::{Environment, Filter, HostFilter, Test};
pub use error::{Details, Error, ErrorKind, Result};
pub use loader::{Loaded, Loader};
pub use options::{Limits, Options};
pub use salt::Machine;
pub use scope::Scope;
pub use value::{Dict, ORDERED, Object, Set, Text, UndefinedKind, Value};
