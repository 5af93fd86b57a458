//! The functions that every template has: `range`, `dict`, `namespace` and so on.

mod range;

pub use range::Range;
