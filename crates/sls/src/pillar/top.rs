//! The pillar's top files, which select the pillar sls of a machine.

use indexmap::IndexMap;
use rocksalt_core::yaml::{Node, NodeContent};
use rocksalt_core::{Map, Value};

use super::PillarCompiler;
use crate::fault::SlsFault;
use crate::files::Spot;
use crate::options::{names, text};
use crate::python;
use crate::render::PipeData;
use crate::top::{TopMatcher, TopMatches};
use crate::tree::SlsFile;

/// The contents below each target, by environment and target.
pub(super) type PillarTop = IndexMap<String, IndexMap<String, PillarTopTarget>>;

/// A rendered top file: environments with their contents.
struct PillarTopFile {
    number: u32,
    sections: Vec<(Node, Node)>,
}

#[derive(Default)]
pub(super) struct PillarTopTarget {
    order: i64,
    entries: Vec<Value>,
}

impl PillarCompiler<'_, '_> {
    pub(super) fn top(&mut self) -> PillarTop {
        let files = self.top_files();
        let mut top = PillarTop::new();
        for PillarTopFile { number, sections } in files {
            for (saltenv, targets) in sections {
                let saltenv_name = python::text(saltenv.scalar().unwrap_or(&Value::Null));
                let spot = |node: &Node| Spot::new(number, node.place.line, node.place.column);
                let Some(pairs) = targets.pairs() else {
                    let text = "Error encountered while rendering pillar top file.";
                    let fault = self.compilation.files.borrow().fault(spot(&saltenv), text);
                    self.error(fault.hint("below an environment come targets, and below each a list of sls"));
                    return PillarTop::new();
                };
                for (target, entries) in pairs {
                    let target_name = python::text(target.scalar().unwrap_or(&Value::Null));
                    let Value::List(entries) = entries.clone().into_value() else {
                        let text = format!("The pillar top file's target '{target_name}' is not formed as a list");
                        let fault = self.compilation.files.borrow().fault(spot(target), text);
                        self.error(fault.hint("put a dash before each sls"));
                        continue;
                    };
                    let read = self.target(&saltenv_name, entries);
                    top.entry(saltenv_name.clone()).or_default().insert(target_name, read);
                }
            }
        }
        for targets in top.values_mut() {
            targets.sort_by(|_, a, _, b| a.order.cmp(&b.order));
        }
        top
    }

    fn target(&mut self, saltenv: &str, entries: Vec<Value>) -> PillarTopTarget {
        let mut target = PillarTopTarget::default();
        let mut sls: Vec<Value> = Vec::new();
        let mut may_be_missing = false;
        for entry in entries {
            match &entry {
                Value::String(_) if !sls.contains(&entry) => sls.push(entry),
                Value::Map(map) => {
                    if let Some(order) = map.get("order") {
                        target.order = match order {
                            Value::Int(order) => *order,
                            other => other.to_string().trim().parse().unwrap_or(0),
                        };
                    }
                    may_be_missing |= map.get("ignore_missing").is_some_and(Value::truth);
                    if map.contains_key("match") {
                        target.entries.push(entry);
                    }
                }
                _ => {}
            }
        }
        if may_be_missing {
            let names = sls.iter().map(|name| (saltenv.to_owned(), name.to_string()));
            self.may_be_missing.extend(names);
        }
        target.entries.extend(sls);
        target
    }

    /// The sls of this machine by environment, each once.
    pub(super) fn matches(&mut self, top: &PillarTop) -> TopMatches {
        let matcher = TopMatcher::new(&self.compilation.inputs);
        let mut matches = TopMatches::new();
        for (saltenv, targets) in top {
            if self.compilation.inputs.pillarenv.is_some_and(|wanted| wanted != saltenv) {
                continue;
            }
            for (name, target) in targets {
                match matcher.matches(name, &target.entries) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(reason) => {
                        self.error(SlsFault::new(format!(
                            "The pillar top file's target '{name}' can't be read: {reason}"
                        )));
                        continue;
                    }
                }
                let wanted: &mut Vec<String> = matches.entry(saltenv.clone()).or_default();
                for sls in target.entries.iter().filter_map(Value::as_str) {
                    if !wanted.iter().any(|there| there == sls) {
                        wanted.push(sls.to_owned());
                    }
                }
            }
        }
        let order = names(self.compilation.inputs.options, "env_order");
        let place = |saltenv: &String| order.iter().position(|name| name == saltenv).unwrap_or(usize::MAX);
        matches.sort_by(|a, _, b, _| place(a).cmp(&place(b)));
        matches
    }

    /// The rendered top files with their numbers; included ones come after all others.
    fn top_files(&mut self) -> Vec<PillarTopFile> {
        let options = self.compilation.inputs.options;
        let name = text(options, "state_top").unwrap_or("top.sls");
        let path = name.strip_prefix("salt://").unwrap_or(name).trim_start_matches('/').to_owned();
        let mut by_environment: IndexMap<String, Vec<PillarTopFile>> = IndexMap::new();
        let mut includes = Vec::new();
        for saltenv in self.environments() {
            let Ok(Some(contents)) = self.compilation.tree.read(&saltenv, &path) else { continue };
            match self.top_file(&saltenv, &SlsFile { path: path.clone(), contents }) {
                Ok((file, included)) => {
                    by_environment.entry(saltenv.clone()).or_default().push(file);
                    includes.extend(included.into_iter().map(|sls| (saltenv.clone(), sls)));
                }
                Err(fault) => {
                    let text = format!("Rendering Primary Top file failed, render error:\n{}", fault.text);
                    self.error(SlsFault { text, ..fault });
                    break;
                }
            }
        }
        for (saltenv, sls) in includes {
            let Ok(Some(found)) = self.compilation.tree.find(&saltenv, &sls) else { continue };
            match self.top_file(&saltenv, &found) {
                Ok((file, _)) => by_environment.entry(saltenv).or_default().push(file),
                Err(fault) => {
                    let text = format!("Rendering Top file {sls} failed, render error:\n{}", fault.text);
                    self.error(SlsFault { text, ..fault });
                }
            }
        }
        by_environment.into_values().flatten().collect()
    }

    fn top_file(&self, saltenv: &str, found: &SlsFile) -> Result<(PillarTopFile, Vec<String>), SlsFault> {
        let output = self.compilation.render(saltenv, "", found, &Map::new());
        let pairs = match output.result {
            Ok(PipeData::Data(Node { content: NodeContent::Map(pairs), .. })) => pairs,
            Ok(_) => return Err(SlsFault::new("it is no map of environments")),
            Err(error) => return Err(self.compilation.fault(output.file, &error, error.text.clone())),
        };
        let (mut sections, mut included) = (Vec::new(), Vec::new());
        for (key, value) in pairs {
            if key.as_str() == Some("include") {
                included.extend(value.items().unwrap_or_default().iter().filter_map(Node::as_str).map(str::to_owned));
            } else {
                sections.push((key, value));
            }
        }
        Ok((PillarTopFile { number: output.file, sections }, included))
    }

    /// The environments whose top files are used.
    fn environments(&self) -> Vec<String> {
        let inputs = &self.compilation.inputs;
        let mut known: Vec<String> = vec!["base".to_owned()];
        // A tree for environments without their own tree serves the requested one.
        let asked = inputs.pillarenv.or(inputs.saltenv).unwrap_or("base");
        for name in inputs.sources.environments() {
            let name = if name == "__env__" { asked.to_owned() } else { name };
            if !known.contains(&name) {
                known.push(name);
            }
        }
        if let Some(pillarenv) = inputs.pillarenv {
            known.retain(|name| name == pillarenv);
        } else if text(inputs.options, "pillar_source_merging_strategy") == Some("none") {
            let only = inputs.saltenv.unwrap_or("base");
            known.retain(|name| name == only);
        }
        known
    }
}
