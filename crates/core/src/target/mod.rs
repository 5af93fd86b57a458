//! Target expressions: Salt's ways to select targets, from `web*` to compound expressions.
//!
//! Errors are for people at a command line. Where Salt keeps silent and matches nothing, in top
//! files, [`TargetExpression::forgiving`] does the same.

mod compound;
mod condition;
mod data;
mod error;
mod kind;
pub mod network;
mod nodegroups;
mod pcre;
mod range;
mod subject;
mod tree;

use std::fmt;

use compound::CompoundParser;
use condition::TargetCondition;
use tree::ConditionTree;

pub use data::DELIMITER;
pub use error::Error;
pub use kind::TargetKind;
pub use network::IpNetwork;
pub use nodegroups::Nodegroups;
pub use pcre::Pcre;

pub use subject::{Subject, SubjectData, address, addresses_in};

/// A target expression, read and ready to be matched many times.
///
/// Prints as a compound target, with its nodegroups expanded. What came from a compound target can
/// be read again from that; a value with a space in it can't stand in one.
#[derive(Clone, Debug)]
pub struct TargetExpression(ConditionTree);

impl TargetExpression {
    /// Reads a target. `delimiter` is for grains and pillar: [`DELIMITER`] unless the user says otherwise.
    pub fn parse(
        kind: TargetKind,
        text: &str,
        delimiter: &str,
        nodegroups: &Nodegroups,
    ) -> Result<TargetExpression, Error> {
        read(kind, text, delimiter, nodegroups, false).map(TargetExpression)
    }

    /// As Salt reads the targets of a top file: what is malformed matches nothing.
    ///
    /// A single bad target counts as no match, so that `not S@bogus` matches all; a compound whose
    /// words don't fit together, or that names an unknown nodegroup, matches nothing as a whole.
    pub fn forgiving(kind: TargetKind, text: &str, delimiter: &str, nodegroups: &Nodegroups) -> TargetExpression {
        TargetExpression(read(kind, text, delimiter, nodegroups, true).unwrap_or(ConditionTree::Never))
    }

    pub fn matches(&self, subject: &dyn Subject) -> bool {
        self.0.matches(subject)
    }

    /// Whether a match depends on grains, so that they must be fetched first.
    pub fn needs_grains(&self) -> bool {
        self.0.has(&TargetCondition::needs_grains)
    }

    /// Whether a match depends on pillar.
    pub fn needs_pillar(&self) -> bool {
        self.0.has(&TargetCondition::needs_pillar)
    }
}

impl fmt::Display for TargetExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn read(
    kind: TargetKind,
    text: &str,
    delimiter: &str,
    groups: &Nodegroups,
    forgiving: bool,
) -> Result<ConditionTree, Error> {
    match kind {
        TargetKind::Compound => CompoundParser::new(groups, false, forgiving).text(text),
        TargetKind::CompoundPillarExact => CompoundParser::new(groups, true, forgiving).text(text),
        TargetKind::Nodegroup => CompoundParser::new(groups, false, forgiving).nodegroup(text),
        kind => TargetCondition::new(kind, text, delimiter).map(ConditionTree::Condition),
    }
}
