//! Patterns as Salt's users know them, from Python: [`glob`] is its `fnmatch`, [`Pattern`] its `re`.

mod error;
mod flags;
pub mod glob;
mod python;
mod regex;
mod template;

pub use error::Error;
pub use flags::Flags;
pub use regex::Pattern;
pub use template::Template;
