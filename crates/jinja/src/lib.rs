//! Jinja2 with Python's value semantics.

mod arguments;
mod environment;
mod error;
mod globals;
mod loader;
mod methods;
mod options;
mod scope;
pub mod value;

pub use arguments::Arguments;
pub use environment::{Environment, Filter, HostFilter, Test};
pub use error::{Details, Error, ErrorKind, Result};
pub use loader::{Loaded, Loader};
pub use options::{Limits, Options};
pub use scope::Scope;
pub use value::{Dict, Object, Set, Text, UndefinedKind, Value};
