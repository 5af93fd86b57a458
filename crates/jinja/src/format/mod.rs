//! Python's formatting: `%`, `.format()`, and the specification language in `{:…}`.

mod brace;
mod number;
mod percent;
mod spec;

pub use brace::brace;
pub use number::fixed;
pub use percent::{ascii, percent};
