//! [`Condition`]: one thing that must hold of a target.

use std::fmt;

use super::data::{Comparison, DELIMITER, Test};
use super::range::Range;
use super::{Error, Kind, Network, Pcre, Subject};
use crate::pattern::glob::Glob;

/// Each with its text, as it was written.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Glob(String, Glob),
    /// Ids, letter by letter.
    List(Vec<String>),
    Pcre(String, Pcre),
    Grain(Test),
    Pillar(Test),
    Address(Network),
    Range(Range),
}

impl Condition {
    /// The kinds that need no nodegroups; the others are read word by word.
    pub fn new(kind: Kind, text: &str, delimiter: &str) -> Result<Condition, Error> {
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        Ok(match kind {
            Kind::Glob | Kind::Nodegroup | Kind::Compound | Kind::CompoundPillarExact => {
                Condition::Glob(text.to_owned(), Glob::new(text))
            }
            Kind::List => {
                let ids = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|id| !id.is_empty());
                let ids: Vec<String> = ids.map(str::to_owned).collect();
                if ids.is_empty() {
                    return Err(Error::Empty);
                }
                Condition::List(ids)
            }
            Kind::Pcre => Condition::Pcre(text.to_owned(), Pcre::new(text)?),
            Kind::Grain => Condition::Grain(Test::new(text, delimiter, Comparison::Glob)?),
            Kind::GrainPcre => Condition::Grain(Test::new(text, delimiter, Comparison::Regex)?),
            Kind::Pillar => Condition::Pillar(Test::new(text, delimiter, Comparison::Glob)?),
            Kind::PillarPcre => Condition::Pillar(Test::new(text, delimiter, Comparison::Regex)?),
            Kind::PillarExact => Condition::Pillar(Test::new(text, delimiter, Comparison::Exact)?),
            Kind::IpCidr => Condition::Address(Network::parse(text)?),
            Kind::Range => Condition::Range(Range::new(text)?),
        })
    }

    pub fn matches(&self, subject: &dyn Subject) -> bool {
        match self {
            Condition::Glob(_, glob) => glob.matches(subject.id()),
            Condition::List(ids) => ids.iter().any(|id| id == subject.id()),
            Condition::Pcre(_, regex) => regex.matches(subject.id()),
            Condition::Grain(test) => test.matches(subject.grains()),
            Condition::Pillar(test) => test.matches(subject.pillar()),
            Condition::Address(network) => subject.addresses().into_iter().any(|address| network.contains(address)),
            Condition::Range(range) => range.contains(subject.id()),
        }
    }

    pub fn needs_grains(&self) -> bool {
        matches!(self, Condition::Grain(_) | Condition::Address(_))
    }

    pub fn needs_pillar(&self) -> bool {
        matches!(self, Condition::Pillar(_))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Glob(text, _) => f.write_str(text),
            Condition::List(ids) => write!(f, "L@{}", ids.join(",")),
            Condition::Pcre(text, _) => write!(f, "E@{text}"),
            Condition::Grain(test) => write_test(f, ["G", "P"], test),
            Condition::Pillar(test) => write_test(f, ["I", "J"], test),
            Condition::Address(network) => write!(f, "S@{network}"),
            Condition::Range(range) => write!(f, "R@{}", range.text()),
        }
    }
}

fn write_test(f: &mut fmt::Formatter<'_>, letters: [&str; 2], test: &Test) -> fmt::Result {
    let letter = letters[usize::from(test.comparison() == Comparison::Regex)];
    let delimiter = if test.delimiter() == DELIMITER && !test.text().starts_with('@') { "" } else { test.delimiter() };
    write!(f, "{letter}{delimiter}@{}", test.text())
}
