//! Renders the selected sls and everything they include, each sls once, and numbers the states.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::map::Entry;
use rocksalt_core::yaml::NodeContent;
use rocksalt_core::{Map, Value};

use super::read::{SlsPart, SlsReader};
use super::{Declaration, High, ModuleBody, ModuleItem, auto_order};
use crate::compilation::Compilation;
use crate::fault::{SlsFault, SlsFaultKind};
use crate::files::Spot;
use crate::python;
use crate::render::PipeData;
use crate::top::TopMatches;
use crate::tree::SlsFile;

/// The depth limit of includes.
const MAX_DEPTH: usize = 200;

/// The first order number.
const FIRST_NUMBER: i64 = 10_000;

pub(super) fn gather(compilation: &Compilation<'_>, matches: &TopMatches) -> Result<High, Vec<SlsFault>> {
    let mut resolver = IncludeResolver {
        compilation,
        matches,
        rendered: HashSet::new(),
        number: auto_order(compilation.inputs.options).then_some(FIRST_NUMBER),
    };
    let mut high = SlsPart::default();
    let mut faults = Vec::new();
    for (saltenv, wanted) in matches {
        if !compilation.tree.has_environment(saltenv) {
            let text = format!("No matching salt environment for environment '{saltenv}' found");
            let known = compilation.tree.environments().iter().map(String::as_str);
            faults.push(SlsFault::new(text).nearest(saltenv, known));
        }
        for pattern in wanted {
            let mut found = compilation.tree.matching(saltenv, pattern);
            if found.is_empty() {
                found.push(pattern.clone());
            }
            for sls in found {
                if resolver.rendered.contains(&key(saltenv, &sls)) {
                    continue;
                }
                let (part, mut errors) = resolver.sls(&sls, saltenv, None, 0);
                merge(&mut high, part, &mut errors, compilation);
                for error in &mut errors {
                    if error.kind == SlsFaultKind::MissingSls && sls == *pattern {
                        error.text = format!("No matching sls found for '{pattern}' in env '{saltenv}'");
                    }
                }
                faults.extend(errors);
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(High {
        states: high.states,
        misfits: high.misfits,
        extends: high.extends,
        excludes: high.excludes,
        ..High::default()
    })
}

struct IncludeResolver<'s, 'a> {
    compilation: &'s Compilation<'a>,
    matches: &'s TopMatches,
    /// The sls that were rendered: each is rendered once for each environment.
    rendered: HashSet<String>,
    /// The next order number; `None` if states aren't numbered.
    number: Option<i64>,
}

impl IncludeResolver<'_, '_> {
    /// Renders one sls with everything it includes. `from` is the position of the include, if there is one.
    fn sls(&mut self, sls: &str, saltenv: &str, from: Option<Spot>, depth: usize) -> (SlsPart, Vec<SlsFault>) {
        let found = match self.find(sls, saltenv, from, depth) {
            Ok(found) => found,
            Err(fault) => return (SlsPart::default(), vec![*fault]),
        };
        let output = self.compilation.render(saltenv, sls, &found, &Map::new());
        self.rendered.insert(key(saltenv, sls));
        let node = match output.result {
            Ok(PipeData::Data(node)) => node,
            Ok(PipeData::Text(_)) => return self.not_a_map(sls, output.file, None),
            Err(error) => {
                return (SlsPart::default(), vec![self.compilation.sls_fault(output.file, &error, saltenv, sls)]);
            }
        };
        let NodeContent::Map(pairs) = node.content else {
            return self.not_a_map(sls, output.file, Some(&node.into_value()));
        };
        let (sls_name, saltenv_name) = (Arc::from(sls), Arc::from(saltenv));
        let files = self.compilation.files.borrow();
        let mut reader =
            SlsReader { sls: &sls_name, saltenv: &saltenv_name, file: output.file, files: &files, faults: Vec::new() };
        let mut part = reader.read(pairs);
        let mut faults = reader.faults;
        drop(files);
        let includer = Includer { sls: &sls_name, saltenv, is_package: found.path.ends_with("/init.sls") };
        for (entry, spot) in std::mem::take(&mut part.includes) {
            self.include(&includer, &mut part, entry, spot, depth, &mut faults);
        }
        self.assign_numbers(&mut part);
        (part, faults)
    }

    fn find(&self, sls: &str, saltenv: &str, from: Option<Spot>, depth: usize) -> Result<SlsFile, Box<SlsFault>> {
        let fault = |kind: SlsFaultKind, text: String| {
            let fault = match from {
                Some(spot) => self.compilation.files.borrow().fault(spot, text),
                None => SlsFault::new(text),
            };
            let names = self.compilation.tree.names(saltenv);
            Box::new(fault.kind(kind).nearest(sls, names.iter().map(String::as_str)))
        };
        match self.compilation.tree.find(saltenv, sls) {
            Ok(Some(_)) if depth > MAX_DEPTH => {
                Err(fault(SlsFaultKind::Other, format!("SLS {sls} is included through more than {MAX_DEPTH} others")))
            }
            Ok(Some(found)) => Ok(found),
            Ok(None) => {
                let text = format!(
                    "Specified SLS {sls} in saltenv {saltenv} is not available on the salt master or through a \
                     configured fileserver"
                );
                Err(fault(if from.is_none() { SlsFaultKind::MissingSls } else { SlsFaultKind::Other }, text))
            }
            Err(reason) => {
                Err(fault(SlsFaultKind::Other, format!("SLS {sls} in saltenv {saltenv} could not be read: {reason}")))
            }
        }
    }

    fn not_a_map(&self, sls: &str, file: u32, contents: Option<&Value>) -> (SlsPart, Vec<SlsFault>) {
        let files = self.compilation.files.borrow();
        let text = format!("SLS {sls} does not render to a dictionary");
        let fault = files.fault(Spot::new(file, 1, 1), text).hint("a state file is a map of ids; is a colon missing?");
        let mut faults = vec![fault];
        faults.extend(contents.map(|contents| {
            let text = format!("Error when rendering state with contents: {}", python::text(contents));
            files.fault(Spot::new(file, 1, 1), text)
        }));
        (SlsPart::default(), faults)
    }

    /// Renders the sls that one entry of an `include` names, and merges them into `part`.
    fn include(
        &mut self,
        includer: &Includer<'_>,
        part: &mut SlsPart,
        entry: Value,
        spot: Spot,
        depth: usize,
        faults: &mut Vec<SlsFault>,
    ) {
        let (saltenv, target) = match self.include_target(includer, entry, spot) {
            Ok(Some(target)) => target,
            Ok(None) => return,
            Err(fault) => return faults.push(*fault),
        };
        let saltenv = match self.include_environment(includer, &saltenv, &target, spot) {
            Ok(saltenv) => saltenv,
            Err(fault) => return faults.push(*fault),
        };
        // Salt matches the names in the includer's environment, whichever environment the entry names.
        let mut names = self.compilation.tree.matching(includer.saltenv, &target);
        if names.is_empty() {
            names.push(target);
        }
        for name in names {
            if self.rendered.contains(&key(&saltenv, &name)) {
                continue;
            }
            let (mut included, errors) = self.sls(&name, &saltenv, Some(spot), depth + 1);
            for body in included.states.values_mut() {
                body.included_from.push(includer.sls.clone());
            }
            merge(part, included, faults, self.compilation);
            faults.extend(errors);
        }
    }

    /// The environment and the absolute name in an entry of an `include`; `None` for an empty entry.
    fn include_target(
        &self,
        includer: &Includer<'_>,
        entry: Value,
        spot: Spot,
    ) -> Result<Option<(String, String)>, Box<SlsFault>> {
        let fault = |text: String| self.compilation.files.borrow().fault(spot, text);
        let (saltenv, target) = match entry {
            Value::String(sls) => (includer.saltenv.to_owned(), sls),
            Value::Map(map) => match map.into_iter().next_back() {
                Some((saltenv, sls)) => (python::text(&saltenv), python::text(&sls)),
                None => return Ok(None),
            },
            other => {
                let text = format!(
                    "Badly formatted include {} found in include in SLS '{}:{}'",
                    python::text(&other),
                    includer.saltenv,
                    includer.sls
                );
                return Err(Box::new(fault(text).hint("an include is the name of an sls, such as 'web.server'")));
            }
        };
        if !self.compilation.tree.has_environment(&saltenv) {
            let text = format!(
                "Nonexistent saltenv '{saltenv}' found in include of '{target}' within SLS '{}:{}'",
                includer.saltenv, includer.sls
            );
            let known = self.compilation.tree.environments().iter().map(String::as_str);
            return Err(Box::new(fault(text).nearest(&saltenv, known)));
        }
        match includer.resolve(&target) {
            Some(target) => Ok(Some((saltenv, target))),
            None => {
                let text = format!(
                    "Attempted relative include of '{target}' within SLS '{}:{}' goes beyond top level package ",
                    includer.saltenv, includer.sls
                );
                Err(Box::new(fault(text).hint("each dot is one level up; there are fewer levels")))
            }
        }
    }

    /// The environment to include from; `_xenv` means the matched environment that has the sls.
    fn include_environment(
        &self,
        includer: &Includer<'_>,
        saltenv: &str,
        target: &str,
        spot: Spot,
    ) -> Result<String, Box<SlsFault>> {
        let any_of_the_matches = saltenv == "_xenv";
        let candidates = || self.matches.keys().map(String::as_str);
        let is_there = |saltenv: &str| !self.compilation.tree.matching(saltenv, target).is_empty();
        let resolved: Vec<&str> = if any_of_the_matches {
            candidates().filter(|saltenv| is_there(saltenv)).collect()
        } else if self.matches.contains_key(saltenv) || is_there(saltenv) {
            vec![saltenv]
        } else {
            Vec::new()
        };
        if let [one] = resolved[..] {
            return Ok(one.to_owned());
        }
        if resolved.contains(&includer.saltenv) {
            return Ok(includer.saltenv.to_owned());
        }
        let text = if resolved.is_empty() {
            let places =
                if any_of_the_matches { candidates().collect::<Vec<_>>().join(", ") } else { saltenv.to_owned() };
            format!(
                "Unknown include: Specified SLS {saltenv}: {target} is not available on the salt master in \
                 saltenv(s): {places} "
            )
        } else {
            format!(
                "Ambiguous include: Specified SLS {saltenv}: {target} is available on the salt master in multiple \
                 available saltenvs: {}",
                resolved.join(", ")
            )
        };
        Err(Box::new(self.compilation.files.borrow().fault(spot, text)))
    }

    /// Numbers the states that have no number. Included states are already numbered, so they come first.
    fn assign_numbers(&mut self, part: &mut SlsPart) {
        let Some(number) = &mut self.number else { return };
        let bodies = part.states.values_mut().chain(part.misfits.iter_mut().map(|(_, body)| body));
        for body in bodies.filter(|body| !body.numbered) {
            body.numbered = true;
            for module in body.modules.iter_mut().filter(|module| !module.name.starts_with('_')) {
                let spot = module.spot;
                let ModuleBody::List(items) = &mut module.body else { continue };
                if items.iter().filter_map(ModuleItem::first).any(|argument| argument.is("order")) {
                    continue;
                }
                items.push(ModuleItem::argument("order", *number, spot));
                *number += 1;
            }
        }
    }
}

struct Includer<'a> {
    sls: &'a Arc<str>,
    saltenv: &'a str,
    /// Whether the sls is an `init.sls`, whose relative includes start one level deeper.
    is_package: bool,
}

impl Includer<'_> {
    /// The absolute name of an include; `None` if it leaves the tree.
    fn resolve(&self, target: &str) -> Option<String> {
        let name = target.trim_start_matches('.');
        let levels = target.len() - name.len();
        if levels == 0 {
            return Some(target.to_owned());
        }
        let mut parts: Vec<&str> = self.sls.split('.').collect();
        if self.is_package {
            parts.push("init");
        }
        parts.truncate(parts.len().checked_sub(levels)?);
        parts.push(name);
        Some(parts.join("."))
    }
}

/// Appends an included part; an id that both have is a conflict.
fn merge(into: &mut SlsPart, part: SlsPart, faults: &mut Vec<SlsFault>, compilation: &Compilation<'_>) {
    into.extends.extend(part.extends);
    into.excludes.extend(part.excludes);
    into.misfits.extend(part.misfits);
    if into.states.is_empty() {
        into.states = part.states;
        return;
    }
    into.states.reserve(part.states.len());
    for (id, body) in part.states {
        match into.states.entry(id) {
            Entry::Occupied(mut entry) => {
                faults.push(conflict(entry.key(), entry.get(), &body, compilation));
                entry.insert(body);
            }
            Entry::Vacant(entry) => drop(entry.insert(body)),
        }
    }
}

fn conflict(id: &str, first: &Declaration, second: &Declaration, compilation: &Compilation<'_>) -> SlsFault {
    let text = format!(
        "Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is '{id}' and is found in \
         SLS '{}:{}' and SLS '{}:{}'",
        first.saltenv, first.sls, second.saltenv, second.sls
    );
    let files = compilation.files.borrow();
    let hint = match files.place(first.spot) {
        Some(place) => format!("the other one is at {place}; rename one of them, or use 'extend'"),
        None => "rename one of them, or use 'extend'".to_owned(),
    };
    files.fault(second.spot, text).hint(hint)
}

fn key(saltenv: &str, sls: &str) -> String {
    format!("{saltenv}:{sls}")
}
