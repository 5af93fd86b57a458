//! Checks that every state is well formed, with Salt's error texts.

use rocksalt_core::Value;

use super::{Declaration, DeclaredArgument, High, ModuleBody, ModuleDeclaration, ModuleItem};
use crate::fault::SlsFault;
use crate::low::requisite::is_keyword;
use crate::python;

impl High {
    pub(super) fn verify(&self) -> Vec<SlsFault> {
        let mut faults = Vec::new();
        for (id, body) in &self.misfits {
            let text = format!(
                "ID '{}' in SLS '{}' is not formed as a string, but is type {}. It may need to be quoted.",
                python::text(id),
                body.sls,
                python::type_name(id)
            );
            faults.push(self.fault(body.spot, text).hint("put it in quotes"));
        }
        for (id, body) in self.states.iter().filter(|(id, _)| !id.starts_with("__")) {
            for module in body.states() {
                self.verify_module(id, body, module, &mut faults);
            }
        }
        faults
    }

    fn verify_module(&self, id: &str, body: &Declaration, module: &ModuleDeclaration, faults: &mut Vec<SlsFault>) {
        let sls = &body.sls;
        let items = match &module.body {
            ModuleBody::List(items) => items,
            ModuleBody::Other(Value::Null) => {
                let text = format!(
                    "ID '{id}' in SLS '{sls}' contains a short declaration ({}) with a trailing colon. When not passing \
                     any arguments to a state, the colon must be omitted.",
                    module.name
                );
                return faults.push(self.fault(module.spot, text).hint(format!("write '{}: []'", module.name)));
            }
            ModuleBody::Other(_) => {
                let text = format!("State '{id}' in SLS '{sls}' is not formed as a list");
                return faults.push(self.fault(module.spot, text).hint("put a dash before each argument"));
            }
        };
        let mut functions: Vec<&str> = module.name.split_once('.').map(|(_, function)| function).into_iter().collect();
        for item in items {
            match item {
                ModuleItem::Function(name, spot) => {
                    functions.push(name);
                    if name.trim().contains(' ') {
                        let text = format!(
                            "The function \"{name}\" in state \"{id}\" in SLS \"{sls}\" has whitespace, a function with \
                             whitespace is not supported, perhaps this is an argument that is missing a \":\""
                        );
                        faults.push(self.fault(*spot, text));
                    }
                }
                ModuleItem::Arguments(arguments) => self.verify_arguments(id, body, arguments, faults),
                ModuleItem::Other(_) => {}
            }
        }
        if functions.is_empty() {
            let text = format!("No function declared in state '{id}' in SLS '{sls}'");
            faults.push(self.fault(module.spot, text).hint(format!("write '{}.FUNCTION:'", module.name)));
        } else if functions.len() > 1 {
            let text = format!(
                "Too many functions declared in state '{id}' in SLS '{sls}'. Please choose one of the following: {}",
                functions.join(", ")
            );
            faults.push(self.fault(module.spot, text).hint("an argument without a colon counts as a function"));
        }
    }

    fn verify_arguments(
        &self,
        id: &str,
        body: &Declaration,
        arguments: &[DeclaredArgument],
        faults: &mut Vec<SlsFault>,
    ) {
        let sls = &body.sls;
        let Some(first) = arguments.first() else { return };
        let Some(key) = first.key.as_str() else { return };
        if key == "names" && first.value.as_list().is_none() {
            let text = format!("The 'names' argument in state '{id}' in SLS '{sls}' needs to be formed as a list");
            faults.push(self.fault(first.spot, text));
        }
        if !is_keyword(key) {
            return;
        }
        match first.value.as_list() {
            None => {
                let text = format!("The {key} statement in state '{id}' in SLS '{sls}' needs to be formed as a list");
                faults.push(self.fault(first.spot, text).hint("put a dash before it: '- pkg: nginx'"));
            }
            Some(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    if let Some((text, hint)) = wrong_reference(entry, id, sls) {
                        faults.push(self.fault(first.entry(index), text).hint(hint));
                    }
                }
            }
        }
        if arguments.len() != 1 {
            let text = format!("Multiple dictionaries defined in argument of state '{id}' in SLS '{sls}'");
            faults.push(self.fault(first.spot, text).hint("put a dash before each argument"));
        }
    }
}

/// Returns the fault in an entry of a requisite, and a hint.
fn wrong_reference(entry: &Value, id: &str, sls: &str) -> Option<(String, String)> {
    let pair = match entry {
        Value::String(_) => return None,
        Value::Map(map) if map.len() == 1 => map.iter().next(),
        _ => None,
    };
    let Some((key, value)) = pair else {
        let text = format!(
            "Requisite declaration {} in state {id} in SLS {sls} is not formed as a single key dictionary",
            python::text(entry)
        );
        return Some((text, "write 'module: id or name', one to an entry".to_owned()));
    };
    let key = python::text(key);
    if let Some((module, _)) = key.split_once('.') {
        let text = format!(
            "Invalid requisite type '{key}' in state '{id}', in SLS '{sls}'. Requisite types must not contain dots, did \
             you mean '{module}'?"
        );
        return Some((text, format!("write '{module}: {}'", python::text(value))));
    }
    if !value.is_scalar() {
        let text =
            format!("Illegal requisite \"{}\" in SLS \"{sls}\", please check your syntax.\n", python::text(value));
        return Some((text, "the value is the id or the name of one state".to_owned()));
    }
    None
}
