//! [`RenderOutput`]: the rendered text, and the template line that each part came from.

use std::rc::Rc;

use crate::ast::{ParsedTemplate, Span};
use crate::error::{Error, Result};

pub struct RenderOutput {
    pub text: String,
    limit: usize,
    map: Option<SourceMap>,
}

struct SourceMap {
    template: Rc<ParsedTemplate>,
    /// For each piece: its start in the output, its place in the template, and whether it was copied literally.
    pieces: Vec<(usize, u32, bool)>,
}

impl RenderOutput {
    pub fn new(limit: usize) -> RenderOutput {
        RenderOutput { text: String::new(), limit, map: None }
    }

    /// Creates an output that records which line of this template each piece came from.
    pub fn mapped(limit: usize, template: Rc<ParsedTemplate>) -> RenderOutput {
        RenderOutput { text: String::new(), limit, map: Some(SourceMap { template, pieces: Vec::new() }) }
    }

    pub fn check(&self) -> Result<()> {
        if self.text.len() > self.limit {
            return Err(Error::limit(format!("the output is larger than {} bytes", self.limit)));
        }
        Ok(())
    }

    /// Records where the next piece comes from.
    pub fn mark(&mut self, template: &Rc<ParsedTemplate>, span: Span, copied: bool) {
        if let Some(map) = &mut self.map
            && Rc::ptr_eq(&map.template, template)
        {
            map.pieces.push((self.text.len(), span.start, copied));
        }
    }

    /// Removes everything after a position.
    pub fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
        if let Some(map) = &mut self.map {
            map.pieces.retain(|(at, _, _)| *at < length);
        }
    }

    /// Returns the text, and the template's line for each of its lines.
    pub fn into_lines(self) -> (String, Vec<u32>) {
        let Some(map) = self.map else { return (self.text, Vec::new()) };
        let source = &map.template.source;
        let starts = std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1));
        let mut lines = Vec::new();
        let mut piece = 0;
        // Loops return to the same template lines many times, so line ends are indexed once.
        let ends: Vec<u32> = source.match_indices('\n').map(|(at, _)| at as u32).collect();
        let (mut line, mut last) = (0, 0);
        for start in starts.take_while(|start| *start < self.text.len() || *start == 0) {
            // If several pieces start at the same place, only the last one has text.
            while map.pieces.get(piece + 1).is_some_and(|(at, _, _)| *at <= start) {
                piece += 1;
            }
            let place = map.pieces.get(piece).map_or(0, |(at, place, copied)| {
                if *copied { place + start.saturating_sub(*at) as u32 } else { *place }
            });
            if place != last || line == 0 {
                line = ends.partition_point(|end| *end < place) as u32 + 1;
                last = place;
            }
            lines.push(line);
        }
        (self.text, lines)
    }
}
