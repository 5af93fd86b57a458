//! Renders pillar files with their includes, and merges them.

use std::collections::HashMap;

use rocksalt_core::yaml::{Node, NodeContent};
use rocksalt_core::{Map, Value};

use super::PillarCompiler;
use crate::fault::SlsFault;
use crate::files::Spot;
use crate::options::switch;
use crate::python;
use crate::render::{self, PipeData};
use crate::top::TopMatches;
use crate::tree::SlsFile;

/// The data that each sls rendered to, without its includes.
type RenderedSls = HashMap<String, Option<Map>>;

/// The depth limit of includes.
const MAX_DEPTH: usize = 200;

impl PillarCompiler<'_, '_> {
    /// Merges all files into the given pillar, in the order of the top file.
    pub(super) fn render(&mut self, given: Map, matches: &TopMatches) -> Map {
        let mut pillar = given;
        for (saltenv, wanted) in matches {
            let mut rendered = RenderedSls::new();
            let mut files = Vec::new();
            for pattern in wanted {
                if !self.compilation.tree.has_environment(saltenv) {
                    self.no_environment(saltenv);
                }
                let found = self.compilation.tree.matching(saltenv, pattern);
                if found.is_empty() { files.push(pattern.clone()) } else { files.extend(found) }
            }
            for sls in files {
                if let Some(data) = self.sls(&sls, saltenv, &mut rendered, &Map::new(), None, 0) {
                    pillar = self.policy.merge(pillar, data);
                }
            }
        }
        pillar
    }

    fn sls(
        &mut self,
        sls: &str,
        saltenv: &str,
        rendered: &mut RenderedSls,
        defaults: &Map,
        from: Option<Spot>,
        depth: usize,
    ) -> Option<Map> {
        let found = self.find(sls, saltenv, from, depth)?;
        let output = self.compilation.render(saltenv, sls, &found, defaults);
        let pairs = match output.result {
            Ok(PipeData::Data(Node { content: NodeContent::Map(pairs), .. })) => Some(pairs),
            Ok(_) => {
                self.not_a_map(sls, output.file);
                None
            }
            Err(error) => {
                self.render_failed(sls, output.file, &error);
                None
            }
        };
        let Some(pairs) = pairs else {
            rendered.insert(sls.to_owned(), None);
            return None;
        };
        let (mut data, mut include) = (Map::new(), None);
        for (key, value) in pairs {
            if key.as_str() == Some("include") {
                include = Some(value);
            } else {
                data.insert(key.into_value(), value.into_value());
            }
        }
        rendered.insert(sls.to_owned(), Some(data.clone()));
        let Some(include) = include else { return Some(data) };
        let spot = Spot::new(output.file, include.place.line, include.place.column);
        let entries = match include.content {
            NodeContent::List(entries) => entries,
            content => {
                let value = Node { place: include.place, content }.into_value();
                data.insert("include", value);
                let text = format!("Include Declaration in SLS '{sls}' is not formed as a list");
                let fault = self.compilation.files.borrow().fault(spot, text).hint("put a dash before each sls");
                self.error(fault);
                return Some(data);
            }
        };
        let includer =
            PillarIncluder { sls, saltenv, file: output.file, is_package: found.path.ends_with("/init.sls"), depth };
        Some(self.includes(&includer, data, entries, rendered, defaults))
    }

    /// Finds the file of an sls; `None` if there is none, which is an error unless it may be missing.
    fn find(&mut self, sls: &str, saltenv: &str, from: Option<Spot>, depth: usize) -> Option<SlsFile> {
        match self.compilation.tree.find(saltenv, sls) {
            Ok(Some(found)) if depth <= MAX_DEPTH => return Some(found),
            Ok(Some(_)) => {
                self.error(SlsFault::new(format!("SLS '{sls}' is included through more than {MAX_DEPTH} others")));
            }
            Ok(None) => {
                if !self.may_be_missing.contains(&(saltenv.to_owned(), sls.to_owned())) {
                    self.missing(sls, saltenv, from);
                }
            }
            Err(reason) => {
                self.error(SlsFault::new(format!(
                    "SLS '{sls}' in environment '{saltenv}' could not be read: {reason}"
                )));
            }
        }
        None
    }

    /// Reports a render error. The reason may quote a secret, so a target sees it only if `pillar_safe_render_error` is
    /// off.
    fn render_failed(&mut self, sls: &str, file: u32, error: &render::Error) {
        let reason = format!("Rendering SLS '{sls}' failed, render error:\n{}", error.text);
        let fault = self.compilation.fault(file, error, reason);
        self.faults.details.push(fault.clone());
        let safe = !self.compilation.inputs.options.contains_key("pillar_safe_render_error")
            || switch(self.compilation.inputs.options, "pillar_safe_render_error");
        self.faults.errors.push(if safe {
            let text = format!("Rendering SLS '{sls}' failed. Please see master log for details.");
            SlsFault { text, excerpt: None, hint: None, ..fault }
        } else {
            fault
        });
    }

    fn includes(
        &mut self,
        includer: &PillarIncluder<'_>,
        mut data: Map,
        entries: Vec<Node>,
        rendered: &mut RenderedSls,
        defaults: &Map,
    ) -> Map {
        let mut included: Option<Map> = None;
        // As in Salt, the defaults of an entry apply to the following ones too.
        let mut defaults = defaults.clone();
        for entry in entries {
            let spot = Spot::new(includer.file, entry.place.line, entry.place.column);
            let (name, key) = match entry.into_value() {
                Value::Map(map) => {
                    let Some((name, options)) = map.into_iter().next() else { continue };
                    let options = options.as_map().cloned().unwrap_or_default();
                    defaults = options.get("defaults").and_then(Value::as_map).cloned().unwrap_or_default();
                    (python::text(&name), options.get("key").filter(|key| key.truth()).map(python::text))
                }
                other => (python::text(&other), None),
            };
            for target in self.targets(includer, &name) {
                let part = match rendered.get(&target) {
                    Some(there) => there.clone(),
                    None => self.sls(&target, includer.saltenv, rendered, &defaults, Some(spot), includer.depth + 1),
                };
                let Some(mut part) = part.filter(|part| !part.is_empty()) else { continue };
                for step in key.iter().flat_map(|key| key.rsplit(':')) {
                    part = Map::from_iter([(step.into(), part.into())]);
                }
                if self.policy.includes_win {
                    data = self.policy.merge(data, part);
                } else {
                    included = Some(match included {
                        Some(before) => self.policy.merge(before, part),
                        None => part,
                    });
                }
            }
        }
        match included {
            Some(included) => self.policy.merge(included, data),
            None => data,
        }
    }

    /// The sls that an include names. Salt looks it up twice: from the top, and relative to the includer.
    fn targets(&mut self, includer: &PillarIncluder<'_>, name: &str) -> Vec<String> {
        if !self.compilation.tree.has_environment(includer.saltenv) {
            self.no_environment(includer.saltenv);
            return vec![name.to_owned()];
        }
        let from_top = name.trim_start_matches('.').replace('/', ".");
        let mut targets = self.compilation.tree.matching(includer.saltenv, &from_top);
        let resolved = match name.strip_prefix('.') {
            Some(rest) => {
                let mut parts: Vec<&str> = includer.sls.split('.').collect();
                if !includer.is_package {
                    parts.pop();
                }
                parts.push(rest);
                parts.join(".")
            }
            None => name.to_owned(),
        };
        targets.extend(self.compilation.tree.matching(includer.saltenv, &resolved));
        if targets.is_empty() {
            targets.push(resolved);
        }
        targets
    }

    fn missing(&mut self, sls: &str, saltenv: &str, from: Option<Spot>) {
        if !self.compilation.tree.has_environment(saltenv) {
            return;
        }
        let text = format!("Specified SLS '{sls}' in environment '{saltenv}' is not available on the salt master");
        let fault = match from {
            Some(spot) => self.compilation.files.borrow().fault(spot, text),
            None => SlsFault::new(text),
        };
        let names = self.compilation.tree.names(saltenv);
        self.error(fault.nearest(sls, names.iter().map(String::as_str)));
    }

    fn no_environment(&mut self, saltenv: &str) {
        self.error(SlsFault::new(format!("No matching pillar environment for environment '{saltenv}' found")));
    }

    fn not_a_map(&mut self, sls: &str, file: u32) {
        let text = format!("SLS '{sls}' does not render to a dictionary");
        let fault = self.compilation.files.borrow().fault(Spot::new(file, 1, 1), text);
        self.error(fault);
    }
}

struct PillarIncluder<'a> {
    sls: &'a str,
    saltenv: &'a str,
    file: u32,
    is_package: bool,
    depth: usize,
}
