//! `global_state_conditions`: targets on which a state must not run.

use rocksalt_core::Value;
use rocksalt_core::target::{DELIMITER, Nodegroups, SubjectData, TargetExpression, TargetKind};
use rocksalt_modules::Result;
use rocksalt_modules::machine::Probe;
use rocksalt_sls::Chunk;

/// Whether the configuration allows this state on this machine: one matching condition suffices.
pub fn allow(chunk: &Chunk, machine: &dyn Probe) -> Result<bool> {
    let Some(Value::Map(conditions)) = machine.options().get("global_state_conditions") else { return Ok(true) };
    let function = chunk.function();
    let mut targets = Vec::new();
    for (name, wanted) in conditions.iter() {
        if [Some("*"), Some(function.as_str()), Some(chunk.state.as_str())].contains(&name.as_str()) {
            match wanted {
                Value::List(wanted) => targets.extend(wanted.iter().map(ToString::to_string)),
                Value::String(one) => targets.push(one.clone()),
                _ => {}
            }
        }
    }
    if targets.is_empty() {
        return Ok(true);
    }
    let grains = machine.grains();
    let pillar = machine.pillar()?;
    let id = ["id"].iter().find_map(|key| machine.options().get(key).or_else(|| grains.get(key)));
    let id = id.map(ToString::to_string).unwrap_or_default();
    let own = SubjectData { id: &id, grains: &grains, pillar: &pillar };
    let nodegroups = machine.options().get("nodegroups").and_then(|groups| Nodegroups::from_value(groups).ok());
    let nodegroups = nodegroups.unwrap_or_default();
    Ok(targets
        .iter()
        .any(|text| TargetExpression::forgiving(TargetKind::Compound, text, DELIMITER, &nodegroups).matches(&own)))
}
