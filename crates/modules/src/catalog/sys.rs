//! `sys`: the functions of the agent and their arguments, as far as a target knows them.
//!
//! The controller answers these calls itself, with the documentation (`rocksalt-catalog`).

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::Result;
use crate::machine::System;
use crate::text::glob;

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<Argspec>(),
    entry::<Doc>(),
    entry::<ListFunctions>(),
    entry::<ListModules>(),
    entry::<ListStateFunctions>(),
    entry::<ListStateModules>(),
    entry::<StateDoc>(),
];

/// The arguments of functions, in Salt's form.
///
/// ```text
/// rocksalt '*' sys.argspec cmd.run
/// rocksalt '*' sys.argspec 'file.get*'
/// ```
#[function("sys.argspec", reads, repeatable)]
pub struct Argspec {
    /// A function, a noun, or a shell pattern; all functions if left out.
    #[default]
    module: String,
}

impl Function for Argspec {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let specs = super::matching(&self.module).map(|entry| (Value::from(entry.name), names(entry)));
        Ok(specs.collect::<Map>().into())
    }
}

/// Without the documentation only the names are known.
fn names(entry: &CatalogFunction) -> Value {
    let fields = entry.arguments;
    let has = |name: &str| if fields.contains(&name) { Value::Bool(true) } else { Value::Null };
    let plain: Vec<Value> = fields
        .iter()
        .filter(|name| **name != entry.rest && **name != super::NAMED)
        .map(|name| (*name).into())
        .collect();
    Map::from_iter([
        ("args".into(), if plain.is_empty() { Value::Null } else { plain.into() }),
        ("defaults".into(), Value::Null),
        ("varargs".into(), has(entry.rest)),
        ("kwargs".into(), has(super::NAMED)),
    ])
    .into()
}

/// The documentation of functions.
///
/// ```text
/// rocksalt '*' sys.doc
/// rocksalt '*' sys.doc cmd file.find
/// ```
#[function("sys.doc", reads, repeatable)]
pub struct Doc {
    /// Functions, nouns or shell patterns; all functions if left out.
    args: Vec<String>,
}

impl Function for Doc {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Err(elsewhere(&self.args))
    }
}

/// The names of functions.
///
/// ```text
/// rocksalt '*' sys.list_functions
/// rocksalt '*' sys.list_functions file 'sys.list_*'
/// ```
#[function("sys.list_functions", reads, repeatable)]
pub struct ListFunctions {
    /// Functions, nouns or shell patterns; all functions if left out.
    args: Vec<String>,
}

impl Function for ListFunctions {
    type Output = Vec<&'static str>;

    fn call(self, _: &dyn System) -> Result<Vec<&'static str>> {
        let patterns = if self.args.is_empty() { vec![String::new()] } else { self.args };
        let mut names: Vec<&str> =
            patterns.iter().flat_map(|pattern| super::matching(pattern)).map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

/// The nouns that functions begin with.
///
/// ```text
/// rocksalt '*' sys.list_modules
/// rocksalt '*' sys.list_modules 's*'
/// ```
#[function("sys.list_modules", reads, repeatable)]
pub struct ListModules {
    /// Shell patterns; all nouns if left out.
    args: Vec<String>,
}

impl Function for ListModules {
    type Output = Vec<&'static str>;

    fn call(self, _: &dyn System) -> Result<Vec<&'static str>> {
        let wanted = |noun: &str| self.args.is_empty() || self.args.iter().any(|pattern| glob::matches(pattern, noun));
        Ok(super::nouns().filter(|noun| wanted(noun)).collect())
    }
}

/// The names of states.
///
/// ```text
/// rocksalt '*' sys.list_state_functions file
/// ```
#[function("sys.list_state_functions", reads, repeatable)]
pub struct ListStateFunctions {
    /// States, nouns or shell patterns; all states if left out.
    args: Vec<String>,
}

impl Function for ListStateFunctions {
    type Output = Vec<&'static str>;

    fn call(self, _: &dyn System) -> Result<Vec<&'static str>> {
        let patterns = if self.args.is_empty() { vec![String::new()] } else { self.args };
        let mut names: Vec<&str> =
            patterns.iter().flat_map(|pattern| super::matching_states(pattern)).map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

/// The nouns that states begin with.
///
/// ```text
/// rocksalt '*' sys.list_state_modules
/// ```
#[function("sys.list_state_modules", reads, repeatable)]
pub struct ListStateModules {
    /// Shell patterns; all nouns if left out.
    args: Vec<String>,
}

impl Function for ListStateModules {
    type Output = Vec<&'static str>;

    fn call(self, _: &dyn System) -> Result<Vec<&'static str>> {
        let nouns = super::states().filter_map(|entry| entry.name.split('.').next());
        let wanted = |noun: &&str| self.args.is_empty() || self.args.iter().any(|pattern| glob::matches(pattern, noun));
        let mut nouns: Vec<&str> = nouns.filter(wanted).collect();
        nouns.dedup();
        Ok(nouns)
    }
}

/// The documentation of states.
///
/// ```text
/// rocksalt '*' sys.state_doc file.managed
/// ```
#[function("sys.state_doc", reads, repeatable)]
pub struct StateDoc {
    /// States, nouns or shell patterns; all states if left out.
    args: Vec<String>,
}

impl Function for StateDoc {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Err(elsewhere(&self.args))
    }
}

fn elsewhere(names: &[String]) -> crate::Error {
    let words = names.join(" ");
    crate::Error::failed("documentation is kept on the controller, not on targets")
        .hint(format!("`rocksalt doc {words}` shows it").replace(" `", "`"))
}
