//! The rules by which `file.line` finds the position of a line; all of them pure.

use rocksalt_core::pattern::{Flags, Pattern};

use super::edit;

/// A line, and its requested position.
pub struct LineEdit<'a> {
    pub content: &'a str,
    pub wanted: Option<&'a str>,
    pub mode: LineMode,
    pub location: Option<&'a str>,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
    pub indent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LineMode {
    Delete,
    Ensure,
    Insert,
    Replace,
}

impl LineMode {
    pub fn read(name: &str) -> Option<LineMode> {
        match name {
            "delete" => Some(LineMode::Delete),
            "ensure" => Some(LineMode::Ensure),
            "insert" => Some(LineMode::Insert),
            "replace" => Some(LineMode::Replace),
            _ => None,
        }
    }
}

impl LineEdit<'_> {
    /// The edited lines with their ends; Salt's text if the request is invalid.
    pub fn edit(&self, old: &str) -> Result<Vec<String>, String> {
        let mut lines: Vec<String> = edit::lines(old).into_iter().map(str::to_owned).collect();
        if lines.last().is_some_and(|last| !ending(last).is_empty()) {
            lines.push(String::new());
        }
        if old.is_empty() && matches!(self.mode, LineMode::Delete | LineMode::Replace) {
            lines.clear();
        }
        let mut lines = self.placed(lines)?;
        // Lines without an end get the one of a neighbour.
        for index in 0..lines.len().saturating_sub(1) {
            if ending(&lines[index]).is_empty() {
                let like = if index > 1 { index - 1 } else { usize::from(index != 1) };
                lines[index] = ended(&lines[like.min(lines.len() - 1)], &lines[index]);
            }
        }
        if lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Ok(lines)
    }

    fn placed(&self, mut lines: Vec<String>) -> Result<Vec<String>, String> {
        let unsaid = self.before.is_none() && self.after.is_none();
        let wanted = match self.wanted.filter(|wanted| !wanted.is_empty()) {
            None if unsaid => Some(self.content),
            wanted => wanted,
        };
        let after = matching(&lines, self.after)?;
        let before = matching(&lines, self.before)?;
        let wanted = matching(&lines, wanted)?;
        match self.mode {
            LineMode::Delete | LineMode::Replace if lines.is_empty() => {}
            LineMode::Delete => {
                if let Some(first) = wanted.as_ref().and_then(|found| found.first()) {
                    let gone = lines[*first].clone();
                    lines.retain(|line| *line != gone);
                }
            }
            LineMode::Replace => {
                if let Some(first) = wanted.as_ref().and_then(|found| found.first()) {
                    lines[*first] = self.indented(&lines[*first]);
                }
            }
            LineMode::Insert => self.insert(&mut lines, before.as_deref(), after.as_deref())?,
            LineMode::Ensure => self.ensure(&mut lines, before.as_deref(), after.as_deref())?,
        }
        Ok(lines)
    }

    fn insert(&self, lines: &mut Vec<String>, before: Option<&[usize]>, after: Option<&[usize]>) -> Result<(), String> {
        let location = self.location.filter(|location| !location.is_empty());
        if self.before.is_none() && self.after.is_none() && location.is_none() {
            return Err("On insert either \"location\" or \"before/after\" conditions are required.".into());
        }
        match location {
            Some("end") => {
                let line = lines.last().map_or_else(|| self.content.to_owned(), |last| self.indented(last));
                lines.push(line);
                return Ok(());
            }
            Some("start") => {
                let line =
                    lines.first().map_or_else(|| format!("{}\n", self.content), |first| ended(first, self.content));
                lines.insert(0, line);
                return Ok(());
            }
            Some(_) => return Ok(()),
            None => {}
        }
        match (some(before), some(after)) {
            (Some(before), Some(after)) => {
                let place = one(before, "before")?;
                one(after, "after")?;
                lines.insert(place, self.indented(&lines[place]));
            }
            (None, Some(after)) => {
                let place = one(after, "after")?;
                if lines.get(place + 1).is_none_or(|next| bare(next) != bare(self.content)) {
                    lines.insert(place + 1, self.indented(&lines[place]));
                }
            }
            (Some(before), None) => {
                let place = one(before, "before")?;
                // As in Python, index -1 is the last line.
                let previous = if place == 0 { lines.len() - 1 } else { place - 1 };
                if bare(&lines[previous]) != bare(self.content) {
                    lines.insert(place, self.indented(&lines[place]));
                }
            }
            (None, None) => return Err("Neither before or after was found in file".into()),
        }
        Ok(())
    }

    fn ensure(&self, lines: &mut Vec<String>, before: Option<&[usize]>, after: Option<&[usize]>) -> Result<(), String> {
        match (some(before), some(after)) {
            (Some(before), Some(after)) => {
                let after = one(after, "after")?;
                let before = one(before, "before")?;
                if lines.iter().any(|line| line.trim_start() == self.content) {
                    return Ok(());
                }
                if after + 1 == before {
                    lines.insert(after + 1, self.indented(&lines[after]));
                } else if after + 2 == before {
                    lines[after + 1] = self.indented(&lines[after]);
                } else {
                    return Err("Found more than one line between boundaries \"before\" and \"after\".".into());
                }
            }
            (Some(before), None) => {
                let place = one(before, "before")?;
                if place == 0 || bare(&lines[place - 1]) != bare(self.content) {
                    let like = if place == 0 { lines.len() - 1 } else { place - 1 };
                    lines.insert(place, self.indented(&lines[like]));
                }
            }
            (None, Some(after)) => {
                let place = one(after, "after")?;
                if lines.get(place + 1).is_none_or(|next| bare(next) != bare(self.content)) {
                    lines.insert(place + 1, self.indented(&lines[place]));
                }
            }
            (None, None) => {
                return Err("Wrong conditions? Unable to ensure line without knowing where to put it before and/or \
                            after."
                    .into());
            }
        }
        Ok(())
    }

    fn indented(&self, like: &str) -> String {
        if !self.indent {
            return self.content.to_owned();
        }
        let blanks: String = like.chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect();
        format!("{blanks}{}", self.content.trim_start())
    }
}

/// The lines that contain an expression, as a pattern or as text.
fn matching(lines: &[String], expression: Option<&str>) -> Result<Option<Vec<usize>>, String> {
    let Some(expression) = expression.filter(|expression| !expression.is_empty()) else { return Ok(None) };
    if lines.is_empty() {
        return Ok(None);
    }
    // Python's DOTALL.
    let pattern = Pattern::new(expression, Flags::from_bits(16)).map_err(|error| format!("{error}: '{expression}'"))?;
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.contains(expression) || pattern.matches(line).map_err(|error| error.to_string())? {
            found.push(index);
        }
    }
    Ok(Some(found))
}

fn some(found: Option<&[usize]>) -> Option<&[usize]> {
    found.filter(|found| !found.is_empty())
}

fn one(found: &[usize], name: &str) -> Result<usize, String> {
    match found {
        [place] => Ok(*place),
        _ => Err(format!("Found more than expected occurrences in \"{name}\" expression")),
    }
}

fn bare(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

fn ending(line: &str) -> &str {
    &line[bare_of_one_end(line).len()..]
}

fn bare_of_one_end(line: &str) -> &str {
    line.strip_suffix("\r\n").or_else(|| line.strip_suffix(['\n', '\r'])).unwrap_or(line)
}

/// A line with the line end of another.
fn ended(like: &str, line: &str) -> String {
    let end = ending(like);
    format!("{}{}", line.trim_end(), if end.is_empty() { "\n" } else { end })
}
