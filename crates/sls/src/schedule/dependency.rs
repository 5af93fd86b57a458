//! [`WaitReason`]: why one step must wait for another.

use std::fmt;

use rocksalt_core::touches::Thing;

use crate::low::Requisite;

/// A reason to wait for another item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The item waited for.
    pub on: usize,
    pub why: WaitReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The state declares this requisite.
    Requisite(Requisite),
    /// The steps run one after another.
    Order,
    /// If the other step fails, the run ends.
    Failhard,
    /// The other step does the work of both.
    Aggregate,
    /// Both steps touch this thing.
    Touches(Thing),
    /// It is unknown what one of them touches, so they may conflict.
    Unknown,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitReason::Requisite(requisite) => f.write_str(requisite.name()),
            WaitReason::Order => f.write_str("it comes first, and the mode is one after another"),
            WaitReason::Failhard => f.write_str("failhard: the run ends if it fails"),
            WaitReason::Aggregate => f.write_str("aggregate: it does the work of both"),
            WaitReason::Touches(thing) => write!(f, "both have to do with {thing}"),
            WaitReason::Unknown => f.write_str("one of them may touch anything"),
        }
    }
}
