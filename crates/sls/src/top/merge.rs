//! Merges the top files of several environments into one.

use rocksalt_core::Value;
use rocksalt_core::yaml::Node;

use super::gather::{TopFile, TopFiles, strategy};
use super::{MergedTop, TopTarget};
use crate::compilation::Compilation;
use crate::fault::SlsFault;
use crate::files::Spot;
use crate::options::text;
use crate::python;

pub(super) fn merge(compilation: &Compilation<'_>, mut files: TopFiles) -> Result<MergedTop, SlsFault> {
    let mut merger = TopMerger { compilation, top: MergedTop::new() };
    match strategy(&compilation.inputs) {
        "merge_all" => {
            for file in files.values().flatten() {
                for (saltenv, targets) in &file.sections {
                    merger.merge_section(file, saltenv, targets)?;
                }
            }
        }
        "same" => {
            let fallback = text(compilation.inputs.options, "default_top").unwrap_or_default();
            for (saltenv, own) in &files {
                let is_empty = |files: &[TopFile]| files.iter().all(|file| file.sections.is_empty());
                let chosen = if is_empty(own) { files.get(fallback).unwrap_or(own) } else { own };
                merger.add_environment(chosen, saltenv)?;
            }
        }
        _ => {
            // The entries for an environment in base's top file come before the environment's own.
            for file in files.shift_remove("base").unwrap_or_default() {
                for (saltenv, targets) in &file.sections {
                    merger.add_section(&file, saltenv, targets)?;
                }
            }
            for (saltenv, own) in &files {
                if !merger.top.contains_key(saltenv) {
                    merger.add_environment(own, saltenv)?;
                }
            }
        }
    }
    Ok(merger.top)
}

struct TopMerger<'s, 'a> {
    compilation: &'s Compilation<'a>,
    top: MergedTop,
}

impl TopMerger<'_, '_> {
    /// Adds only the section of this environment.
    fn add_environment(&mut self, files: &[TopFile], saltenv: &str) -> Result<(), SlsFault> {
        for file in files {
            for (name, targets) in file.sections.iter().filter(|(name, _)| name.as_str() == Some(saltenv)) {
                self.add_section(file, name, targets)?;
            }
        }
        Ok(())
    }

    /// Adds a section; a later target replaces an equal one.
    fn add_section(&mut self, file: &TopFile, saltenv: &Node, targets: &Node) -> Result<(), SlsFault> {
        for (target, entries) in self.pairs(file, saltenv, targets)? {
            let wanted = wanted(file, target, entries);
            self.section(saltenv).insert(name(target), wanted);
        }
        Ok(())
    }

    /// Adds a section; the sls of equal targets are joined.
    fn merge_section(&mut self, file: &TopFile, saltenv: &Node, targets: &Node) -> Result<(), SlsFault> {
        for (target, entries) in self.pairs(file, saltenv, targets)? {
            let new = wanted(file, target, entries);
            let section = self.section(saltenv);
            match section.get_mut(&name(target)) {
                Some(there) => there.entries = joined(&there.entries, &new.entries),
                None => drop(section.insert(name(target), new)),
            }
        }
        Ok(())
    }

    fn section(&mut self, saltenv: &Node) -> &mut indexmap::IndexMap<String, TopTarget> {
        self.top.entry(name(saltenv)).or_default()
    }

    fn pairs<'n>(&self, file: &TopFile, saltenv: &Node, targets: &'n Node) -> Result<&'n [(Node, Node)], SlsFault> {
        if let Some(pairs) = targets.pairs() {
            return Ok(pairs);
        }
        let spot = Spot::new(file.number, saltenv.place.line, saltenv.place.column);
        let text = "Unable to render top file. No targets found.";
        let hint = format!("below '{}' come targets such as '*', and below each a list of sls", name(saltenv));
        Err(self.compilation.files.borrow().fault(spot, text).hint(hint))
    }
}

fn wanted(file: &TopFile, target: &Node, entries: &Node) -> TopTarget {
    let spot = Spot::new(file.number, target.place.line, target.place.column);
    TopTarget { entries: entries.clone().into_value(), spot }
}

/// Joins two lists of entries: the last map names the target's kind, and each sls occurs once.
fn joined(first: &Value, second: &Value) -> Value {
    let items = |value: &Value| value.as_list().unwrap_or_default().to_vec();
    let (first, second) = (items(first), items(second));
    let kind = |items: &[Value]| items.iter().rev().find(|item| item.as_map().is_some()).cloned();
    let mut merged: Vec<Value> = kind(&second).or_else(|| kind(&first)).into_iter().collect();
    merged.extend(first.into_iter().filter(|item| item.as_str().is_some()));
    for item in second.into_iter().filter(|item| item.as_str().is_some()) {
        if !merged.contains(&item) {
            merged.push(item);
        }
    }
    Value::List(merged)
}

fn name(node: &Node) -> String {
    python::text(node.scalar().unwrap_or(&Value::Null))
}
