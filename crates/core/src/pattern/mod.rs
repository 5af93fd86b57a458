//! Python's patterns: [`glob`] is `fnmatch`, [`Pattern`] is `re`.

mod error;
mod flags;
pub mod glob;
mod python;
mod regex;
mod template;

pub use error::Error;
pub use flags::Flags;
pub use regex::Pattern;
pub use template::ReplacementTemplate;
