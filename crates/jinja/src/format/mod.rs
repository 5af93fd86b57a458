//! Python's ways to format: `%`, `.format()`, and the small language in `{:…}`.

mod brace;
mod number;
mod percent;
mod spec;

pub use brace::brace;
pub use number::fixed;
pub use percent::{ascii, percent};
