//! One target expression against this target. What is malformed matches nothing, as in Salt.

use std::sync::Arc;

use rocksalt_core::target::{DELIMITER, Nodegroups, Subject, TargetExpression, TargetKind};
use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::Function;
use crate::Result;
use crate::machine::{Probe, System};

/// Whether this target is meant; or another one with the same grains and pillar, if an id is given.
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
        // Lists of ids come as lists, too.
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

macro_rules! targets {
    ($($(#[$doc:meta])+ $name:ident($arguments:ident) = $function:literal, $kind:expr;)+) => {
        $(
            $(#[$doc])+
            #[function($function, reads, repeatable)]
            pub struct $name($arguments);

            impl Function for $name {
                type Output = bool;

                fn call(self, machine: &dyn System) -> Result<bool> {
                    self.0.matches(machine, $kind)
                }
            }
        )+
    };
}

targets! {
    /// Whether a compound expression matches this target.
    ///
    /// ```text
    /// rocksalt '*' match.compound 'L@web1,web2 and G@os:Debian'
    /// ```
    Compound(ById) = "match.compound", TargetKind::Compound;
    /// Whether the id matches a shell pattern.
    ///
    /// ```text
    /// rocksalt '*' match.glob 'web*'
    /// ```
    Glob(ById) = "match.glob", TargetKind::Glob;
    /// Whether a grain matches a shell pattern.
    ///
    /// ```text
    /// rocksalt '*' match.grain 'os:Deb*'
    /// ```
    Grain(ByData) = "match.grain", TargetKind::Grain;
    /// Whether a grain matches a regular expression.
    ///
    /// ```text
    /// rocksalt '*' match.grain_pcre 'os:(Debian|Ubuntu)'
    /// ```
    GrainPcre(ByData) = "match.grain_pcre", TargetKind::GrainPcre;
    /// Whether the target has an address, or one in a network.
    ///
    /// ```text
    /// rocksalt '*' match.ipcidr 192.168.44.0/24
    /// ```
    Ipcidr(ById) = "match.ipcidr", TargetKind::IpCidr;
    /// Whether the id is in a list.
    ///
    /// ```text
    /// rocksalt '*' match.list web1,web2
    /// ```
    List(ById) = "match.list", TargetKind::List;
    /// Whether the id matches a regular expression, from its start.
    ///
    /// ```text
    /// rocksalt '*' match.pcre 'web[0-9]+'
    /// ```
    Pcre(ById) = "match.pcre", TargetKind::Pcre;
    /// Whether a pillar value matches a shell pattern.
    ///
    /// ```text
    /// rocksalt '*' match.pillar 'role:web*'
    /// ```
    Pillar(ByData) = "match.pillar", TargetKind::Pillar;
    /// Whether a pillar value matches a regular expression.
    ///
    /// ```text
    /// rocksalt '*' match.pillar_pcre 'role:(web|db)'
    /// ```
    PillarPcre(ByData) = "match.pillar_pcre", TargetKind::PillarPcre;
}
