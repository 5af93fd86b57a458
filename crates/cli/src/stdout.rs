//! Standard output, whose reader may close it at any time.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line. If the reader has closed the pipe, the program ends without an error.
pub fn write_line(text: Arguments<'_>) {
    if writeln!(std::io::stdout(), "{text}").is_err() {
        std::process::exit(0);
    }
}

/// Prints like `println!`, which would panic when `| head` closes the pipe.
macro_rules! print_line {
    ($($words:tt)*) => { $crate::stdout::write_line(format_args!($($words)*)) };
}

pub(crate) use print_line;
