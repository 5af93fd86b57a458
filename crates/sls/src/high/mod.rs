//! High data: the states of all included files, as written.

mod data;
mod declaration;
mod exclude;
mod extend;
mod include;
mod index;
mod read;
mod requisite_in;
mod verify;

use rocksalt_core::hash::IndexMap;
use rocksalt_core::{Map, Value};

use crate::compilation::Compilation;
use crate::fault::{SlsFault, SlsFaultKind};
use crate::files::{SourceFiles, Spot};
use crate::inputs::CompileInputs;
use crate::options::switch;
use crate::top::{self, TopMatches};

pub(crate) use declaration::{Declaration, DeclaredArgument, ModuleBody, ModuleDeclaration, ModuleItem};

/// All states by id, before `extend`, the `_in` requisites and `exclude` are applied.
#[derive(Clone, Debug, Default)]
pub struct High {
    pub(crate) states: IndexMap<String, Declaration>,
    /// Declarations whose id isn't text, which are reported as errors at the end.
    pub(crate) misfits: Vec<(Value, Declaration)>,
    pub(crate) extends: Vec<Extend>,
    pub(crate) excludes: Vec<Value>,
    pub(crate) files: SourceFiles,
    /// Problems that the user should know about, but that aren't errors.
    pub warnings: Vec<SlsFault>,
}

/// One entry below `extend:`.
#[derive(Clone, Debug)]
pub(crate) struct Extend {
    pub name: String,
    pub body: Declaration,
}

/// Which states to compile.
#[derive(Clone, Copy, Debug)]
pub enum SlsSelection<'a> {
    /// Those that the top file selects.
    Highstate,
    /// These sls; the top file isn't used.
    Sls(&'a [String]),
}

/// Salt's text for a highstate with nothing to do.
pub const NO_TOP_MATCH: &str = "No Top file or master_tops data matches found. Please see master log for details.";

/// The first error text if the pillar has errors; those follow it.
pub const PILLAR_FAILED: &str = "Pillar failed to render with the following messages:";

/// Renders and merges all selected sls with their includes.
pub fn compile(inputs: &CompileInputs<'_>, wanted: SlsSelection<'_>) -> Result<High, Vec<SlsFault>> {
    if let Some(Value::List(errors)) = inputs.pillar.get("_errors") {
        let texts = errors.iter().map(|error| SlsFault::new(error.to_string()));
        return Err(std::iter::once(SlsFault::new(PILLAR_FAILED)).chain(texts).collect());
    }
    let compilation = Compilation::new(inputs.clone());
    let matches = match wanted {
        SlsSelection::Sls(names) => {
            let saltenv = inputs.saltenv.unwrap_or("base").to_owned();
            TopMatches::from([(saltenv, names.to_vec())])
        }
        SlsSelection::Highstate => {
            let matches = top::matches(&compilation)?;
            if matches.is_empty() {
                let fault = SlsFault::new(NO_TOP_MATCH).kind(SlsFaultKind::NoTopMatch);
                return Err(vec![fault.hint("add this machine to a top.sls, or name the sls")]);
            }
            matches
        }
    };
    let mut high = include::gather(&compilation, &matches)?;
    high.files = compilation.files.take();
    high.warnings = compilation.warnings.take();
    Ok(high)
}

impl High {
    pub fn is_empty(&self) -> bool {
        self.states.is_empty() && self.misfits.is_empty() && self.extends.is_empty()
    }

    /// The ids in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.states.keys().map(String::as_str)
    }

    /// The high data in Salt's form.
    pub fn to_value(&self) -> Value {
        let mut map: Map = self.states.iter().map(|(id, body)| (id.as_str().into(), body.to_value())).collect();
        map.extend(self.misfits.iter().map(|(id, body)| (id.clone(), body.to_value())));
        if !self.extends.is_empty() {
            let one =
                |extend: &Extend| Value::Map(Map::from_iter([(extend.name.as_str().into(), extend.body.to_value())]));
            map.insert("__extend__", Value::List(self.extends.iter().map(one).collect()));
        }
        if !self.excludes.is_empty() {
            map.insert("__exclude__", Value::List(self.excludes.clone()));
        }
        map.into()
    }

    /// Adds excludes for `state.highstate exclude=…`: names of sls, or maps with `sls` or `id`.
    pub fn exclude(&mut self, entries: impl IntoIterator<Item = Value>) {
        self.excludes.extend(entries);
    }

    /// Applies `extend`, the `_in` requisites, `use` and `exclude`.
    pub(crate) fn apply_modifiers(&mut self, options: &Map) -> Result<(), Vec<SlsFault>> {
        let mut faults = self.apply_extends(false);
        faults.extend(self.verify());
        if !faults.is_empty() {
            return Err(faults);
        }
        let faults = self.apply_requisites_in(options);
        self.apply_excludes();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    fn fault(&self, spot: Spot, text: impl Into<String>) -> SlsFault {
        self.files.fault(spot, text)
    }
}

/// Whether states get order numbers in the order of the files.
pub(crate) fn auto_order(options: &Map) -> bool {
    !options.contains_key("state_auto_order") || switch(options, "state_auto_order")
}
