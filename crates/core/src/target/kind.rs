//! [`TargetKind`]: the kinds of target expressions, such as glob or grain.

use super::Error;
use crate::nearest::hint;

/// The kind of a target expression, Salt's `tgt_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// A shell pattern on the id: `web*`.
    Glob,
    /// A list of ids: `web1,web2`.
    List,
    /// A regular expression on the id, anchored at its start.
    Pcre,
    /// A pattern on a grain: `os:Debian`.
    Grain,
    GrainPcre,
    Pillar,
    PillarPcre,
    /// An exact pillar value, without patterns.
    PillarExact,
    Nodegroup,
    /// An address or a network.
    IpCidr,
    /// A range of names: `web[01-10],-web05`.
    Range,
    /// Conditions of all kinds, joined by `and`, `or` and `not`.
    Compound,
    /// A compound whose `I@` and `J@` compare exactly, which Salt's peers may use.
    CompoundPillarExact,
}

impl TargetKind {
    pub const ALL: [TargetKind; 13] = [
        TargetKind::Glob,
        TargetKind::List,
        TargetKind::Pcre,
        TargetKind::Grain,
        TargetKind::GrainPcre,
        TargetKind::Pillar,
        TargetKind::PillarPcre,
        TargetKind::PillarExact,
        TargetKind::Nodegroup,
        TargetKind::IpCidr,
        TargetKind::Range,
        TargetKind::Compound,
        TargetKind::CompoundPillarExact,
    ];

    pub fn name(self) -> &'static str {
        match self {
            TargetKind::Glob => "glob",
            TargetKind::List => "list",
            TargetKind::Pcre => "pcre",
            TargetKind::Grain => "grain",
            TargetKind::GrainPcre => "grain_pcre",
            TargetKind::Pillar => "pillar",
            TargetKind::PillarPcre => "pillar_pcre",
            TargetKind::PillarExact => "pillar_exact",
            TargetKind::Nodegroup => "nodegroup",
            TargetKind::IpCidr => "ipcidr",
            TargetKind::Range => "range",
            TargetKind::Compound => "compound",
            TargetKind::CompoundPillarExact => "compound_pillar_exact",
        }
    }

    pub fn from_name(name: &str) -> Result<TargetKind, Error> {
        TargetKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| Error::UnknownKind {
            name: name.to_owned(),
            hint: hint(name, TargetKind::ALL.map(TargetKind::name)),
        })
    }

    /// The kind for the letter before `@` in a compound target.
    pub(super) fn from_letter(letter: char) -> Option<TargetKind> {
        Some(match letter {
            'G' => TargetKind::Grain,
            'P' => TargetKind::GrainPcre,
            'I' => TargetKind::Pillar,
            'J' => TargetKind::PillarPcre,
            'L' => TargetKind::List,
            'N' => TargetKind::Nodegroup,
            'S' => TargetKind::IpCidr,
            'E' => TargetKind::Pcre,
            'R' => TargetKind::Range,
            _ => return None,
        })
    }

    /// Whether the delimiter can be chosen, which only targets of the form `key:value` have.
    pub(super) fn has_delimiter(self) -> bool {
        matches!(
            self,
            TargetKind::Grain
                | TargetKind::GrainPcre
                | TargetKind::Pillar
                | TargetKind::PillarPcre
                | TargetKind::PillarExact
        )
    }
}
