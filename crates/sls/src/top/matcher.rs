//! [`TopMatcher`]: whether a target of a top file matches this machine.

use rocksalt_core::Value;
use rocksalt_core::target::{DELIMITER, Nodegroups, SubjectData, TargetExpression, TargetKind};

use crate::inputs::CompileInputs;

pub(crate) struct TopMatcher<'a> {
    machine: SubjectData<'a>,
    nodegroups: Nodegroups,
}

impl<'a> TopMatcher<'a> {
    pub fn new(inputs: &CompileInputs<'a>) -> TopMatcher<'a> {
        let nodegroups = inputs.options.get("nodegroups").unwrap_or(&Value::Null);
        TopMatcher {
            machine: SubjectData { id: inputs.id, grains: inputs.grains, pillar: inputs.pillar },
            nodegroups: Nodegroups::from_value(nodegroups).unwrap_or_default(),
        }
    }

    /// Whether a target matches. An entry such as `- match: grain` names its kind.
    pub fn matches(&self, target: &str, entries: &[Value]) -> Result<bool, String> {
        let mut names = entries.iter().filter_map(Value::as_map).filter_map(|map| map.get("match"));
        let kind = match names.next_back() {
            Some(name) => TargetKind::from_name(&name.to_string()).map_err(|error| error.to_string())?,
            None => TargetKind::Compound,
        };
        Ok(TargetExpression::forgiving(kind, target, DELIMITER, &self.nodegroups).matches(&self.machine))
    }
}
