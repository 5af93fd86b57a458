//! [`StateIndex`]: finds states by the values of their arguments.

use std::collections::HashMap;

use rocksalt_core::Value;

use super::High;

/// The id and the module of a state.
pub(super) type StateRef = (String, String);

/// An index of high data at one point in time.
#[derive(Default)]
pub(super) struct StateIndex {
    /// Ids by module and by the value of any single argument; a state that has the value twice is listed twice.
    by_value: HashMap<String, HashMap<String, Vec<String>>>,
    /// States by the argument `name`; the first state wins.
    by_name: HashMap<String, StateRef>,
    by_sls: HashMap<String, Vec<StateRef>>,
}

impl StateIndex {
    pub fn new(high: &High) -> StateIndex {
        let mut index = StateIndex::default();
        for (id, body) in &high.states {
            for module in body.states() {
                let found = || (id.clone(), module.name.clone());
                index.by_sls.entry(body.sls.to_string()).or_default().push(found());
                for item in module.body.items() {
                    if let Some(Value::String(value)) = item.single().map(|argument| &argument.value) {
                        let values = index.by_value.entry(module.name.clone()).or_default();
                        values.entry(value.clone()).or_default().push(id.clone());
                    }
                    if let super::ModuleItem::Arguments(arguments) = item {
                        for name in arguments.iter().filter(|argument| argument.is("name")) {
                            if let Value::String(name) = &name.value {
                                index.by_name.entry(name.clone()).or_insert_with(found);
                            }
                        }
                    }
                }
            }
        }
        index
    }

    /// The ids whose state of this module has the value in any argument.
    pub fn with_value(&self, module: &str, value: &str) -> &[String] {
        self.by_value.get(module).and_then(|values| values.get(value)).map_or(&[], Vec::as_slice)
    }

    pub fn with_name(&self, name: &str) -> Option<&StateRef> {
        self.by_name.get(name)
    }

    /// The states of an sls, without those that it includes.
    pub fn in_sls(&self, sls: &str) -> &[StateRef] {
        self.by_sls.get(sls).map_or(&[], Vec::as_slice)
    }
}
