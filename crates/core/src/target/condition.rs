//! [`TargetCondition`]: one condition of a target expression.

use std::fmt;

use super::data::{DELIMITER, DataComparison, DataTest};
use super::range::RangeExpression;
use super::{Error, IpNetwork, Pcre, Subject, TargetKind};
use crate::pattern::glob::Glob;

/// A parsed condition; each also keeps its text.
#[derive(Clone, Debug)]
pub(super) enum TargetCondition {
    Glob(String, Glob),
    /// Exact ids.
    List(Vec<String>),
    Pcre(String, Pcre),
    Grain(DataTest),
    Pillar(DataTest),
    Address(IpNetwork),
    Range(RangeExpression),
}

impl TargetCondition {
    /// Parses the kinds that need no nodegroups; the others are parsed word by word.
    pub fn new(kind: TargetKind, text: &str, delimiter: &str) -> Result<TargetCondition, Error> {
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        Ok(match kind {
            TargetKind::Glob | TargetKind::Nodegroup | TargetKind::Compound | TargetKind::CompoundPillarExact => {
                TargetCondition::Glob(text.to_owned(), Glob::new(text))
            }
            TargetKind::List => {
                let ids = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|id| !id.is_empty());
                let ids: Vec<String> = ids.map(str::to_owned).collect();
                if ids.is_empty() {
                    return Err(Error::Empty);
                }
                TargetCondition::List(ids)
            }
            TargetKind::Pcre => TargetCondition::Pcre(text.to_owned(), Pcre::new(text)?),
            TargetKind::Grain => TargetCondition::Grain(DataTest::new(text, delimiter, DataComparison::Glob)?),
            TargetKind::GrainPcre => TargetCondition::Grain(DataTest::new(text, delimiter, DataComparison::Regex)?),
            TargetKind::Pillar => TargetCondition::Pillar(DataTest::new(text, delimiter, DataComparison::Glob)?),
            TargetKind::PillarPcre => TargetCondition::Pillar(DataTest::new(text, delimiter, DataComparison::Regex)?),
            TargetKind::PillarExact => TargetCondition::Pillar(DataTest::new(text, delimiter, DataComparison::Exact)?),
            TargetKind::IpCidr => TargetCondition::Address(IpNetwork::parse(text)?),
            TargetKind::Range => TargetCondition::Range(RangeExpression::new(text)?),
        })
    }

    pub fn matches(&self, subject: &dyn Subject) -> bool {
        match self {
            TargetCondition::Glob(_, glob) => glob.matches(subject.id()),
            TargetCondition::List(ids) => ids.iter().any(|id| id == subject.id()),
            TargetCondition::Pcre(_, regex) => regex.matches(subject.id()),
            TargetCondition::Grain(test) => test.matches(subject.grains()),
            TargetCondition::Pillar(test) => test.matches(subject.pillar()),
            TargetCondition::Address(network) => {
                subject.addresses().into_iter().any(|address| network.contains(address))
            }
            TargetCondition::Range(range) => range.contains(subject.id()),
        }
    }

    pub fn needs_grains(&self) -> bool {
        matches!(self, TargetCondition::Grain(_) | TargetCondition::Address(_))
    }

    pub fn needs_pillar(&self) -> bool {
        matches!(self, TargetCondition::Pillar(_))
    }
}

impl fmt::Display for TargetCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetCondition::Glob(text, _) => f.write_str(text),
            TargetCondition::List(ids) => write!(f, "L@{}", ids.join(",")),
            TargetCondition::Pcre(text, _) => write!(f, "E@{text}"),
            TargetCondition::Grain(test) => write_test(f, ["G", "P"], test),
            TargetCondition::Pillar(test) => write_test(f, ["I", "J"], test),
            TargetCondition::Address(network) => write!(f, "S@{network}"),
            TargetCondition::Range(range) => write!(f, "R@{}", range.text()),
        }
    }
}

fn write_test(f: &mut fmt::Formatter<'_>, letters: [&str; 2], test: &DataTest) -> fmt::Result {
    let letter = letters[usize::from(test.comparison() == DataComparison::Regex)];
    let delimiter = if test.delimiter() == DELIMITER && !test.text().starts_with('@') { "" } else { test.delimiter() };
    write!(f, "{letter}{delimiter}@{}", test.text())
}
