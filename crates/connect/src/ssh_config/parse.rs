//! Text to [`Item`]s: blocks, included files and single settings, each checked.

use std::fmt;
use std::sync::Arc;

use super::found::Found;
use super::words::Line;
use super::{keywords, words};

/// A file within a file, at most so deep; ssh has the same limit.
const DEPTH: usize = 16;

/// Reads what `Include` names. A pattern that fits nothing gives nothing.
pub type Read<'a> = &'a dyn Fn(&str) -> Vec<Included>;

/// A file that an `Include` found.
pub struct Included {
    /// For messages: its path.
    pub origin: String,
    /// Or why it can't be read.
    pub text: Result<String, String>,
}

/// One thing that the configuration says, and where.
#[derive(Clone, Debug)]
pub struct Item {
    pub origin: Origin,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// A block begins, for hosts that fit the patterns.
    Host(Vec<String>),
    /// A block begins, for what fulfils every criterion.
    Match(Vec<Criterion>),
    /// The contents of each file.
    Include(Vec<Vec<Item>>),
    Set(Line),
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
pub struct Origin {
    pub file: Arc<str>,
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A line that can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {text}")]
pub struct Problem {
    pub origin: Origin,
    pub text: String,
}

/// All items; what is wrong is added to `problems`.
pub fn items(text: &str, file: &str, read: Read<'_>, depth: usize, problems: &mut Vec<Problem>) -> Vec<Item> {
    let file: Arc<str> = file.into();
    let mut items = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let origin = Origin { file: file.clone(), line: number + 1 };
        let line = match words::line(text) {
            Ok(None) => continue,
            Ok(Some(line)) => line,
            Err(text) => {
                problems.push(Problem { origin, text });
                continue;
            }
        };
        let what = match line.keyword.as_str() {
            "host" => Ok(What::Host(line.arguments)),
            "match" => criteria(&line.arguments).map(What::Match),
            "include" if depth >= DEPTH => Err(format!("files include each other more than {DEPTH} deep")),
            "include" => Ok(What::Include(included(&line.arguments, read, depth, &origin, problems))),
            _ => setting(line),
        };
        match what {
            Ok(what) => items.push(Item { origin, what }),
            Err(text) => problems.push(Problem { origin, text }),
        }
    }
    items
}

fn included(
    patterns: &[String],
    read: Read<'_>,
    depth: usize,
    origin: &Origin,
    problems: &mut Vec<Problem>,
) -> Vec<Vec<Item>> {
    let mut files = Vec::new();
    for found in patterns.iter().flat_map(|pattern| read(pattern)) {
        match found.text {
            Ok(text) => files.push(items(&text, &found.origin, read, depth + 1, problems)),
            Err(why) => problems.push(Problem {
                origin: origin.clone(),
                text: format!("cannot read the included {}: {why}", found.origin),
            }),
        }
    }
    files
}

/// Tries the setting on nothing, so that a wrong value is found even in a block that isn't used.
fn setting(line: Line) -> Result<What, String> {
    if keywords::treatment(&line.keyword) == Some(keywords::Treatment::Honoured) {
        Found::default().set(&line, "").map_err(|why| format!("{}: {why}", line.written))?;
    }
    Ok(What::Set(line))
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
                None => return Err(format!("'Match {name}' says nothing to match")),
            },
            _ => return Err(format!("'Match {name}' is not known")),
        };
        criteria.push(Criterion { negated, name, patterns });
    }
    if criteria.is_empty() {
        return Err("'Match' without a condition".to_owned());
    }
    if let Some(place) = criteria.iter().position(|criterion| criterion.name == "all") {
        let alone = criteria.iter().take(place).all(|before| matches!(before.name.as_str(), "canonical" | "final"));
        if !alone || place > 1 || place + 1 < criteria.len() || criteria[place].negated {
            return Err("'all' cannot stand with other conditions".to_owned());
        }
    }
    Ok(criteria)
}
