//! Parses compound targets: words, operators, parentheses and nodegroups.

use super::data::DELIMITER;
use super::{ConditionTree, Error, Nodegroups, TargetCondition, TargetKind};
use crate::nearest::hint;

/// The depth limit of parentheses, `not`s and nodegroups together.
const MAX_DEPTH: usize = 64;
/// The limit of targets in one expression; each use of a nodegroup counts again.
const MAX_PARTS: usize = 10_000;

/// The state that is kept while an expression is parsed.
pub(super) struct CompoundParser<'a> {
    nodegroups: &'a Nodegroups,
    /// Whether `I@` and `J@` compare exactly.
    pillar_exact: bool,
    /// Whether an invalid target matches nothing instead of being an error, as in Salt's top files.
    forgiving: bool,
    /// The nodegroups being expanded, outermost first.
    open: Vec<&'a str>,
    parts: usize,
}

impl<'a> CompoundParser<'a> {
    pub fn new(nodegroups: &'a Nodegroups, pillar_exact: bool, forgiving: bool) -> CompoundParser<'a> {
        CompoundParser { nodegroups, pillar_exact, forgiving, open: Vec::new(), parts: 0 }
    }

    pub fn text(&mut self, text: &str) -> Result<ConditionTree, Error> {
        let words: Vec<&str> = text.split_whitespace().collect();
        self.words(&words)
    }

    pub fn nodegroup(&mut self, name: &str) -> Result<ConditionTree, Error> {
        let nodegroups = self.nodegroups;
        let Some((name, words)) = nodegroups.names().find(|n| *n == name).zip(nodegroups.get(name)) else {
            return Err(Error::UnknownNodegroup { name: name.to_owned(), hint: hint(name, nodegroups.names()) });
        };
        if self.open.contains(&name) {
            let path: Vec<&str> = self.open.iter().copied().chain([name]).collect();
            return Err(Error::RecursiveNodegroup { name: name.to_owned(), path: path.join(" > ") });
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(Error::TooDeep(MAX_DEPTH));
        }
        self.open.push(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let group = if is_plain(&words) { self.plain_group(&words) } else { self.words(&words) };
        self.open.pop();
        group.map_err(|cause| match cause {
            Error::RecursiveNodegroup { .. } | Error::TooDeep(_) | Error::TooLarge(_) => cause,
            cause => Error::InNodegroup { name: name.to_owned(), cause: Box::new(cause) },
        })
    }

    /// Parses words without operators: ids, or regular expressions if one of them looks like one.
    fn plain_group(&mut self, words: &[&str]) -> Result<ConditionTree, Error> {
        if !words.iter().any(|word| word.contains(['(', '[', '{', '\\', '?', '}', ']', ')'])) {
            return self.leaf(TargetKind::List, &words.join(","), DELIMITER);
        }
        let regexes =
            words.iter().map(|word| self.leaf(TargetKind::Pcre, word, DELIMITER)).collect::<Result<_, _>>()?;
        Ok(ConditionTree::any(regexes))
    }

    fn words(&mut self, words: &[&str]) -> Result<ConditionTree, Error> {
        if words.is_empty() {
            return Err(Error::Empty);
        }
        let mut cursor = WordCursor { words, at: 0 };
        let tree = self.either(&mut cursor, MAX_DEPTH)?;
        match cursor.peek() {
            None => Ok(tree),
            Some(")") => Err(Error::Unopened { position: cursor.position() }),
            Some(word) => Err(Error::ExpectedOperator { word: word.to_owned(), position: cursor.position() }),
        }
    }

    fn either(&mut self, cursor: &mut WordCursor<'_>, depth: usize) -> Result<ConditionTree, Error> {
        let mut choices = vec![self.both(cursor, depth)?];
        while cursor.take("or") {
            choices.push(self.both(cursor, depth)?);
        }
        Ok(ConditionTree::any(choices))
    }

    fn both(&mut self, cursor: &mut WordCursor<'_>, depth: usize) -> Result<ConditionTree, Error> {
        let mut conditions = vec![self.single(cursor, depth)?];
        // As in Salt, `a not b` means `a and not b`.
        while cursor.take("and") || cursor.peek() == Some("not") {
            conditions.push(self.single(cursor, depth)?);
        }
        Ok(ConditionTree::all(conditions))
    }

    fn single(&mut self, cursor: &mut WordCursor<'_>, depth: usize) -> Result<ConditionTree, Error> {
        let depth = depth.checked_sub(1).ok_or(Error::TooDeep(MAX_DEPTH))?;
        let position = cursor.position();
        let Some(word) = cursor.next() else {
            return Err(Error::UnfinishedAfter { word: cursor.last().to_owned() });
        };
        match word {
            "not" => Ok(ConditionTree::Not(Box::new(self.single(cursor, depth)?))),
            "(" if cursor.peek().is_none() => Err(Error::Unclosed { position }),
            "(" => {
                let inner = self.either(cursor, depth)?;
                match cursor.next() {
                    Some(")") => Ok(inner),
                    None => Err(Error::Unclosed { position }),
                    Some(word) => {
                        Err(Error::ExpectedOperator { word: word.to_owned(), position: cursor.position() - 1 })
                    }
                }
            }
            "and" | "or" | ")" => Err(Error::ExpectedTarget { word: word.to_owned(), position }),
            word => self.word(word),
        }
    }

    /// Parses `G@os:Debian`, `G|@os|Debian`, or a glob.
    fn word(&mut self, word: &str) -> Result<ConditionTree, Error> {
        let Some((kind, delimiter, pattern)) = split(word) else {
            return match self.likely_mistake(word) {
                Some(error) => Err(error),
                None => self.leaf(TargetKind::Glob, word, DELIMITER),
            };
        };
        match kind {
            TargetKind::Nodegroup => self.nodegroup(pattern),
            TargetKind::Pillar | TargetKind::PillarPcre if self.pillar_exact => {
                self.leaf(TargetKind::PillarExact, pattern, delimiter)
            }
            kind => self.leaf(kind, pattern, delimiter),
        }
    }

    /// Reports a word that is a valid glob, but probably a mistake.
    fn likely_mistake(&self, word: &str) -> Option<Error> {
        let attached = word.starts_with('(') || (word.ends_with(')') && !word.contains('('));
        let word = word.to_owned();
        match word.as_bytes() {
            _ if self.forgiving => None,
            [b'A'..=b'Z', b'@'] => Some(Error::NoPattern { word }),
            [b'A'..=b'Z', b'@', ..] => Some(Error::UnknownLetter { word }),
            _ if attached => Some(Error::AttachedParenthesis { word }),
            _ => None,
        }
    }

    fn leaf(&mut self, kind: TargetKind, pattern: &str, delimiter: &str) -> Result<ConditionTree, Error> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(Error::TooLarge(MAX_PARTS));
        }
        match TargetCondition::new(kind, pattern, delimiter) {
            Ok(condition) => Ok(ConditionTree::Condition(condition)),
            Err(_) if self.forgiving => Ok(ConditionTree::Never),
            Err(error) => Err(error),
        }
    }
}

struct WordCursor<'a> {
    words: &'a [&'a str],
    at: usize,
}

impl<'a> WordCursor<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn last(&self) -> &'a str {
        self.words.last().copied().unwrap_or_default()
    }

    /// The position of the current word, from 1.
    fn position(&self) -> usize {
        self.at + 1
    }
}

fn is_plain(words: &[&str]) -> bool {
    !words.is_empty()
        && words.iter().all(|word| {
            let has_letter = word.starts_with(|c: char| c.is_ascii_uppercase()) && word[1..].starts_with('@');
            !matches!(*word, "and" | "or" | "not" | "(" | ")") && !word.contains('*') && !has_letter
        })
}

/// Splits a word that starts with a known letter into kind, delimiter and pattern.
fn split(word: &str) -> Option<(TargetKind, &str, &str)> {
    let kind = TargetKind::from_letter(word.chars().next()?)?;
    let rest = &word[1..];
    if let Some(delimiter) = rest.chars().next().filter(|_| kind.has_delimiter()) {
        let (delimiter, behind) = rest.split_at(delimiter.len_utf8());
        if let Some(pattern) = behind.strip_prefix('@').filter(|pattern| !pattern.is_empty()) {
            return Some((kind, delimiter, pattern));
        }
    }
    let pattern = rest.strip_prefix('@').filter(|pattern| !pattern.is_empty())?;
    Some((kind, DELIMITER, pattern))
}
