//! Plain columns for lists.

use crate::stdout::print_line;

/// Prints rows under a heading; the last column is not padded.
pub fn print<const N: usize>(heading: [&str; N], rows: impl Iterator<Item = [String; N]>) {
    let rows: Vec<[String; N]> = rows.collect();
    let mut widths = heading.map(|word| word.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        print_line!("{}", cells.join("  ").trim_end());
    };
    line(heading);
    for row in &rows {
        line(row.each_ref().map(String::as_str));
    }
}
