//! Parses a configuration into [`Directive`]s: blocks, included files and settings, each checked.

use std::fmt;
use std::sync::Arc;

use super::raw_settings::RawSettings;
use super::words::ConfigLine;
use super::{keywords, words};

/// The maximum depth of included files; ssh has the same limit.
const DEPTH: usize = 16;

/// Reads the files that an `Include` names. A pattern without matches yields none.
pub type Read<'a> = &'a dyn Fn(&str) -> Vec<Included>;

/// An included file.
pub struct Included {
    /// Its path, for messages.
    pub origin: String,
    /// The content, or the reason why it can't be read.
    pub text: Result<String, String>,
}

/// One directive and its place in the file.
#[derive(Clone, Debug)]
pub struct Directive {
    pub origin: DirectiveOrigin,
    pub kind: DirectiveKind,
}

#[derive(Clone, Debug)]
pub enum DirectiveKind {
    /// Begins a block for hosts that match the patterns.
    Host(Vec<String>),
    /// Begins a block for connections that meet every criterion.
    Match(Vec<Criterion>),
    /// The contents of each file.
    Include(Vec<Vec<Directive>>),
    Set(ConfigLine),
}

/// One condition of a `Match`.
#[derive(Clone, Debug)]
pub struct Criterion {
    pub negated: bool,
    pub name: String,
    /// Empty for `all`, `canonical` and `final`.
    pub patterns: String,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectiveOrigin {
    pub file: Arc<str>,
    pub line: usize,
}

impl fmt::Display for DirectiveOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A line that can't be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {text}")]
pub struct ConfigProblem {
    pub origin: DirectiveOrigin,
    pub text: String,
}

/// All directives of a file; errors are added to `problems`.
pub fn directives(
    text: &str,
    file: &str,
    read: Read<'_>,
    depth: usize,
    problems: &mut Vec<ConfigProblem>,
) -> Vec<Directive> {
    let file: Arc<str> = file.into();
    let mut parsed = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let origin = DirectiveOrigin { file: file.clone(), line: number + 1 };
        let line = match words::line(text) {
            Ok(None) => continue,
            Ok(Some(line)) => line,
            Err(text) => {
                problems.push(ConfigProblem { origin, text });
                continue;
            }
        };
        let kind = match line.keyword.as_str() {
            "host" => Ok(DirectiveKind::Host(line.arguments)),
            "match" => criteria(&line.arguments).map(DirectiveKind::Match),
            "include" if depth >= DEPTH => Err(format!("files include each other more than {DEPTH} deep")),
            "include" => Ok(DirectiveKind::Include(included(&line.arguments, read, depth, &origin, problems))),
            _ => setting(line),
        };
        match kind {
            Ok(kind) => parsed.push(Directive { origin, kind }),
            Err(text) => problems.push(ConfigProblem { origin, text }),
        }
    }
    parsed
}

fn included(
    patterns: &[String],
    read: Read<'_>,
    depth: usize,
    origin: &DirectiveOrigin,
    problems: &mut Vec<ConfigProblem>,
) -> Vec<Vec<Directive>> {
    let mut files = Vec::new();
    for found in patterns.iter().flat_map(|pattern| read(pattern)) {
        match found.text {
            Ok(text) => files.push(directives(&text, &found.origin, read, depth + 1, problems)),
            Err(why) => problems.push(ConfigProblem {
                origin: origin.clone(),
                text: format!("cannot read the included {}: {why}", found.origin),
            }),
        }
    }
    files
}

/// Sets the value on empty settings, so that an invalid value is found even in a block that isn't used.
fn setting(line: ConfigLine) -> Result<DirectiveKind, String> {
    if keywords::treatment(&line.keyword) == Some(keywords::Treatment::Supported) {
        RawSettings::default().set(&line, "").map_err(|why| format!("{}: {why}", line.written))?;
    }
    Ok(DirectiveKind::Set(line))
}

fn criteria(arguments: &[String]) -> Result<Vec<Criterion>, String> {
    let mut criteria: Vec<Criterion> = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let (word, inline) = match word.split_once('=') {
            Some((word, value)) => (word, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let negated = word.starts_with('!');
        let name = word.trim_start_matches('!').to_ascii_lowercase();
        let patterns = match name.as_str() {
            "all" | "canonical" | "final" => String::new(),
            "exec" | "host" | "localnetwork" | "localuser" | "originalhost" | "tagged" | "user" | "version"
            | "sessiontype" | "command" => match inline.or_else(|| arguments.next().cloned()) {
                Some(patterns) => patterns,
                None => return Err(format!("'Match {name}' has no value")),
            },
            _ => return Err(format!("'Match {name}' is not known")),
        };
        criteria.push(Criterion { negated, name, patterns });
    }
    if criteria.is_empty() {
        return Err("'Match' has no condition".to_owned());
    }
    if let Some(place) = criteria.iter().position(|criterion| criterion.name == "all") {
        let alone = criteria.iter().take(place).all(|before| matches!(before.name.as_str(), "canonical" | "final"));
        if !alone || place > 1 || place + 1 < criteria.len() || criteria[place].negated {
            return Err("'all' cannot stand with other conditions".to_owned());
        }
    }
    Ok(criteria)
}
