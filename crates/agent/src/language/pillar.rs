//! Compiles the pillar of a target.

use std::sync::Arc;

use rocksalt_core::frame::Ask;
use rocksalt_core::{Map, Value};
use rocksalt_modules::Result;
use rocksalt_modules::machine::{HostSystem, Probe};
use rocksalt_sls::pillar::{ExternalPillar, PillarInputs};

use super::compile_context::CompileContext;

/// Compiles the pillar of the target that the host stands for.
pub fn compile_pillar(host: &Arc<HostSystem>, kwargs: &Map) -> Result<Map> {
    let text = |key: &str| kwargs.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let context = CompileContext::without_pillar(host, text("saltenv"), text("pillarenv"));
    let given = kwargs.get("pillar").and_then(Value::as_map).cloned().unwrap_or_default();
    let external: Vec<ControllerPillar<'_>> = external_pillar_kinds(context.options())
        .into_iter()
        .enumerate()
        .map(|(number, name)| ControllerPillar { host, number: u32::try_from(number).unwrap_or(u32::MAX), name })
        .collect();
    let external: Vec<&dyn ExternalPillar> = external.iter().map(|source| source as &dyn ExternalPillar).collect();
    let inputs = PillarInputs { inputs: context.inputs(), given: &given, external: &external };
    let compiled = rocksalt_sls::pillar::compile(&inputs);
    let details: Vec<Value> = compiled.details.iter().map(|fault| fault.report().into()).collect();
    let mut answer = Map::new();
    answer.insert("details", details);
    answer.insert("pillar", compiled.into_map());
    Ok(answer)
}

/// An external pillar, which the controller reads.
struct ControllerPillar<'a> {
    host: &'a Arc<HostSystem>,
    number: u32,
    name: String,
}

impl ExternalPillar for ControllerPillar<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn fetch(&self, _: &str, pillar: &Map) -> std::result::Result<Map, String> {
        let ask = Ask::ExternalPillar { number: self.number, pillar: pillar.clone() };
        match self.host.controller().ask(ask) {
            Ok(Value::Map(data)) => Ok(data),
            Ok(other) => Err(format!("it gave {} instead of a map", other.kind())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The kinds of the external pillars that the controller has configured.
fn external_pillar_kinds(options: &Map) -> Vec<String> {
    options
        .get("ext_pillar_kinds")
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}
