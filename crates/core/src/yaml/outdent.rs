//! Indents lines inside brackets and quotes that PyYAML accepts and our parser doesn't.
//!
//! Salt's parser accepts any indentation there, and its `yaml` filter writes such lines when it folds a long map. They
//! are indented, which changes nothing else, and the text is parsed again.

use std::collections::HashMap;

use super::{Error, Node, NodeContent};

/// By how many columns lines were moved; lines count from 1.
pub(super) type Shifts = HashMap<usize, usize>;

const IN_QUOTES: &str = "invalid indentation in quoted scalar";

pub(super) fn is_cause(error: &Error) -> bool {
    error.message.starts_with("invalid indentation") && !error.message.ends_with("for anchor")
}

/// Returns the text with such lines moved, if that helps. `fault` parses a text and returns the error.
pub(super) fn repaired(text: &str, first: &Error, fault: impl Fn(&str) -> Option<Error>) -> Option<(String, Shifts)> {
    /// Each try parses the whole text again.
    const TRIES: usize = 50;
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let mut shifts = Shifts::new();
    let mut error = first.clone();
    for _ in 0..TRIES {
        // The error's position is the start of a quoted text, but in brackets it is the line with too little
        // indentation.
        let (from, state) = if error.message == IN_QUOTES {
            let line = error.place.line.checked_sub(1)?;
            let start: String = lines.get(line)?.chars().skip(error.place.column - 1).collect();
            (line + 1, OutdentState::default().after(&start))
        } else {
            let line = error.place.line.checked_sub(1)?;
            // The search is limited, since it would otherwise be quadratic.
            let earliest = line.saturating_sub(1000);
            (line, (earliest..line).rev().find_map(|start| opened(&lines[start..line]))?)
        };
        let by = lines[..from].last().map_or(0, |line| line.len()) + 1;
        let by = by.min(200);
        let to = end(&lines, from, state)?;
        for (index, line) in lines.iter_mut().enumerate().take(to).skip(from) {
            if !line.trim().is_empty() {
                line.insert_str(0, &" ".repeat(by));
                *shifts.entry(index + 1).or_default() += by;
            }
        }
        let moved = lines.join("\n");
        match fault(&moved) {
            None => return Some((moved, shifts)),
            Some(next) if is_cause(&next) => error = next,
            Some(_) => return None,
        }
    }
    None
}

/// The state after some lines, if brackets or quotes are open and no bracket was closed that was opened before.
fn opened(lines: &[String]) -> Option<OutdentState> {
    let mut state = OutdentState::default();
    for line in lines {
        state = state.after(line);
        if state.depth < 0 {
            return None;
        }
    }
    state.is_open().then_some(state)
}

/// The first line that starts outside of the open brackets and quotes.
fn end(lines: &[String], from: usize, mut state: OutdentState) -> Option<usize> {
    for (index, line) in lines.iter().enumerate().skip(from) {
        if !state.is_open() {
            return Some(index);
        }
        state = state.after(line);
    }
    (!state.is_open()).then_some(lines.len())
}

/// The open brackets and quotes at a position.
#[derive(Clone, Copy, Default)]
struct OutdentState {
    depth: i32,
    quote: Option<char>,
}

impl OutdentState {
    fn is_open(self) -> bool {
        self.depth > 0 || self.quote.is_some()
    }

    fn after(mut self, line: &str) -> OutdentState {
        let mut before = ' ';
        let mut characters = line.chars().peekable();
        while let Some(c) = characters.next() {
            match (self.quote, c) {
                (Some('"'), '\\') => drop(characters.next()),
                (Some('\''), '\'') if characters.peek() == Some(&'\'') => drop(characters.next()),
                (Some(quote), c) if c == quote => self.quote = None,
                (Some(_), _) => {}
                // Within a word, a quote is an ordinary character.
                (None, '"' | '\'') if before.is_whitespace() || "[{,:-!".contains(before) => self.quote = Some(c),
                (None, '#') if before.is_whitespace() => break,
                (None, '[' | '{') => self.depth += 1,
                (None, ']' | '}') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        // Text after the outermost bracket doesn't matter.
                        return self;
                    }
                }
                _ => {}
            }
            before = c;
        }
        self
    }
}

/// Restores the original columns.
pub(super) fn original_places(node: &mut Node, shifts: &Shifts) {
    if let Some(by) = shifts.get(&node.place.line) {
        node.place.column = node.place.column.saturating_sub(*by).max(1);
    }
    match &mut node.content {
        NodeContent::Scalar(_) => {}
        NodeContent::List(items) => items.iter_mut().for_each(|item| original_places(item, shifts)),
        NodeContent::Map(pairs) => pairs.iter_mut().for_each(|(key, value)| {
            original_places(key, shifts);
            original_places(value, shifts);
        }),
    }
}
