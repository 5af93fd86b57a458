//! Renders what is wanted and all that it includes, each sls once, and numbers the states.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::map::Entry;
use rocksalt_core::yaml::Content;
use rocksalt_core::{Map, Value};

use super::read::{Part, Reader};
use super::{Body, Declaration, High, Item, auto_order};
use crate::fault::Fault;
use crate::files::Spot;
use crate::python;
use crate::render::Stage;
use crate::session::Session;
use crate::top::Matches;

/// How deeply includes may nest.
const MAX_DEPTH: usize = 200;

/// States get their numbers from here upwards.
const FIRST_NUMBER: i64 = 10_000;

pub(super) fn gather(session: &Session<'_>, matches: &Matches) -> Result<High, Vec<Fault>> {
    let mut gatherer = Gatherer {
        session,
        matches,
        rendered: HashSet::new(),
        number: auto_order(session.setting.options).then_some(FIRST_NUMBER),
    };
    let mut high = Part::default();
    let mut faults = Vec::new();
    for (saltenv, wanted) in matches {
        if !session.tree.has_environment(saltenv) {
            let text = format!("No matching salt environment for environment '{saltenv}' found");
            let known = session.tree.environments().iter().map(String::as_str);
            faults.push(Fault::new(text).nearest(saltenv, known));
        }
        for wish in wanted {
            let mut found = session.tree.matching(saltenv, wish);
            if found.is_empty() {
                found.push(wish.clone());
            }
            for sls in found {
                if gatherer.rendered.contains(&key(saltenv, &sls)) {
                    continue;
                }
                let (part, mut errors) = gatherer.sls(&sls, saltenv, None, 0);
                merge(&mut high, part, &mut errors, session);
                for error in &mut errors {
                    if error.text.starts_with(&format!("Specified SLS {wish} in saltenv")) {
                        error.text = format!("No matching sls found for '{wish}' in env '{saltenv}'");
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

struct Gatherer<'s, 'a> {
    session: &'s Session<'a>,
    matches: &'s Matches,
    /// Every sls is rendered once for each environment, however often it is included.
    rendered: HashSet<String>,
    /// The next number; `None` if states aren't numbered.
    number: Option<i64>,
}

impl Gatherer<'_, '_> {
    /// One sls with everything it includes. `from` is where it was included, if it was.
    fn sls(&mut self, sls: &str, saltenv: &str, from: Option<Spot>, depth: usize) -> (Part, Vec<Fault>) {
        let missing = |text: String| {
            let fault = match from {
                Some(spot) => self.session.files.borrow().fault(spot, text),
                None => Fault::new(text),
            };
            let names = self.session.tree.names(saltenv);
            (Part::default(), vec![fault.nearest(sls, names.iter().map(String::as_str))])
        };
        let found = match self.session.tree.find(saltenv, sls) {
            Ok(Some(found)) => found,
            Ok(None) => {
                return missing(format!(
                    "Specified SLS {sls} in saltenv {saltenv} is not available on the salt master or through a \
                     configured fileserver"
                ));
            }
            Err(reason) => return missing(format!("SLS {sls} in saltenv {saltenv} could not be read: {reason}")),
        };
        if depth > MAX_DEPTH {
            return missing(format!("SLS {sls} is included through more than {MAX_DEPTH} others"));
        }
        let output = self.session.render(saltenv, sls, &found, &Map::new());
        self.rendered.insert(key(saltenv, sls));
        let node = match output.result {
            Ok(Stage::Data(node)) => node,
            Ok(Stage::Text(_)) => return self.not_a_map(sls, output.file, None),
            Err(error) => return (Part::default(), vec![self.session.sls_fault(output.file, &error, saltenv, sls)]),
        };
        let Content::Map(pairs) = node.content else {
            return self.not_a_map(sls, output.file, Some(&node.into_value()));
        };
        let (sls_name, saltenv_name) = (Arc::from(sls), Arc::from(saltenv));
        let files = self.session.files.borrow();
        let mut reader =
            Reader { sls: &sls_name, saltenv: &saltenv_name, file: output.file, files: &files, faults: Vec::new() };
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

    fn not_a_map(&self, sls: &str, file: u32, contents: Option<&Value>) -> (Part, Vec<Fault>) {
        let files = self.session.files.borrow();
        let text = format!("SLS {sls} does not render to a dictionary");
        let fault = files.fault(Spot::new(file, 1, 1), text).hint("a state file is a map of ids; is a colon missing?");
        let mut faults = vec![fault];
        faults.extend(contents.map(|contents| {
            let text = format!("Error when rendering state with contents: {}", python::text(contents));
            files.fault(Spot::new(file, 1, 1), text)
        }));
        (Part::default(), faults)
    }

    fn include(
        &mut self,
        includer: &Includer<'_>,
        part: &mut Part,
        entry: Value,
        spot: Spot,
        depth: usize,
        faults: &mut Vec<Fault>,
    ) {
        let fault = |text: String| self.session.files.borrow().fault(spot, text);
        let (saltenv, target) = match entry {
            Value::String(sls) => (includer.saltenv.to_owned(), sls),
            Value::Map(map) => match map.into_iter().next_back() {
                Some((saltenv, sls)) => (python::text(&saltenv), python::text(&sls)),
                None => return,
            },
            other => {
                let text = format!(
                    "Badly formatted include {} found in include in SLS '{}:{}'",
                    python::text(&other),
                    includer.saltenv,
                    includer.sls
                );
                return faults.push(fault(text).hint("an include is the name of an sls, such as 'web.server'"));
            }
        };
        let any_of_the_matches = saltenv == "_xenv";
        if !self.session.tree.has_environment(&saltenv) {
            let text = format!(
                "Nonexistent saltenv '{saltenv}' found in include of '{target}' within SLS '{}:{}'",
                includer.saltenv, includer.sls
            );
            let known = self.session.tree.environments().iter().map(String::as_str);
            return faults.push(fault(text).nearest(&saltenv, known));
        }
        let target = match includer.resolve(&target) {
            Some(target) => target,
            None => {
                let text = format!(
                    "Attempted relative include of '{target}' within SLS '{}:{}' goes beyond top level package ",
                    includer.saltenv, includer.sls
                );
                return faults.push(fault(text).hint("each dot is one level up; there are fewer levels"));
            }
        };
        let candidates: Vec<&String> = self.matches.keys().collect();
        let is_there = |saltenv: &str| !self.session.tree.matching(saltenv, &target).is_empty();
        let resolved: Vec<String> = if any_of_the_matches {
            candidates.iter().filter(|saltenv| is_there(saltenv)).map(|saltenv| (*saltenv).clone()).collect()
        } else if self.matches.contains_key(&saltenv) || is_there(&saltenv) {
            vec![saltenv.clone()]
        } else {
            Vec::new()
        };
        if resolved.len() != 1 && !resolved.iter().any(|saltenv| saltenv == includer.saltenv) {
            let text = if resolved.is_empty() {
                let places = if any_of_the_matches {
                    candidates.iter().map(|saltenv| saltenv.as_str()).collect::<Vec<_>>().join(", ")
                } else {
                    saltenv.clone()
                };
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
            return faults.push(fault(text));
        }
        let in_saltenv = if resolved.len() == 1 { resolved[0].as_str() } else { includer.saltenv };
        // Salt looks for the names in the includer's environment, whichever was asked for.
        let mut names = self.session.tree.matching(includer.saltenv, &target);
        if names.is_empty() {
            names.push(target);
        }
        for name in names {
            if self.rendered.contains(&key(in_saltenv, &name)) {
                continue;
            }
            let (mut included, errors) = self.sls(&name, in_saltenv, Some(spot), depth + 1);
            for body in included.states.values_mut() {
                body.included_from.push(includer.sls.clone());
            }
            merge(part, included, faults, self.session);
            faults.extend(errors);
        }
    }

    /// What was included has its numbers already, so it comes before the includer.
    fn assign_numbers(&mut self, part: &mut Part) {
        let Some(number) = &mut self.number else { return };
        let bodies = part.states.values_mut().chain(part.misfits.iter_mut().map(|(_, body)| body));
        for body in bodies.filter(|body| !body.numbered) {
            body.numbered = true;
            for module in body.modules.iter_mut().filter(|module| !module.name.starts_with('_')) {
                let spot = module.spot;
                let Body::List(items) = &mut module.body else { continue };
                if items.iter().filter_map(Item::first).any(|argument| argument.is("order")) {
                    continue;
                }
                items.push(Item::argument("order", *number, spot));
                *number += 1;
            }
        }
    }
}

struct Includer<'a> {
    sls: &'a Arc<str>,
    saltenv: &'a str,
    /// It is an `init.sls`: its relative includes start one level deeper.
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

/// Puts what was included behind what is there; an id that is in both is a conflict.
fn merge(into: &mut Part, part: Part, faults: &mut Vec<Fault>, session: &Session<'_>) {
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
                faults.push(conflict(entry.key(), entry.get(), &body, session));
                entry.insert(body);
            }
            Entry::Vacant(entry) => drop(entry.insert(body)),
        }
    }
}

fn conflict(id: &str, first: &Declaration, second: &Declaration, session: &Session<'_>) -> Fault {
    let text = format!(
        "Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is '{id}' and is found in \
         SLS '{}:{}' and SLS '{}:{}'",
        first.saltenv, first.sls, second.saltenv, second.sls
    );
    let files = session.files.borrow();
    let hint = match files.place(first.spot) {
        Some(place) => format!("the other one is at {place}; rename one of them, or use 'extend'"),
        None => "rename one of them, or use 'extend'".to_owned(),
    };
    files.fault(second.spot, text).hint(hint)
}

fn key(saltenv: &str, sls: &str) -> String {
    format!("{saltenv}:{sls}")
}
