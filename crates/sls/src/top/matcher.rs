//! Whether a target of a top file means this machine.

use rocksalt_core::target::{DELIMITER, Expression, Kind, Nodegroups, Subject};
use rocksalt_core::{Map, Value};

use crate::setting::Setting;

pub(crate) struct Matcher<'a> {
    machine: Machine<'a>,
    nodegroups: Nodegroups,
}

impl<'a> Matcher<'a> {
    pub fn new(setting: &Setting<'a>) -> Matcher<'a> {
        let nodegroups = setting.options.get("nodegroups").unwrap_or(&Value::Null);
        Matcher {
            machine: Machine { id: setting.id, grains: setting.grains, pillar: setting.pillar },
            nodegroups: Nodegroups::from_value(nodegroups).unwrap_or_default(),
        }
    }

    /// How a target is meant stands among its entries: `- match: grain`.
    pub fn matches(&self, target: &str, entries: &[Value]) -> Result<bool, String> {
        let mut names = entries.iter().filter_map(Value::as_map).filter_map(|map| map.get("match"));
        let kind = match names.next_back() {
            Some(name) => Kind::from_name(&name.to_string()).map_err(|error| error.to_string())?,
            None => Kind::Compound,
        };
        Ok(Expression::forgiving(kind, target, DELIMITER, &self.nodegroups).matches(&self.machine))
    }
}

struct Machine<'a> {
    id: &'a str,
    grains: &'a Map,
    pillar: &'a Map,
}

impl Subject for Machine<'_> {
    fn id(&self) -> &str {
        self.id
    }

    fn grains(&self) -> &Map {
        self.grains
    }

    fn pillar(&self) -> &Map {
        self.pillar
    }
}
