//! Turns `use`, `use_in`, `require_in` and the like into extends of the states that they name.

use std::sync::Arc;

use indexmap::IndexMap;
use rocksalt_core::{Map, Value};

use super::index::{StateIndex, StateRef};
use super::{Declaration, DeclaredArgument, Extend, High, ModuleBody, ModuleDeclaration, ModuleItem};
use crate::fault::SlsFault;
use crate::files::Spot;
use crate::options::names;
use crate::python;

/// The keywords that are turned into extends.
const IN_KEYWORDS: [&str; 7] = ["require_in", "watch_in", "onfail_in", "onchanges_in", "use", "use_in", "prereq_in"];

/// The arguments that `use` never copies.
const NEVER_USED: [&str; 15] = [
    "require_in",
    "watch_in",
    "onfail_in",
    "onchanges_in",
    "use",
    "use_in",
    "prereq_in",
    "require",
    "watch",
    "prereq",
    "onfail",
    "onfail_stop",
    "onchanges",
    "name",
    "names",
];

impl High {
    pub(super) fn apply_requisites_in(&mut self, options: &Map) -> Vec<SlsFault> {
        let disabled = names(options, "disabled_requisites");
        let mut inverter =
            RequisiteInverter { high: self, index: None, extends: IndexMap::default(), faults: Vec::new() };
        for (id, body) in &inverter.high.states {
            for module in body.states() {
                for argument in module.body.items().iter().filter_map(ModuleItem::first) {
                    let Some(key) = argument.key.as_str() else { continue };
                    if IN_KEYWORDS.contains(&key) && !disabled.contains(&key) {
                        let source = RequisiteSource { id, module: &module.name, body, argument, key };
                        inverter.invert(&source);
                    }
                }
            }
        }
        let RequisiteInverter { extends, mut faults, .. } = inverter;
        self.extends = extends.into_iter().map(|(name, pending)| pending.into_extend(name)).collect();
        faults.extend(self.apply_extends(true));
        faults
    }
}

/// A requisite that changes other states, with its state.
struct RequisiteSource<'h> {
    id: &'h str,
    module: &'h str,
    body: &'h Declaration,
    argument: &'h DeclaredArgument,
    key: &'h str,
}

struct RequisiteInverter<'h> {
    high: &'h High,
    index: Option<StateIndex>,
    /// The pending extends by the name of the state to extend.
    extends: IndexMap<String, PendingExtend>,
    faults: Vec<SlsFault>,
}

impl<'h> RequisiteInverter<'h> {
    fn invert(&mut self, source: &RequisiteSource<'h>) {
        match &source.argument.value {
            Value::Map(map) => {
                for (module, name) in map.iter() {
                    let (module, name) = (python::text(module), python::text(name));
                    let right = self.check_module(source, &module, &name, "", source.argument.spot);
                    self.require(source, name, &right, source.argument.spot);
                }
            }
            Value::List(entries) => {
                for (position, entry) in entries.iter().enumerate() {
                    self.entry(source, entry, source.argument.entry(position));
                }
            }
            _ => {}
        }
    }

    fn entry(&mut self, source: &RequisiteSource<'h>, entry: &Value, spot: Spot) {
        let (module, name) = match entry {
            Value::Map(map) => match map.iter().next() {
                Some((module, name)) => (python::text(module), python::text(name)),
                None => return,
            },
            Value::String(name) => match self.bare(name) {
                Some((id, module)) => (module, id),
                // Salt ignores a name that no state has.
                None => return,
            },
            _ => return,
        };
        let targets: Vec<StateRef> =
            if module == "sls" { self.index().in_sls(&name).to_vec() } else { vec![(name.clone(), module.clone())] };
        self.check_module(source, &module, &name, ",", spot);
        for (name, module) in targets {
            match source.key {
                "use_in" => self.use_in(source, &name, &module),
                "use" => self.use_from(source, &name, &module),
                _ => self.require(source, name, &module, spot),
            }
        }
    }

    /// Finds the state of a bare name: an id's first module, or the first state with that `name`.
    fn bare(&mut self, name: &str) -> Option<StateRef> {
        if let Some(body) = self.high.states.get(name) {
            return body.states().next().map(|module| (name.to_owned(), module.name.clone()));
        }
        self.index().with_name(name).cloned()
    }

    /// Reports a module with a dot; returns the module without it.
    fn check_module(
        &mut self,
        source: &RequisiteSource<'h>,
        module: &str,
        name: &str,
        comma: &str,
        spot: Spot,
    ) -> String {
        let Some((right, _)) = module.split_once('.') else { return module.to_owned() };
        let kind = source.key.split('_').next().unwrap_or_default();
        let text = format!(
            "Invalid requisite in {kind}: {module} for {name}{comma} in SLS '{}'. Requisites must not contain dots, did \
             you mean '{right}'?",
            source.body.sls
        );
        let hint = format!("write '{right}: {name}'");
        self.faults.push(self.high.fault(spot, text).hint(hint));
        right.to_owned()
    }

    fn require(&mut self, source: &RequisiteSource<'h>, name: String, module: &str, spot: Spot) {
        let kind = source.key.split('_').next().unwrap_or_default();
        let reference = Value::Map(Map::from_iter([(source.module.into(), source.id.into())]));
        let pending = self.pending(name, spot);
        pending.sls = source.body.sls.clone();
        pending.saltenv = source.body.saltenv.clone();
        let items = pending.modules.entry(module.to_owned()).or_default();
        let there = items.iter_mut().find_map(|item| match item {
            ModuleItem::Arguments(arguments) => arguments.first_mut().filter(|argument| argument.is(kind)),
            _ => None,
        });
        match there {
            Some(DeclaredArgument { value: Value::List(references), entries, .. }) => {
                references.push(reference);
                entries.push(spot);
            }
            _ => items.push(ModuleItem::Arguments(vec![DeclaredArgument {
                key: kind.into(),
                value: Value::List(vec![reference]),
                spot,
                entries: vec![spot],
            }])),
        }
    }

    /// Copies the source's arguments to another state.
    fn use_in(&mut self, source: &RequisiteSource<'h>, name: &str, module: &str) {
        for id in self.named(name, module) {
            self.copy((source.id, source.module), (&id, module), source.argument.spot);
        }
    }

    /// Copies another state's arguments to the source.
    fn use_from(&mut self, source: &RequisiteSource<'h>, name: &str, module: &str) {
        for id in self.named(name, module) {
            self.copy((&id, module), (source.id, source.module), source.argument.spot);
        }
    }

    fn copy(&mut self, from: (&str, &str), to: (&str, &str), spot: Spot) {
        let high = self.high;
        let arguments = |(id, module): (&str, &str)| {
            let body = high.states.get(id).and_then(|body| body.module(module)).map(|module| &module.body);
            body.map_or(&[][..], ModuleBody::items).iter().filter(|item| item.single().is_some())
        };
        let theirs: Vec<&Value> = arguments(to).filter_map(ModuleItem::first).map(|argument| &argument.key).collect();
        let copied: Vec<ModuleItem> = arguments(from)
            .filter(|item| {
                item.first().is_some_and(|argument| {
                    !argument.key.as_str().is_some_and(|key| NEVER_USED.contains(&key))
                        && !theirs.contains(&&argument.key)
                })
            })
            .cloned()
            .collect();
        self.pending(to.0.to_owned(), spot).modules.entry(to.1.to_owned()).or_default().extend(copied);
    }

    /// The ids that a reference names: the id if it has the module, or else all states that have the name as an
    /// argument.
    fn named(&mut self, name: &str, module: &str) -> Vec<String> {
        if self.high.states.get(name).is_some_and(|body| body.module(module).is_some()) {
            return vec![name.to_owned()];
        }
        self.index().with_value(module, name).to_vec()
    }

    fn pending(&mut self, name: String, spot: Spot) -> &mut PendingExtend {
        self.extends.entry(name).or_insert_with(|| PendingExtend {
            sls: Arc::from("base"),
            saltenv: Arc::from("base"),
            spot,
            modules: IndexMap::default(),
        })
    }

    fn index(&mut self) -> &StateIndex {
        let high = self.high;
        self.index.get_or_insert_with(|| StateIndex::new(high))
    }
}

/// An extend under construction.
struct PendingExtend {
    /// The last sls that added to it.
    sls: Arc<str>,
    saltenv: Arc<str>,
    spot: Spot,
    modules: IndexMap<String, Vec<ModuleItem>>,
}

impl PendingExtend {
    fn into_extend(self, name: String) -> Extend {
        let PendingExtend { sls, saltenv, spot, modules } = self;
        let modules = modules
            .into_iter()
            .map(|(name, items)| ModuleDeclaration { name, spot, body: ModuleBody::List(items) })
            .collect();
        Extend { name, body: Declaration { sls, saltenv, included_from: Vec::new(), spot, modules, numbered: true } }
    }
}
