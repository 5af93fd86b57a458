//! Top files: they select the sls of a machine in each environment.

mod gather;
mod matcher;
mod merge;

use indexmap::IndexMap;
use rocksalt_core::Value;

use crate::compilation::Compilation;
use crate::fault::SlsFault;
use crate::files::Spot;
use crate::inputs::CompileInputs;
use crate::python;

pub(crate) use matcher::TopMatcher;

/// The selected sls by environment.
pub type TopMatches = IndexMap<String, Vec<String>>;

/// The sls that the top files select for this machine, with duplicates and unexpanded patterns.
pub fn top(inputs: &CompileInputs<'_>) -> Result<TopMatches, Vec<SlsFault>> {
    matches(&Compilation::new(inputs.clone()))
}

pub(crate) fn matches(compilation: &Compilation<'_>) -> Result<TopMatches, Vec<SlsFault>> {
    let tops = gather::gather(compilation);
    let top = merge::merge(compilation, tops).map_err(|fault| vec![fault])?;
    let faults = verify(compilation, &top);
    if !faults.is_empty() {
        return Err(faults);
    }
    let matcher = TopMatcher::new(&compilation.inputs);
    let mut collector = TopCollector { compilation, matcher, matches: TopMatches::new(), faults: Vec::new() };
    for (saltenv, targets) in &top {
        if compilation.inputs.saltenv.is_none_or(|wanted| wanted == saltenv) {
            for (target, wanted) in targets {
                collector.collect(saltenv, target, &wanted.entries, wanted.spot);
            }
        }
    }
    if collector.faults.is_empty() { Ok(collector.matches) } else { Err(collector.faults) }
}

/// The merged top file: by environment, then by target.
pub(crate) type MergedTop = IndexMap<String, IndexMap<String, TopTarget>>;

/// The contents below a target.
#[derive(Clone, Debug)]
pub(crate) struct TopTarget {
    /// Names of sls, and maps that name the target's kind.
    pub entries: Value,
    pub spot: Spot,
}

/// Checks the form of a top file; the texts are Salt's.
fn verify(compilation: &Compilation<'_>, top: &MergedTop) -> Vec<SlsFault> {
    let mut faults = Vec::new();
    let mut fault = |spot, text: String| faults.push(compilation.files.borrow().fault(spot, text));
    for (saltenv, targets) in top {
        if saltenv.is_empty() {
            let spot = targets.values().next().map(|wanted| wanted.spot).unwrap_or_default();
            fault(spot, "Empty saltenv statement in top file".to_owned());
        }
        for (target, TopTarget { entries, spot }) in targets {
            let Some(items) = entries.as_list() else {
                fault(
                    *spot,
                    format!(
                        "Malformed topfile: state declarations for matcher {} in saltenv {} are not formed as a list (got \
                         {})",
                        python::repr(&target.as_str().into()),
                        python::repr(&saltenv.as_str().into()),
                        python::type_name(entries)
                    ),
                );
                continue;
            };
            for item in items {
                match item {
                    Value::Map(map) => {
                        for value in map.values().filter(|value| !value.truth()) {
                            fault(
                                *spot,
                                format!(
                                    "Improperly formatted top file matcher in saltenv {}: {} file",
                                    python::text(item),
                                    python::text(value)
                                ),
                            );
                        }
                    }
                    Value::String(sls) if sls.is_empty() => {
                        fault(*spot, format!("Environment {saltenv} contains an empty sls index"));
                    }
                    _ => {}
                }
            }
        }
    }
    faults
}

struct TopCollector<'s, 'a> {
    compilation: &'s Compilation<'a>,
    matcher: TopMatcher<'a>,
    matches: TopMatches,
    faults: Vec<SlsFault>,
}

impl TopCollector<'_, '_> {
    fn collect(&mut self, saltenv: &str, target: &str, entries: &Value, spot: Spot) {
        let items = match entries {
            Value::List(items) => items.as_slice(),
            other => std::slice::from_ref(other),
        };
        match self.matcher.matches(target, items) {
            Ok(true) => {}
            Ok(false) => return,
            Err(reason) => return self.faults.push(self.compilation.files.borrow().fault(spot, reason)),
        }
        self.matches.entry(saltenv.to_owned()).or_default();
        for item in items {
            match item {
                Value::String(sls) => self.add(saltenv, sls),
                Value::Map(map) => {
                    if let Some(Value::Map(inner)) = map.get("subfilter") {
                        for (target, entries) in inner.iter() {
                            self.collect(saltenv, &python::text(target), entries, spot);
                        }
                    }
                    // `- dev: web` names an sls of another environment.
                    if let Some((other, Value::String(sls))) = map.iter().next_back() {
                        let other = python::text(other);
                        if self.compilation.tree.has_environment(&other) {
                            self.add(&other, sls);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, saltenv: &str, sls: &str) {
        self.matches.entry(saltenv.to_owned()).or_default().push(sls.to_owned());
    }
}
