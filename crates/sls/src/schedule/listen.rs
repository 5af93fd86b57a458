//! `listen`: finds the states that run at the end, because a state that they listen to has changed.

use std::collections::{BTreeMap, HashSet};

use rocksalt_core::Value;

use crate::low::{Chunk, Low};

/// A `listen` or `listen_in` that references no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenError {
    pub module: String,
    pub value: String,
}

impl ListenError {
    /// The key of its result.
    pub fn tag(&self) -> String {
        format!("Listen_Error_|-listen_{}_|-listen_{}_|-Listen_Error", self.value, self.module)
    }

    pub fn name(&self) -> String {
        format!("listen_{}:{}", self.module, self.value)
    }

    pub fn comment(&self) -> String {
        format!("Referenced state {}: {} does not exist", self.module, self.value)
    }
}

/// The chunks that must run at the end, each once, in the order of the run.
pub fn listeners(low: &Low, changed: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<ListenError>) {
    let known = ChunkIndex::new(low);
    let (mut listeners, mut errors) = (Vec::new(), Vec::new());
    for (who, to) in known.listens(low) {
        let sources = known.find(&to);
        if sources.is_empty() {
            add_error(&mut errors, to);
        } else if sources.iter().any(|chunk| changed(*chunk)) {
            match known.find(&who) {
                found if found.is_empty() => add_error(&mut errors, who),
                found => listeners.extend(found),
            }
        }
    }
    let mut seen = HashSet::new();
    listeners.retain(|chunk| seen.insert(*chunk));
    (listeners, errors)
}

fn add_error(errors: &mut Vec<ListenError>, (module, value): Reference) {
    let error = ListenError { module, value };
    if !errors.contains(&error) {
        errors.push(error);
    }
}

/// A module, and an id or a name.
type Reference = (String, String);

/// The chunks of a run by the names that can reference them.
struct ChunkIndex<'l> {
    /// In the order of the run.
    order: Vec<usize>,
    by_name: BTreeMap<(&'l str, &'l str), Vec<usize>>,
    /// The first chunk with an id or name.
    first: BTreeMap<&'l str, &'l Chunk>,
}

impl<'l> ChunkIndex<'l> {
    fn new(low: &'l Low) -> ChunkIndex<'l> {
        let mut known = ChunkIndex { order: Vec::new(), by_name: BTreeMap::new(), first: BTreeMap::new() };
        let mut seen = HashSet::new();
        for index in low.steps.iter().map(|step| step.chunk).filter(|chunk| seen.insert(*chunk)) {
            let chunk = &low.chunks[index];
            known.order.push(index);
            // Salt compares the value with all three, even the module's name.
            let names = HashSet::from([chunk.id.as_str(), chunk.name.as_str(), chunk.state.as_str()]);
            for name in names {
                known.by_name.entry((chunk.state.as_str(), name)).or_default().push(index);
            }
            known.first.entry(&chunk.id).or_insert(chunk);
            known.first.entry(&chunk.name).or_insert(chunk);
        }
        known
    }

    fn find(&self, (module, value): &Reference) -> Vec<usize> {
        self.by_name.get(&(module.as_str(), value.as_str())).cloned().unwrap_or_default()
    }

    /// Pairs of listener and source, as written.
    fn listens(&self, low: &Low) -> Vec<(Reference, Reference)> {
        let mut all = Vec::new();
        for chunk in self.order.iter().map(|index| &low.chunks[*index]) {
            let own = || (chunk.state.clone(), chunk.id.clone());
            for to in self.references(chunk.arguments.get("listen")) {
                all.push((own(), to));
            }
            for who in self.references(chunk.arguments.get("listen_in")) {
                all.push((who, own()));
            }
        }
        all
    }

    fn references(&self, written: Option<&Value>) -> Vec<Reference> {
        let entries = match written {
            Some(Value::List(entries)) => entries.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let mut references = Vec::new();
        for entry in entries {
            match entry {
                Value::Map(map) => {
                    references.extend(map.iter().map(|(module, value)| (module.to_string(), value.to_string())));
                }
                // As in Salt, a bare name that no state has is ignored.
                Value::String(name) => {
                    references.extend(self.first.get(name.as_str()).map(|c| (c.state.clone(), c.id.clone())));
                }
                _ => {}
            }
        }
        references
    }
}
