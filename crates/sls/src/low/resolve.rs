//! Finds the states that requisites reference.

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use rocksalt_core::Value;
use rocksalt_core::hash::HashMap;
use rocksalt_core::nearest::nearest;
use rocksalt_core::pattern::glob::Glob;

use super::Requisite;
use super::chunk::Chunk;
use super::chunks::DraftChunk;
use super::graph::{MAX_EDGES, RequisiteGraph};
use crate::fault::SlsFault;
use crate::files::SourceFiles;
use crate::python;

/// All chunks by the names that a requisite can use for them.
pub(super) struct ChunkNames<'d> {
    drafts: &'d [DraftChunk],
    /// Tables by module, each by id and by name.
    modules: HashMap<&'d str, NameTable<'d>>,
    /// The chunks of all modules by id and by name, for references without a module. These are rare, so it is made on
    /// demand.
    all: Option<NameTable<'d>>,
    /// Chunks by sls: by their own and by those that include it.
    sls: NameTable<'d>,
    /// The matches of each pattern used so far.
    patterns: HashMap<(String, String), Vec<u32>>,
}

type NameTable<'d> = HashMap<&'d str, ChunkNumbers>;

/// Numbers of chunks in order; nearly always one.
enum ChunkNumbers {
    One([u32; 1]),
    Several(Vec<u32>),
}

impl<'d> ChunkNames<'d> {
    pub fn new(drafts: &'d [DraftChunk]) -> ChunkNames<'d> {
        let mut names = ChunkNames {
            drafts,
            modules: HashMap::default(),
            all: None,
            sls: HashMap::default(),
            patterns: HashMap::default(),
        };
        // Tables are created at their final size, since growing would rehash all names.
        let mut counts: HashMap<&str, usize> = HashMap::default();
        drafts.iter().for_each(|draft| *counts.entry(draft.chunk.state.as_str()).or_default() += 1);
        for (module, count) in counts {
            names.modules.insert(module, NameTable::with_capacity_and_hasher(2 * count, Default::default()));
        }
        for (draft, number) in drafts.iter().zip(0..) {
            let chunk = &draft.chunk;
            add_state(names.modules.entry(chunk.state.as_str()).or_default(), chunk, number);
            for sls in std::iter::once(&chunk.sls).chain(chunk.included_from.iter()) {
                add(&mut names.sls, sls, number);
            }
        }
        names
    }

    /// The chunks that `module: value` references; `None` if the reference is invalid.
    fn find(&mut self, module: &str, value: &str) -> Option<&[u32]> {
        if module == "id" {
            self.all();
        }
        let is_pattern = value.contains(['*', '?', '[', ']']);
        if !is_pattern {
            return self.table(module)?.get(value).map(ChunkNumbers::as_slice);
        }
        let key = (module.to_owned(), value.to_owned());
        if !self.patterns.contains_key(&key) {
            let glob = Glob::new(value);
            let names = self.table(module).into_iter().flatten().filter(|(name, _)| glob.matches(name));
            let mut numbers: Vec<u32> = names.flat_map(|(_, numbers)| numbers.as_slice()).copied().collect();
            numbers.sort_unstable();
            numbers.dedup();
            self.patterns.insert(key.clone(), numbers);
        }
        // Only a pattern over sls may match nothing.
        self.patterns.get(&key).map(Vec::as_slice).filter(|found| !found.is_empty() || module == "sls")
    }

    /// The names that may follow a module; `id` has some only after a call of [`ChunkNames::all`].
    fn table(&self, module: &str) -> Option<&NameTable<'d>> {
        match module {
            "sls" => Some(&self.sls),
            "id" => self.all.as_ref(),
            module => self.modules.get(module),
        }
    }

    fn all(&mut self) -> &NameTable<'d> {
        self.all.get_or_insert_with(|| {
            let mut all = NameTable::default();
            self.drafts.iter().zip(0..).for_each(|(draft, number)| add_state(&mut all, &draft.chunk, number));
            all
        })
    }

    /// Suggests what was probably meant.
    fn hint(&mut self, module: &str, value: &str) -> Option<String> {
        if module == "sls" {
            let right = nearest(value, self.sls.keys().copied())?;
            return Some(format!("did you mean 'sls: {right}'?"));
        }
        let here = self.table(module);
        if let Some(right) = here.and_then(|names| nearest(value, names.keys().copied())) {
            return Some(format!("did you mean '{module}: {right}'?"));
        }
        let elsewhere = self.modules.iter().filter(|(_, names)| names.contains_key(value));
        if let Some(right) = elsewhere.map(|(module, _)| *module).min() {
            return Some(format!("it is a state of another module: '{right}: {value}'"));
        }
        if here.is_none() {
            let modules = self.modules.keys().copied();
            return nearest(module, modules.chain(["sls"])).map(|right| format!("did you mean '{right}: {value}'?"));
        }
        let right = nearest(value, self.all().keys().copied())?;
        Some(format!("did you mean '{right}'?"))
    }
}

/// Adds the requisites of each chunk to the graph. Only the first invalid reference of a chunk is reported.
pub(super) fn resolve(
    drafts: &[DraftChunk],
    graph: &mut RequisiteGraph,
    disabled: &[&str],
    files: &SourceFiles,
) -> Vec<SlsFault> {
    let mut names = ChunkNames::new(drafts);
    let mut faults = Vec::new();
    for number in 0..drafts.len() {
        if let Err(fault) = resolve_one(drafts, number, &mut names, graph, disabled, files) {
            faults.push(*fault);
        }
        if graph.edges() > MAX_EDGES {
            let text = format!("There are more than {MAX_EDGES} requisites once they are resolved");
            faults.push(SlsFault::new(text).hint("require one state instead of all states of an sls"));
            break;
        }
    }
    faults
}

fn resolve_one(
    drafts: &[DraftChunk],
    number: usize,
    names: &mut ChunkNames<'_>,
    graph: &mut RequisiteGraph,
    disabled: &[&str],
    files: &SourceFiles,
) -> Result<(), Box<SlsFault>> {
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
            let Some(found) = names.find(&module, value) else {
                let text = format!(
                    "Referenced state does not exist for requisite [{}: ({module}: {value})] in state [{}] in SLS [{}]",
                    requisite.name(),
                    chunk.name,
                    chunk.sls
                );
                let mut fault = files.fault(chunk.spot_of(requisite.name()), text);
                fault.hint = names.hint(&module, value);
                return Err(Box::new(fault));
            };
            for needed in found {
                graph.require(number as u32, requisite, *needed);
            }
        }
    }
    Ok(())
}

/// The references in a requisite as pairs of a module and a value.
fn references(value: &Value) -> Vec<(Cow<'_, str>, &Value)> {
    match value {
        Value::List(entries) => entries
            .iter()
            .filter_map(|entry| match entry {
                Value::Map(map) => map.iter().next().map(|(module, value)| (module_of(module), value)),
                Value::String(_) => Some((Cow::Borrowed("id"), entry)),
                _ => None,
            })
            .collect(),
        Value::Map(map) => map.keys().map(|name| (Cow::Borrowed("id"), name)).collect(),
        Value::String(_) => vec![(Cow::Borrowed("id"), value)],
        _ => Vec::new(),
    }
}

/// The module of a reference; a function that was added by mistake is dropped.
fn module_of(key: &Value) -> Cow<'_, str> {
    let first = |text: &str| text.find('.').unwrap_or(text.len());
    match key {
        Value::String(text) => Cow::Borrowed(&text[..first(text)]),
        other => {
            let mut text = python::text(other);
            text.truncate(first(&text));
            Cow::Owned(text)
        }
    }
}

fn add_state<'d>(table: &mut NameTable<'d>, chunk: &'d Chunk, number: u32) {
    add(table, &chunk.id, number);
    if chunk.name_value.is_none() && chunk.name != chunk.id {
        add(table, &chunk.name, number);
    }
}

fn add<'d>(table: &mut NameTable<'d>, name: &'d str, number: u32) {
    match table.entry(name) {
        Entry::Occupied(mut entry) => entry.get_mut().push(number),
        Entry::Vacant(entry) => drop(entry.insert(ChunkNumbers::One([number]))),
    }
}

impl ChunkNumbers {
    fn as_slice(&self) -> &[u32] {
        match self {
            ChunkNumbers::One(number) => number,
            ChunkNumbers::Several(numbers) => numbers,
        }
    }

    /// Adds a number that is not smaller than those before; an equal one is ignored.
    fn push(&mut self, number: u32) {
        match self {
            ChunkNumbers::One([first]) if *first == number => {}
            ChunkNumbers::One([first]) => *self = ChunkNumbers::Several(vec![*first, number]),
            ChunkNumbers::Several(numbers) if numbers.last() == Some(&number) => {}
            ChunkNumbers::Several(numbers) => numbers.push(number),
        }
    }
}
