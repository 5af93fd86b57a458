//! [`Kind`]: the kinds of target expressions, such as glob or grain.

use super::Error;
use crate::nearest::hint;

/// Salt's `tgt_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
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
    /// A pillar value letter by letter: `*` is a star.
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

impl Kind {
    pub const ALL: [Kind; 13] = [
        Kind::Glob,
        Kind::List,
        Kind::Pcre,
        Kind::Grain,
        Kind::GrainPcre,
        Kind::Pillar,
        Kind::PillarPcre,
        Kind::PillarExact,
        Kind::Nodegroup,
        Kind::IpCidr,
        Kind::Range,
        Kind::Compound,
        Kind::CompoundPillarExact,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Glob => "glob",
            Kind::List => "list",
            Kind::Pcre => "pcre",
            Kind::Grain => "grain",
            Kind::GrainPcre => "grain_pcre",
            Kind::Pillar => "pillar",
            Kind::PillarPcre => "pillar_pcre",
            Kind::PillarExact => "pillar_exact",
            Kind::Nodegroup => "nodegroup",
            Kind::IpCidr => "ipcidr",
            Kind::Range => "range",
            Kind::Compound => "compound",
            Kind::CompoundPillarExact => "compound_pillar_exact",
        }
    }

    pub fn from_name(name: &str) -> Result<Kind, Error> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| Error::UnknownKind { name: name.to_owned(), hint: hint(name, Kind::ALL.map(Kind::name)) })
    }

    /// What a letter before `@` stands for in a compound target.
    pub(super) fn from_letter(letter: char) -> Option<Kind> {
        Some(match letter {
            'G' => Kind::Grain,
            'P' => Kind::GrainPcre,
            'I' => Kind::Pillar,
            'J' => Kind::PillarPcre,
            'L' => Kind::List,
            'N' => Kind::Nodegroup,
            'S' => Kind::IpCidr,
            'E' => Kind::Pcre,
            'R' => Kind::Range,
            _ => return None,
        })
    }

    /// Only targets of the form `key:value` have a delimiter to choose.
    pub(super) fn has_delimiter(self) -> bool {
        matches!(self, Kind::Grain | Kind::GrainPcre | Kind::Pillar | Kind::PillarPcre | Kind::PillarExact)
    }
}
