//! What can be done to a machine, and how to look at it.
//!
//! [`catalog`] has a file for each noun; whatever it does to the machine goes through [`machine`].

pub mod catalog;
#[cfg(feature = "docs")]
pub mod docs;
pub mod grains;
pub mod machine;

pub mod text;

mod error;

pub use error::{Error, Result, reason};
