//! [`TargetKind`]: the kinds of target expressions, such as glob or grain.

use super::Error;
use crate::nearest::hint;

/// Salt's `tgt_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// `web*`: a shell pattern on the id.
    Glob,
    /// `web1,web2`: ids.
    List,
    /// A regular expression on the id, from its start.
    Pcre,
    /// `os:Debian`: a pattern on a grain.
    Grain,
    GrainPcre,
    Pillar,
    PillarPcre,
    /// An exact pillar value, without patterns.
    PillarExact,
    Nodegroup,
    /// An address or a network.
    IpCidr,
    /// `web[01-10],-web05`.
    Range,
    /// All of them, joined by `and`, `or`, `not`.
    Compound,
    /// A compound whose `I@` and `J@` compare exactly: what Salt's peers may use.
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

    /// What a letter before `@` stands for in a compound target.
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

    /// Only targets of the form `key:value` have a delimiter to choose.
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
