//! `state.check`: reports what is wrong in a tree without applying it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rocksalt_core::{Map, Value, nearest};
use rocksalt_modules::Result;
use rocksalt_modules::catalog::{self, FunctionOutcome};
use rocksalt_modules::machine::{EntryKind, HostSystem, Probe, StateRequest};
use rocksalt_sls::{Chunk, Low, SlsFault, SlsSelection};

use super::compile_context::{CatalogStates, CompileContext};
use crate::states;

/// Compiles state files one by one and checks the arguments of their steps.
///
/// Returns `{"files": …, "states": …, "errors": […], "warnings": […]}`. Without names it checks all files of the
/// environment, and what the top file assigns to this machine.
pub fn check(host: &Arc<HostSystem>, context: &CompileContext, request: &StateRequest) -> Result<FunctionOutcome> {
    let saltenv = request.saltenv.as_deref().unwrap_or("base");
    let all = request.sls.is_empty();
    let names = if all { sls_names(host, saltenv)? } else { request.sls.clone() };
    let mut report = CheckReport::default();
    if all && host.tree().entries(saltenv)?.iter().any(|entry| entry.path == "top.sls") {
        match rocksalt_sls::top(&context.inputs()) {
            Ok(_) => {}
            Err(faults) => report.errors.extend(faults),
        }
    }
    for name in &names {
        let one = std::slice::from_ref(name);
        match rocksalt_sls::compile(&context.inputs(), SlsSelection::Sls(one)) {
            Err(faults) => report.errors.extend(faults),
            Ok(high) => {
                report.warnings.extend(high.warnings.iter().cloned());
                match rocksalt_sls::low(high, &CatalogStates, context.options(), context.inputs().grains) {
                    Ok(low) => report.add_low(&low),
                    Err(faults) => report.loose.push((name.clone(), faults)),
                }
            }
        }
    }
    Ok(report.into_outcome(names.len()))
}

/// All state files but the top file.
fn sls_names(host: &HostSystem, saltenv: &str) -> Result<Vec<String>> {
    let entries = host.tree().entries(saltenv)?;
    let files = entries.iter().filter(|entry| entry.kind != EntryKind::Directory);
    let names = files.filter_map(|entry| entry.path.strip_suffix(".sls"));
    let names = names.filter(|stem| *stem != "top").map(|stem| stem.strip_suffix("/init").unwrap_or(stem));
    Ok(names.map(|stem| stem.replace('/', ".")).collect::<BTreeSet<_>>().into_iter().collect())
}

#[derive(Default)]
struct CheckReport {
    errors: Vec<SlsFault>,
    warnings: Vec<SlsFault>,
    /// Files that don't compile alone: no error if another file that includes them compiles.
    loose: Vec<(String, Vec<SlsFault>)>,
    /// Files whose states are part of something that compiles.
    covered: BTreeSet<String>,
    steps: BTreeSet<(String, String)>,
}

impl CheckReport {
    fn add_low(&mut self, low: &Low) {
        for chunk in &low.chunks {
            self.covered.insert(chunk.sls.to_string());
            if self.steps.insert((chunk.sls.to_string(), chunk.tag())) {
                self.check_chunk(low, chunk);
            }
        }
    }

    fn check_chunk(&mut self, low: &Low, chunk: &Chunk) {
        let name = chunk.function();
        let Some(entry) = catalog::find_state(&name) else {
            let fault = low.files.fault(chunk.spot, format!("there is no state '{name}'"));
            let known = |entry: &&catalog::StateEntry| entry.name.split('.').next() == Some(chunk.state.as_str());
            match catalog::states().any(|entry| known(&entry)) {
                true => self.errors.push(with_suggestion(fault, &name, catalog::states().map(|entry| entry.name))),
                // A module of Salt that we don't have yet is not the user's mistake.
                false => self.warnings.push(fault.hint("this version doesn't have it; the step would fail")),
            }
            return;
        };
        for required in entry.required.iter().filter(|required| !chunk.arguments.contains_key(required)) {
            self.errors.push(low.files.fault(chunk.spot, format!("{name}: the argument '{required}' is missing")));
        }
        let own = states::state_arguments(chunk, entry);
        let fields = entry.arguments;
        for key in own.keys().filter_map(Value::as_str) {
            if key != "name" && !fields.contains(&key) && !key.starts_with("__") {
                let fault = low.files.fault(chunk.spot_of(key), format!("{name} has no argument '{key}'"));
                self.errors.push(with_suggestion(fault, key, fields.iter().copied()));
            }
        }
        if let Some(misfit) = entry.misfit(entry.bind(own)) {
            let word = misfit.split('\'').nth(1).unwrap_or_default();
            self.errors.push(low.files.fault(chunk.spot_of(word), format!("{name}: {misfit}")));
        }
    }

    fn into_outcome(mut self, files: usize) -> FunctionOutcome {
        let covered = std::mem::take(&mut self.covered);
        for (name, faults) in std::mem::take(&mut self.loose) {
            if !covered.contains(&name) {
                self.errors.extend(faults);
            }
        }
        let shown = |faults: &[SlsFault]| {
            let mut seen = BTreeSet::new();
            let texts = faults.iter().map(SlsFault::report).filter(|text| seen.insert(text.clone()));
            texts.map(Value::String).collect::<Vec<_>>()
        };
        let mut answer = Map::new();
        answer.insert("files", files);
        answer.insert("states", self.steps.len());
        answer.insert("errors", shown(&self.errors));
        answer.insert("warnings", shown(&self.warnings));
        FunctionOutcome { value: answer.into(), retcode: i32::from(!self.errors.is_empty()) }
    }
}

fn with_suggestion<'a>(fault: SlsFault, word: &str, known: impl IntoIterator<Item = &'a str>) -> SlsFault {
    match nearest::nearest(word, known) {
        Some(right) => fault.hint(format!("did you mean '{right}'?")),
        None => fault,
    }
}
