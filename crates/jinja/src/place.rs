//! Line and column of a position in a template.

use crate::ast::Span;
use crate::error::Error;

/// The number of lines shown on either side of a place.
const AROUND: u32 = 2;

/// The line of a byte, from 1.
pub fn line(source: &str, at: u32) -> u32 {
    let before = &source.as_bytes()[..(at as usize).min(source.len())];
    before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1
}

/// Adds the place to an error that has none.
#[cold]
pub fn locate(mut error: Error, file: &str, source: &str, span: Span) -> Error {
    if error.line > 0 {
        return error;
    }
    let start = (span.start as usize).min(source.len());
    let end = (span.end as usize).clamp(start, source.len());
    error.file = file.to_owned();
    error.line = line(source, span.start);
    let line_start = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
    error.column = source[line_start..start].chars().count() as u32 + 1;
    if end > start && end - start < 500 {
        error.expression = Some(source[start..end].to_owned());
    }
    let first = error.line.saturating_sub(AROUND).max(1);
    let count = (error.line - first + AROUND + 1) as usize;
    let lines = source.split('\n').skip(first as usize - 1).take(count).map(str::to_owned);
    error.excerpt = Some((first, lines.collect()));
    error
}
