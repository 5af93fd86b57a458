//! Target expressions: Salt's ways to select targets, from `web*` to compound expressions.
//!
//! Errors are worded for users at a command line. [`TargetExpression::forgiving`] instead matches nothing, as Salt
//! silently does in top files.

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

/// A parsed target expression, for repeated matching.
///
/// It prints as a compound target, with its nodegroups expanded. The text can be parsed again if the expression came
/// from a compound target; a value with a space can't be written in one.
#[derive(Clone, Debug)]
pub struct TargetExpression(ConditionTree);

impl TargetExpression {
    /// Parses a target. `delimiter` is for grains and pillar; the default is [`DELIMITER`].
    pub fn parse(
        kind: TargetKind,
        text: &str,
        delimiter: &str,
        nodegroups: &Nodegroups,
    ) -> Result<TargetExpression, Error> {
        read(kind, text, delimiter, nodegroups, false).map(TargetExpression)
    }

    /// Parses a target as Salt does in a top file: a malformed one matches nothing.
    ///
    /// A single invalid target counts as false, so that `not S@bogus` matches everything. A compound with a syntax
    /// error or an unknown nodegroup matches nothing as a whole.
    pub fn forgiving(kind: TargetKind, text: &str, delimiter: &str, nodegroups: &Nodegroups) -> TargetExpression {
        TargetExpression(read(kind, text, delimiter, nodegroups, true).unwrap_or(ConditionTree::Never))
    }

    pub fn matches(&self, subject: &dyn Subject) -> bool {
        self.0.matches(subject)
    }

    /// Whether the match depends on grains, which must then be fetched first.
    pub fn needs_grains(&self) -> bool {
        self.0.has(&TargetCondition::needs_grains)
    }

    /// Whether the match depends on pillar.
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
