//! How results are printed.
//!
//! A new outputter is a file here and a line in [`open`].

use rocksalt_core::{Map, Value};

/// How a value becomes text.
pub trait Outputter {
    /// One target's result, as it arrives. Ends with a newline unless it is empty.
    fn one(&self, id: &str, value: &Value, style: &Style) -> String;

    /// All results at once (`--static`), in the roster's order.
    fn all(&self, results: &Map, style: &Style) -> String;
}

/// What the place it is printed to can show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub colours: bool,
    /// In characters; `None` if it isn't a terminal.
    pub width: Option<usize>,
    /// Salt's `--out-indent`; `None` means the outputter's own.
    pub indent: Option<usize>,
}
