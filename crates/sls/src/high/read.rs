//! Reads the data of one sls: its states, includes, extends and excludes.

use std::sync::Arc;

use rocksalt_core::Value;
use rocksalt_core::hash::IndexMap;
use rocksalt_core::yaml::{Node, NodeContent};

use super::{Declaration, Extend, ModuleBody, ModuleDeclaration, ModuleItem};
use crate::fault::SlsFault;
use crate::files::{SourceFiles, Spot};
use crate::python;

/// The keys of an sls that aren't ids.
const SPECIAL: [&str; 3] = ["include", "extend", "exclude"];

/// One sls, later merged with those that it includes.
#[derive(Default)]
pub(super) struct SlsPart {
    pub states: IndexMap<String, Declaration>,
    pub misfits: Vec<(Value, Declaration)>,
    pub extends: Vec<Extend>,
    pub excludes: Vec<Value>,
    /// The entries of `include`, with their positions.
    pub includes: Vec<(Value, Spot)>,
}

/// Reads one sls.
pub(super) struct SlsReader<'a> {
    pub sls: &'a Arc<str>,
    pub saltenv: &'a Arc<str>,
    pub file: u32,
    pub files: &'a SourceFiles,
    pub faults: Vec<SlsFault>,
}

impl SlsReader<'_> {
    pub fn read(&mut self, mut pairs: Vec<(Node, Node)>) -> SlsPart {
        let mut part = SlsPart {
            states: IndexMap::with_capacity_and_hasher(pairs.len(), Default::default()),
            ..SlsPart::default()
        };
        let (mut extend, mut exclude) = (None, None);
        for (key, value) in pairs.extract_if(.., |(key, _)| key.as_str().is_some_and(|key| SPECIAL.contains(&key))) {
            match key.as_str() {
                Some("include") => self.includes(value, &mut part),
                Some("extend") => extend = Some(value),
                _ => exclude = Some(value),
            }
        }
        if let Some(node) = extend {
            self.extends(node, &mut part);
        }
        if let Some(node) = exclude {
            self.excludes(node, &mut part);
        }
        for (key, value) in pairs {
            let spot = self.spot(&key);
            let id = key.into_value();
            let Some(body) = self.state(&id, spot, value) else { continue };
            match id {
                Value::String(id) => drop(part.states.insert(id, body)),
                id => part.misfits.push((id, body)),
            }
        }
        part
    }

    fn includes(&mut self, node: Node, part: &mut SlsPart) {
        let spot = self.spot(&node);
        let NodeContent::List(items) = &node.content else {
            let text = format!("Include Declaration in SLS {} is not formed as a list", self.sls);
            self.fault(spot, text, "put a dash before each sls: '- web.server'");
            // Salt then treats the key as a state's id.
            if !node.as_str().is_some_and(|text| text.contains('.')) && node.pairs().is_none() {
                self.fault(spot, format!("ID include in SLS {} is not a dictionary", self.sls), "see above");
            }
            return;
        };
        part.includes.extend(items.iter().map(|item| (item.clone().into_value(), self.spot(item))));
    }

    fn excludes(&mut self, node: Node, part: &mut SlsPart) {
        let spot = self.spot(&node);
        let NodeContent::List(items) = node.content else {
            let text = format!("Exclude Declaration in SLS {} is not formed as a list", self.sls);
            return self.fault(spot, text, "write '- sls: name' or '- id: name' below it");
        };
        part.excludes.extend(items.into_iter().map(Node::into_value));
    }

    fn extends(&mut self, node: Node, part: &mut SlsPart) {
        let spot = self.spot(&node);
        let NodeContent::Map(pairs) = node.content else {
            let text = format!("Extension value in SLS '{}' is not a dictionary", self.sls);
            return self.fault(spot, text, "write the id below it, and the module below the id");
        };
        for (key, value) in pairs {
            let spot = self.spot(&key);
            let name = python::text(&key.into_value());
            let NodeContent::Map(pairs) = value.content else {
                let text = format!("Extension name '{name}' in SLS '{}' is not a dictionary", self.sls);
                self.fault(spot, text, "write the module below it, as in a state");
                continue;
            };
            let mut body = self.declaration(spot);
            let mut dotted_last = Vec::new();
            for (key, value) in pairs {
                let Some(mut module) = self.module(&name.as_str().into(), key, value) else { continue };
                if split_function(&mut module) { dotted_last.push(module) } else { body.set(module) }
            }
            dotted_last.into_iter().for_each(|module| body.set(module));
            part.extends.push(Extend { name, body });
        }
    }

    /// Reads the body of an id; the short form `id: file.touch` is expanded.
    fn state(&mut self, id: &Value, spot: Spot, node: Node) -> Option<Declaration> {
        let mut body = self.declaration(spot);
        let value_spot = self.spot(&node);
        let pairs = match node.content {
            NodeContent::Map(pairs) => pairs,
            NodeContent::Scalar(Value::String(text)) if text.contains('.') => {
                let (module, function) = dotted(&text);
                let items = vec![ModuleItem::Function(function.to_owned(), value_spot)];
                body.modules.push(ModuleDeclaration {
                    name: module.to_owned(),
                    spot: value_spot,
                    body: ModuleBody::List(items),
                });
                return Some(body);
            }
            _ => {
                let text = format!("ID {} in SLS {} is not a dictionary", python::text(id), self.sls);
                self.fault(spot, text, "a state needs a function below its id, such as 'pkg.installed'");
                return None;
            }
        };
        let mut seen: Vec<String> = Vec::new();
        let only = pairs.len() == 1;
        let mut dotted_last = Vec::new();
        for (key, value) in pairs {
            let Some(mut module) = self.module(id, key, value) else { continue };
            if module.name.starts_with('_') || matches!(module.body, ModuleBody::Other(_)) {
                body.set(module);
                continue;
            }
            let name = dotted(&module.name).0;
            if module.name.contains('.') && seen.iter().any(|other| other == name) {
                let text = format!(
                    "ID '{}' in SLS '{}' contains multiple state declarations of the same type",
                    python::text(id),
                    self.sls
                );
                self.fault(module.spot, text, &format!("give the second '{}' an id of its own", module.name));
                continue;
            }
            if !only {
                seen.push(name.to_owned());
            }
            // Salt removes a dotted key and adds it again, so it comes after the others.
            if split_function(&mut module) { dotted_last.push(module) } else { body.set(module) }
        }
        dotted_last.into_iter().for_each(|module| body.set(module));
        Some(body)
    }

    fn module(&mut self, id: &Value, key: Node, value: Node) -> Option<ModuleDeclaration> {
        let spot = self.spot(&key);
        match key.into_value() {
            Value::String(name) => Some(ModuleDeclaration { name, spot, body: ModuleBody::read(value, self.file) }),
            other => {
                let text = format!(
                    "ID '{}' in SLS '{}' has {} where a state should be: {}",
                    python::text(id),
                    self.sls,
                    other.kind(),
                    python::text(&other)
                );
                self.fault(spot, text, "below an id come states, such as 'file.managed:'");
                None
            }
        }
    }

    fn declaration(&self, spot: Spot) -> Declaration {
        Declaration {
            sls: self.sls.clone(),
            saltenv: self.saltenv.clone(),
            included_from: Vec::new(),
            spot,
            modules: Vec::with_capacity(1),
            numbered: false,
        }
    }

    fn spot(&self, node: &Node) -> Spot {
        Spot::new(self.file, node.place.line, node.place.column)
    }

    fn fault(&mut self, spot: Spot, text: String, hint: &str) {
        self.faults.push(self.files.fault(spot, text).hint(hint));
    }
}

/// Changes `file.managed: […]` to `file: […, managed]`. Returns whether the name had a dot.
fn split_function(module: &mut ModuleDeclaration) -> bool {
    let ModuleBody::List(items) = &mut module.body else { return false };
    if module.name.starts_with('_') || !module.name.contains('.') {
        return false;
    }
    let (name, function) = dotted(&module.name);
    let length = name.len();
    items.push(ModuleItem::Function(function.to_owned(), module.spot));
    module.name.truncate(length);
    true
}

/// Splits a module and a function; as in Salt, text after a second dot is dropped.
fn dotted(text: &str) -> (&str, &str) {
    let mut parts = text.split('.');
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}
