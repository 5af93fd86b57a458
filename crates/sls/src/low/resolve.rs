//! Finds the states that requisites name.

use std::collections::HashMap;
use std::rc::Rc;

use rocksalt_core::Value;
use rocksalt_core::nearest::nearest;
use rocksalt_core::pattern::glob::Glob;

use super::Requisite;
use super::chunks::Draft;
use super::graph::{Graph, MAX_EDGES};
use crate::fault::Fault;
use crate::files::Files;
use crate::python;

/// All chunks by what a requisite can call them.
pub(super) struct Names<'d> {
    /// By module, then by id and by name; the module `id` stands for all.
    states: HashMap<&'d str, HashMap<&'d str, Vec<u32>>>,
    /// By sls: its own and those of all that it includes.
    sls: HashMap<&'d str, Vec<u32>>,
    /// What a pattern matched before.
    patterns: HashMap<(String, String), Rc<[u32]>>,
}

impl<'d> Names<'d> {
    pub fn new(drafts: &'d [Draft]) -> Names<'d> {
        let mut names = Names { states: HashMap::new(), sls: HashMap::new(), patterns: HashMap::new() };
        for (number, draft) in drafts.iter().enumerate() {
            let (chunk, number) = (&draft.chunk, u32::try_from(number).unwrap_or(u32::MAX));
            for module in [chunk.state.as_str(), "id"] {
                let states = names.states.entry(module).or_default();
                add(states, &chunk.id, number);
                if chunk.name_value.is_none() && chunk.name != chunk.id {
                    add(states, &chunk.name, number);
                }
            }
            for sls in std::iter::once(&chunk.sls).chain(chunk.included_from.iter()) {
                add(&mut names.sls, sls, number);
            }
        }
        names
    }

    /// The chunks that `module: value` means; `None` if there are none where there should be.
    fn find(&mut self, module: &str, value: &str) -> Option<Rc<[u32]>> {
        let is_pattern = value.contains(['*', '?', '[', ']']);
        if !is_pattern {
            let found = if module == "sls" { self.sls.get(value) } else { self.states.get(module)?.get(value) };
            return found.map(|numbers| numbers.as_slice().into());
        }
        let key = (module.to_owned(), value.to_owned());
        if let Some(found) = self.patterns.get(&key) {
            return (!found.is_empty() || module == "sls").then(|| found.clone());
        }
        let glob = Glob::new(value);
        let table = if module == "sls" { Some(&self.sls) } else { self.states.get(module) };
        let mut numbers: Vec<u32> = table
            .into_iter()
            .flatten()
            .filter(|(name, _)| glob.matches(name))
            .flat_map(|(_, numbers)| numbers.iter().copied())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let found: Rc<[u32]> = numbers.into();
        self.patterns.insert(key, found.clone());
        // A pattern over sls may match none.
        (!found.is_empty() || module == "sls").then_some(found)
    }

    /// What may have been meant.
    fn hint(&self, module: &str, value: &str) -> Option<String> {
        if module == "sls" {
            let right = nearest(value, self.sls.keys().copied())?;
            return Some(format!("did you mean 'sls: {right}'?"));
        }
        let here = self.states.get(module);
        if let Some(right) = here.and_then(|names| nearest(value, names.keys().copied())) {
            return Some(format!("did you mean '{module}: {right}'?"));
        }
        let elsewhere = self.states.iter().filter(|(name, names)| **name != "id" && names.contains_key(value));
        if let Some(right) = elsewhere.map(|(module, _)| *module).min() {
            return Some(format!("it is a state of another module: '{right}: {value}'"));
        }
        if here.is_none() {
            let modules = self.states.keys().copied().filter(|name| *name != "id");
            return nearest(module, modules.chain(["sls"])).map(|right| format!("did you mean '{right}: {value}'?"));
        }
        let right = nearest(value, self.states.get("id")?.keys().copied())?;
        Some(format!("did you mean '{right}'?"))
    }
}

/// Adds what each chunk needs to the graph. Of each chunk the first bad reference is reported.
pub(super) fn resolve(drafts: &[Draft], graph: &mut Graph, disabled: &[&str], files: &Files) -> Vec<Fault> {
    let mut names = Names::new(drafts);
    let mut faults = Vec::new();
    for number in 0..drafts.len() {
        if let Err(fault) = resolve_one(drafts, number, &mut names, graph, disabled, files) {
            faults.push(*fault);
        }
        if graph.edges() > MAX_EDGES {
            let text = format!("There are more than {MAX_EDGES} requisites once they are resolved");
            faults.push(Fault::new(text).hint("require one state instead of all states of an sls"));
            break;
        }
    }
    faults
}

fn resolve_one(
    drafts: &[Draft],
    number: usize,
    names: &mut Names<'_>,
    graph: &mut Graph,
    disabled: &[&str],
    files: &Files,
) -> Result<(), Box<Fault>> {
    for requisite in Requisite::ALL.into_iter().filter(|requisite| !disabled.contains(&requisite.name())) {
        let Some(references) = drafts[number].chunk.arguments.get(requisite.name()) else { continue };
        for (module, value) in self::references(references) {
            let chunk = &drafts[number].chunk;
            let value = match value {
                Value::Null => continue,
                Value::String(value) => value,
                _ => {
                    let text = format!(
                        "Requisite [{}: {module}] in state [{}] in SLS [{}] must have a string as the value",
                        requisite.name(),
                        chunk.name,
                        chunk.sls
                    );
                    let fault = files.fault(chunk.spot_of(requisite.name()), text);
                    return Err(Box::new(fault.hint("put the value in quotes")));
                }
            };
            let Some(found) = names.find(&module, &value) else {
                let text = format!(
                    "Referenced state does not exist for requisite [{}: ({module}: {value})] in state [{}] in SLS [{}]",
                    requisite.name(),
                    chunk.name,
                    chunk.sls
                );
                let mut fault = files.fault(chunk.spot_of(requisite.name()), text);
                fault.hint = names.hint(&module, &value);
                return Err(Box::new(fault));
            };
            for needed in found.iter() {
                graph.require(number as u32, requisite, *needed);
            }
        }
    }
    Ok(())
}

/// The references of a requisite as pairs of a module and a value.
fn references(value: &Value) -> Vec<(String, Value)> {
    let bare = |name: &Value| ("id".to_owned(), name.clone());
    match value {
        Value::List(entries) => entries
            .iter()
            .filter_map(|entry| match entry {
                Value::Map(map) => map.iter().next().map(|(module, value)| {
                    let module = python::text(module);
                    (module.split('.').next().unwrap_or_default().to_owned(), value.clone())
                }),
                Value::String(_) => Some(bare(entry)),
                _ => None,
            })
            .collect(),
        Value::Map(map) => map.keys().map(bare).collect(),
        Value::String(_) => vec![bare(value)],
        _ => Vec::new(),
    }
}

fn add<'d>(table: &mut HashMap<&'d str, Vec<u32>>, name: &'d str, number: u32) {
    match table.get_mut(name) {
        Some(numbers) => {
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        }
        None => drop(table.insert(name, vec![number])),
    }
}
