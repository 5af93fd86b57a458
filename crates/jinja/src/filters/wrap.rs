//! The filter `wordwrap`, which works like Python's `textwrap`.

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::methods;
use crate::scope::Scope;
use crate::value::Value;

pub fn wordwrap(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let width = arguments.integer("width", 79)?;
    let break_long_words = arguments.flag("break_long_words", true)?;
    let wrapstring = arguments.optional("wrapstring")?.filter(|wrapstring| !wrapstring.is_none());
    let break_on_hyphens = arguments.flag("break_on_hyphens", true)?;
    arguments.finish()?;
    let wrapstring = match wrapstring {
        Some(text) => text.to_text()?,
        None => scope.environment().options().newline_sequence.clone(),
    };
    let Value::String(text) = &value else {
        value.must_be_defined()?;
        let message = format!("'{}' object has no attribute 'splitlines'", value.type_name());
        return Err(Error::exception("AttributeError", message));
    };
    let mut out: Vec<String> = Vec::new();
    for line in methods::lines(text, false) {
        if width <= 0 && !line.is_empty() {
            return Err(Error::value_error(format!("invalid width {width} (must be > 0)")));
        }
        scope.charge(1 + line.len() / 16)?;
        let lines = wrap(line, width as usize, break_long_words, break_on_hyphens);
        out.push(lines.join(&wrapstring));
    }
    let joined = out.join(&wrapstring);
    scope.check_size(joined.len())?;
    Ok(joined.into())
}

fn wrap(line: &str, width: usize, break_long_words: bool, break_on_hyphens: bool) -> Vec<String> {
    let mut chunks = chunks(line, break_on_hyphens);
    chunks.reverse();
    let blank = |chunk: &Vec<char>| chunk.iter().all(|c| methods::is_space(*c));
    let mut lines: Vec<String> = Vec::new();
    while !chunks.is_empty() {
        let mut current: Vec<Vec<char>> = Vec::new();
        let mut length = 0;
        // Only the first line may start with blanks.
        if chunks.last().is_some_and(blank) && !lines.is_empty() {
            chunks.pop();
        }
        while chunks.last().is_some_and(|chunk| length + chunk.len() <= width) {
            let Some(chunk) = chunks.pop() else { break };
            length += chunk.len();
            current.push(chunk);
        }
        if let Some(long) = chunks.last_mut()
            && long.len() > width
        {
            if break_long_words {
                let mut end = if width < 1 { 1 } else { width - length };
                if break_on_hyphens && long.len() > end {
                    // Breaks after a hyphen, unless only hyphens precede it.
                    let hyphen = long[..end].iter().rposition(|c| *c == '-').filter(|at| *at > 0);
                    if let Some(at) = hyphen.filter(|at| long[..*at].iter().any(|c| *c != '-')) {
                        end = at + 1;
                    }
                }
                let rest = long.split_off(end.min(long.len()));
                current.push(std::mem::replace(long, rest));
                if long.is_empty() {
                    chunks.pop();
                }
            } else if current.is_empty() {
                current.extend(chunks.pop());
            }
        }
        if current.last().is_some_and(blank) {
            current.pop();
        }
        if !current.is_empty() {
            lines.push(current.into_iter().flatten().collect());
        }
    }
    lines
}

/// Splits a line into words and blanks; words may also break after hyphens.
fn chunks(line: &str, break_on_hyphens: bool) -> Vec<Vec<char>> {
    let mut chunks: Vec<Vec<char>> = Vec::new();
    let chars: Vec<char> = line.chars().collect();
    let mut start = 0;
    for at in 0..chars.len() {
        let next = chars.get(at + 1);
        let boundary = match next {
            None => true,
            Some(next) => {
                let turns = methods::is_space(chars[at]) != methods::is_space(*next);
                let letter =
                    |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphabetic() || *c == '_');
                let is = |at: Option<usize>, wanted: char| at.and_then(|at| chars.get(at)) == Some(&wanted);
                let back = |steps: usize| at.checked_sub(steps);
                // A break is allowed between `ab-` or `a-b-` and `cd` or `c-d`.
                let before = letter(back(1)) && letter(back(2))
                    || letter(back(3)) && is(back(2), '-') && chars[at - 1].is_alphanumeric();
                let after =
                    letter(Some(at + 1)) && (letter(Some(at + 2)) || is(Some(at + 2), '-') && letter(Some(at + 3)));
                turns || (break_on_hyphens && chars[at] == '-' && before && after)
            }
        };
        if boundary {
            chunks.push(chars[start..=at].to_vec());
            start = at + 1;
        }
    }
    chunks
}
