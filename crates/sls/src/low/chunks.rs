//! Makes the chunks of high data: one for each id and module, or for each of their `names`.

use std::sync::Arc;

use rocksalt_core::hash::{HashMap, HashSet};
use rocksalt_core::pattern::glob::Glob;
use rocksalt_core::{Map, Value};

use super::DisabledChunk;
use super::chunk::Chunk;
use crate::files::Spot;
use crate::high::{Declaration, DeclaredArgument, High, ModuleBody, ModuleDeclaration, ModuleItem};
use crate::options::names;

/// A chunk that isn't sorted yet.
pub(super) struct DraftChunk {
    pub chunk: Chunk,
    /// The position in `names`, from 1.
    pub name_order: u32,
}

pub(super) fn chunks(high: &mut High, grains: &Map) -> (Vec<DraftChunk>, Vec<DisabledChunk>) {
    let patterns: Vec<(Glob, String)> =
        names(grains, "state_runs_disabled").into_iter().map(|text| (Glob::new(text), text.to_owned())).collect();
    let mut builder = ChunkBuilder { drafts: Vec::with_capacity(high.states.len()), disabled: Vec::new(), patterns };
    for (id, mut body) in std::mem::take(&mut high.states) {
        if id.starts_with("__") {
            continue;
        }
        let included_from: Arc<[Arc<str>]> = body.included_from.drain(..).collect();
        for module in std::mem::take(&mut body.modules) {
            if !module.name.starts_with("__") {
                builder.module(&id, &body, &included_from, module);
            }
        }
    }
    (builder.drafts, builder.disabled)
}

struct ChunkBuilder {
    drafts: Vec<DraftChunk>,
    disabled: Vec<DisabledChunk>,
    patterns: Vec<(Glob, String)>,
}

impl ChunkBuilder {
    fn module(&mut self, id: &str, body: &Declaration, included_from: &Arc<[Arc<str>]>, module: ModuleDeclaration) {
        let ModuleBody::List(items) = module.body else { return };
        let mut chunk = Chunk {
            state: module.name,
            fun: String::new(),
            name: id.to_owned(),
            name_value: None,
            id: id.to_owned(),
            sls: body.sls.clone(),
            saltenv: body.saltenv.clone(),
            included_from: included_from.clone(),
            order: Value::Null,
            arguments: Map::with_capacity(items.len()),
            prerequired: false,
            prerequiring: false,
            spot: module.spot,
            spots: Vec::with_capacity(items.len()),
        };
        let mut function = None;
        let mut names = Vec::new();
        for item in items {
            match item {
                ModuleItem::Function(name, _) => function = Some(name),
                ModuleItem::Arguments(arguments) => {
                    for DeclaredArgument { key, value, spot, .. } in arguments {
                        match (key.as_str(), value) {
                            (Some("names"), Value::List(entries)) => names.extend(entries),
                            (Some("names"), Value::Null) => {}
                            (Some("names"), other) => names.push(other),
                            (Some("state"), _) => {}
                            (_, value) => chunk.set(key, value, spot),
                        }
                    }
                }
                ModuleItem::Other(_) => {}
            }
        }
        // A module that was added only by an `_in` requisite has no function and isn't a state.
        let Some(function) = function else { return };
        chunk.fun = function;
        if names.is_empty() {
            return self.push(chunk, 0);
        }
        let mut seen = HashSet::default();
        names.retain(|name| seen.insert(name.clone()));
        self.push_names(&chunk, names);
    }

    /// Makes one chunk for each entry of `names`. If two entries have the same name, the later one replaces the first
    /// in its place.
    fn push_names(&mut self, chunk: &Chunk, names: Vec<Value>) {
        let mut positions: HashMap<String, usize> = HashMap::default();
        for (index, entry) in names.into_iter().enumerate() {
            let mut chunk = chunk.clone();
            let fun = chunk.fun.clone();
            match entry {
                Value::Map(map) => {
                    let Some((name, overrides)) = map.into_iter().next() else { continue };
                    chunk.name_as_is(name);
                    let overrides = match overrides {
                        Value::List(items) => items,
                        other => vec![other],
                    };
                    let spot = chunk.spot;
                    for (key, value) in overrides.into_iter().filter_map(into_map).flatten() {
                        if key.as_str() == Some("name") { chunk.name_as_is(value) } else { chunk.set(key, value, spot) }
                    }
                }
                name => chunk.name_as_is(name),
            }
            chunk.fun = fun;
            let name_order = u32::try_from(index + 1).unwrap_or(u32::MAX);
            match positions.get(&chunk.name).and_then(|position| self.drafts.get_mut(*position)) {
                Some(draft) => *draft = DraftChunk { chunk, name_order },
                None => {
                    positions.insert(chunk.name.clone(), self.drafts.len());
                    self.push(chunk, name_order);
                }
            }
        }
    }

    fn push(&mut self, chunk: Chunk, name_order: u32) {
        if !self.patterns.is_empty() {
            let function = chunk.function();
            if let Some((_, pattern)) = self.patterns.iter().find(|(glob, _)| glob.matches(&function)) {
                return self.disabled.push(DisabledChunk { chunk, pattern: pattern.clone() });
            }
        }
        self.drafts.push(DraftChunk { chunk, name_order });
    }
}

impl Chunk {
    /// Sets an argument; the last of a name wins.
    fn set(&mut self, key: Value, value: Value, spot: Spot) {
        match (key.as_str(), value) {
            (Some("name"), Value::String(name)) => (self.name, self.name_value) = (name, None),
            // A name that isn't text is ignored.
            (Some("name"), _) => (self.name, self.name_value) = (self.id.clone(), None),
            (Some("order"), value) => self.order = value,
            (Some("fun" | "__id__" | "__sls__" | "__env__" | "__sls_included_from__"), _) => {}
            (name, value) => {
                let position = name.and_then(|name| self.arguments.position(name));
                match position.and_then(|position| self.spots.get_mut(position)) {
                    Some(there) => *there = spot,
                    None => self.spots.push(spot),
                }
                self.arguments.insert(key, value);
                // A key that isn't text may already exist.
                self.spots.truncate(self.arguments.len());
            }
        }
    }

    fn name_as_is(&mut self, name: Value) {
        (self.name, self.name_value) = match name {
            Value::String(name) => (name, None),
            other => (other.to_string(), Some(other)),
        };
    }
}

fn into_map(value: Value) -> Option<Map> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}
