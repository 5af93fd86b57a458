//! Applies `extend`: changes states that other files declare.

use rocksalt_core::Value;

use super::index::StateIndex;
use super::{DeclaredArgument, Extend, High, ModuleBody, ModuleItem};
use crate::fault::SlsFault;
use crate::low::requisite::is_keyword;

impl High {
    /// Applies the extends in order. Those from `_in` requisites are `strict`: the id must also have the module.
    pub(super) fn apply_extends(&mut self, strict: bool) -> Vec<SlsFault> {
        let mut faults = Vec::new();
        let excluded: Vec<String> = self.excluded_sls().map(str::to_owned).collect();
        let mut index: Option<StateIndex> = None;
        for extend in std::mem::take(&mut self.extends) {
            let Some(module) = extend.body.states().next().map(|module| module.name.clone()) else {
                let text = format!("Extension name '{}' in SLS '{}' is empty", extend.name, extend.body.sls);
                faults.push(self.fault(extend.body.spot, text).hint("write the module below it, as in a state"));
                continue;
            };
            let Some(id) = self.extended(&extend, &module, strict, &mut index) else {
                faults.push(self.not_found(&extend));
                continue;
            };
            if excluded.iter().any(|sls| **sls == *extend.body.sls) {
                continue;
            }
            if self.extend(&id, extend, &mut faults) {
                index = None;
            }
        }
        faults
    }

    /// The id to extend: the name itself, or the only state that has the name as an argument.
    fn extended(&self, extend: &Extend, module: &str, strict: bool, index: &mut Option<StateIndex>) -> Option<String> {
        if let Some(body) = self.states.get(&extend.name)
            && (!strict || body.module(module).is_some())
        {
            return Some(extend.name.clone());
        }
        match index.get_or_insert_with(|| StateIndex::new(self)).with_value(module, &extend.name) {
            [id] => Some(id.clone()),
            _ => None,
        }
    }

    fn not_found(&self, extend: &Extend) -> SlsFault {
        let (name, sls, saltenv) = (&extend.name, &extend.body.sls, &extend.body.saltenv);
        let text = format!(
            "Cannot extend ID '{name}' in '{saltenv}:{sls}'. It is not part of the high state.\nThis is likely due to a \
             missing include statement or an incorrectly typed ID.\nEnsure that a state with an ID of '{name}' is \
             available\nin environment '{saltenv}' and to SLS '{sls}'"
        );
        let fault = self.fault(extend.body.spot, text);
        match self.states.get(name) {
            Some(body) => {
                let modules: Vec<&str> = body.states().map(|module| module.name.as_str()).collect();
                fault.hint(format!("there is an id '{name}', but with {}", modules.join(", ")))
            }
            None => fault.nearest(name, self.ids()),
        }
    }

    /// Applies one extend. Returns whether arguments changed by which states are found.
    fn extend(&mut self, id: &str, extend: Extend, faults: &mut Vec<SlsFault>) -> bool {
        let Some(body) = self.states.get_mut(id) else { return false };
        let mut changed = false;
        for module in extend.body.modules.into_iter().filter(|module| !module.name.starts_with("__")) {
            let Some(target) = body.module_mut(&module.name) else {
                body.modules.push(module);
                changed = true;
                continue;
            };
            match (&mut target.body, module.body) {
                (ModuleBody::List(items), ModuleBody::List(extension)) => {
                    for item in extension {
                        changed |= !item.first().is_some_and(|argument| argument.key.as_str().is_some_and(is_keyword));
                        extend_items(items, item);
                    }
                }
                // The target itself is malformed, which is reported later.
                (ModuleBody::Other(_), ModuleBody::List(_)) => {}
                (_, ModuleBody::Other(_)) => {
                    let text = format!("Extension of '{id}' in SLS '{}' is not formed as a list", extend.body.sls);
                    faults.push(self.files.fault(module.spot, text).hint("put a dash before each argument"));
                }
            }
        }
        changed
    }

    /// The sls that are excluded by name, as written.
    pub(super) fn excluded_sls(&self) -> impl Iterator<Item = &str> {
        self.excludes.iter().filter_map(|entry| match entry {
            Value::String(sls) => Some(sls.as_str()),
            Value::Map(map) => map.get("sls").and_then(Value::as_str),
            _ => None,
        })
    }
}

/// Replaces the argument of the same name; requisites are appended instead.
fn extend_items(items: &mut Vec<ModuleItem>, extension: ModuleItem) {
    let mut found = false;
    match &extension {
        ModuleItem::Function(..) => {
            for item in items.iter_mut().filter(|item| matches!(item, ModuleItem::Function(..))) {
                *item = extension.clone();
                found = true;
            }
        }
        ModuleItem::Arguments(arguments) => {
            let Some(first) = arguments.first() else { return };
            for item in items.iter_mut() {
                let ModuleItem::Arguments(current) = item else { continue };
                let Some(argument) = current.first_mut() else { continue };
                if argument.key == first.key {
                    found = true;
                    if first.key.as_str().is_some_and(is_keyword) {
                        append(argument, first);
                    } else {
                        *item = extension.clone();
                    }
                } else if first.is("name") && argument.is("names") {
                    *item = extension.clone();
                }
            }
        }
        ModuleItem::Other(_) => {}
    }
    if !found {
        items.push(extension);
    }
}

fn append(argument: &mut DeclaredArgument, more: &DeclaredArgument) {
    // A value that isn't a list is malformed. It replaces the old one, so that it is reported.
    let Value::List(entries) = &more.value else {
        argument.value = more.value.clone();
        return;
    };
    if let Value::List(current) = &mut argument.value {
        argument.entries.resize(current.len(), argument.spot);
        argument.entries.extend((0..entries.len()).map(|index| more.entry(index)));
        current.extend(entries.iter().cloned());
    }
}
