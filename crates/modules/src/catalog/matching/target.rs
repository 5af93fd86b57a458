//! Matches one target expression against this target. As in Salt, a malformed one matches nothing.

use std::sync::Arc;

use rocksalt_core::target::{DELIMITER, Nodegroups, Subject, TargetExpression, TargetKind};
use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use crate::Result;
use crate::machine::{Probe, System};

/// Whether the expression matches this target, or a target with another id but the same grains and pillar.
pub fn matches(machine: &dyn Probe, kind: TargetKind, target: &str, delimiter: &str, id: Option<&str>) -> Result<bool> {
    let groups = machine.options().get("nodegroups").map(Nodegroups::from_value);
    let groups = groups.and_then(std::result::Result::ok).unwrap_or_default();
    let expression = TargetExpression::forgiving(kind, target, delimiter, &groups);
    let grains = machine.grains();
    let own = machine.options().get("id").or_else(|| grains.get("id")).map(ToString::to_string);
    let this = This {
        id: id.filter(|id| !id.is_empty()).map(str::to_owned).or(own).unwrap_or_default(),
        pillar: if expression.needs_pillar() { machine.pillar()? } else { Arc::default() },
        grains,
    };
    Ok(expression.matches(&this))
}

struct This {
    id: String,
    grains: Arc<Map>,
    pillar: Arc<Map>,
}

impl Subject for This {
    fn id(&self) -> &str {
        &self.id
    }

    fn grains(&self) -> &Map {
        &self.grains
    }

    fn pillar(&self) -> &Map {
        &self.pillar
    }
}

/// A target and maybe an id.
#[arguments]
pub struct ById {
    /// The target expression.
    #[required]
    tgt: Value,
    /// The id to match; by default this target's.
    minion_id: Option<String>,
}

impl ById {
    fn matches(self, machine: &dyn System, kind: TargetKind) -> Result<bool> {
        // A list of ids may also be a YAML list.
        let target = match &self.tgt {
            Value::List(items) => items.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            one => one.to_string(),
        };
        matches(machine, kind, &target, DELIMITER, self.minion_id.as_deref())
    }
}

/// A target of the form `key:value`.
#[arguments]
pub struct ByData {
    /// The key, a delimiter and the value.
    tgt: String,
    /// The delimiter between the parts.
    #[default(colon())]
    delimiter: String,
}

fn colon() -> String {
    DELIMITER.into()
}

impl ByData {
    fn matches(self, machine: &dyn System, kind: TargetKind) -> Result<bool> {
        matches(machine, kind, &self.tgt, &self.delimiter, None)
    }
}

/// Whether a compound expression matches this target.
///
/// ```text
/// rocksalt '*' match.compound 'L@web1,web2 and G@os:Debian'
/// ```
#[function("match.compound", reads, repeatable, call = ById::matches(TargetKind::Compound) -> bool)]
pub struct Compound(ById);

/// Whether the id matches a shell pattern.
///
/// ```text
/// rocksalt '*' match.glob 'web*'
/// ```
#[function("match.glob", reads, repeatable, call = ById::matches(TargetKind::Glob) -> bool)]
pub struct Glob(ById);

/// Whether a grain matches a shell pattern.
///
/// ```text
/// rocksalt '*' match.grain 'os:Deb*'
/// ```
#[function("match.grain", reads, repeatable, call = ByData::matches(TargetKind::Grain) -> bool)]
pub struct Grain(ByData);

/// Whether a grain matches a regular expression.
///
/// ```text
/// rocksalt '*' match.grain_pcre 'os:(Debian|Ubuntu)'
/// ```
#[function("match.grain_pcre", reads, repeatable, call = ByData::matches(TargetKind::GrainPcre) -> bool)]
pub struct GrainPcre(ByData);

/// Whether the target has an address, or one in a network.
///
/// ```text
/// rocksalt '*' match.ipcidr 192.168.44.0/24
/// ```
#[function("match.ipcidr", reads, repeatable, call = ById::matches(TargetKind::IpCidr) -> bool)]
pub struct Ipcidr(ById);

/// Whether the id is in a list.
///
/// ```text
/// rocksalt '*' match.list web1,web2
/// ```
#[function("match.list", reads, repeatable, call = ById::matches(TargetKind::List) -> bool)]
pub struct List(ById);

/// Whether the id matches a regular expression, from its start.
///
/// ```text
/// rocksalt '*' match.pcre 'web[0-9]+'
/// ```
#[function("match.pcre", reads, repeatable, call = ById::matches(TargetKind::Pcre) -> bool)]
pub struct Pcre(ById);

/// Whether a pillar value matches a shell pattern.
///
/// ```text
/// rocksalt '*' match.pillar 'role:web*'
/// ```
#[function("match.pillar", reads, repeatable, call = ByData::matches(TargetKind::Pillar) -> bool)]
pub struct Pillar(ByData);

/// Whether a pillar value matches a regular expression.
///
/// ```text
/// rocksalt '*' match.pillar_pcre 'role:(web|db)'
/// ```
#[function("match.pillar_pcre", reads, repeatable, call = ByData::matches(TargetKind::PillarPcre) -> bool)]
pub struct PillarPcre(ByData);
