//! Standard output, where whoever reads it may go away at any time.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line. A reader that is gone wants no more: that ends the program, and is no error.
pub fn write_line(text: Arguments<'_>) {
    if writeln!(std::io::stdout(), "{text}").is_err() {
        std::process::exit(0);
    }
}

/// As `println!`, which would panic when `| head` has seen enough.
macro_rules! print_line {
    ($($words:tt)*) => { $crate::stdout::write_line(format_args!($($words)*)) };
}

pub(crate) use print_line;
