//! [`SourceFiles`]: the files of a compilation, so that a small [`Spot`] can name a position in them.

use std::sync::Arc;

use crate::fault::{SlsFault, SourceLocation};

/// A position in one of the [`SourceFiles`]. It is only twelve bytes, since every argument has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    file: u32,
    /// 0 if unknown.
    line: u32,
    column: u32,
}

/// Every file that was rendered, in order.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles(Vec<SourceFile>);

#[derive(Clone, Debug)]
struct SourceFile {
    name: Arc<str>,
    source: Arc<[u8]>,
}

/// The number of characters of a long line shown on either side of the caret.
const EXCERPT_WIDTH: usize = 100;

impl SourceFiles {
    /// Adds a file; returns its number for [`Spot::new`].
    pub fn add(&mut self, name: impl Into<Arc<str>>, source: Arc<[u8]>) -> u32 {
        self.0.push(SourceFile { name: name.into(), source });
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    pub fn place(&self, spot: Spot) -> Option<SourceLocation> {
        let file = self.0.get(spot.file as usize)?;
        let column = (spot.column > 0).then_some(spot.column);
        (spot.line > 0).then(|| SourceLocation { file: file.name.clone(), line: spot.line, column })
    }

    /// Creates a fault at this position, with an excerpt.
    pub fn fault(&self, spot: Spot, text: impl Into<String>) -> SlsFault {
        SlsFault { place: self.place(spot), excerpt: self.excerpt(spot), ..SlsFault::new(text) }
    }

    fn excerpt(&self, spot: Spot) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0.get(spot.file as usize)?.source);
        excerpt(&text, spot.line, spot.column)
    }
}

impl Spot {
    pub fn new(file: u32, line: usize, column: usize) -> Spot {
        let small = |number: usize| u32::try_from(number).unwrap_or(0);
        Spot { file, line: small(line), column: small(column) }
    }

    pub fn line(self) -> u32 {
        self.line
    }
}

/// Shows a line of a text with its number, and a caret below it if the column is known.
pub fn excerpt(text: &str, line: u32, column: u32) -> Option<String> {
    let content = text.lines().nth((line as usize).checked_sub(1)?)?.trim_end();
    let at = (column as usize).saturating_sub(1);
    let skipped = at.saturating_sub(EXCERPT_WIDTH);
    // A tab would shift the caret.
    let shown: String =
        content.chars().skip(skipped).take(2 * EXCERPT_WIDTH).map(|c| if c == '\t' { ' ' } else { c }).collect();
    let margin = " ".repeat(line.to_string().len());
    let mut excerpt = format!("{margin} |\n{line} | {shown}");
    if column > 0 {
        excerpt += &format!("\n{margin} | {}^", " ".repeat(at - skipped));
    }
    Some(excerpt)
}
