//! Inventories in YAML format (or JSON, which is YAML).

use std::path::Path;

use rocksalt_core::nearest::hint;
use rocksalt_core::yaml::{self, Node};

use super::{ALL, HostVariables, Inventory, UNGROUPED, hosts};
use crate::roster::FaultReport;

/// How deeply groups may nest.
const MAX_DEPTH: usize = 64;

pub(super) fn is_yaml(path: &Path, text: &str) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("yml" | "yaml" | "json") => true,
        Some("ini") => false,
        _ => yaml::load(text).is_ok_and(|node| node.pairs().is_some()),
    }
}

pub(super) fn parse(text: &str, report: &mut FaultReport) -> Inventory {
    let mut inventory = Inventory::default();
    match yaml::load(text) {
        Ok(root) if root.is_null() => {}
        Ok(root) => {
            for (key, node) in pairs(&root, "an inventory is a map of groups", report) {
                group(&name(key), node, &mut inventory, MAX_DEPTH, report);
            }
        }
        Err(error) => report.add(error.place.line, error.message),
    }
    inventory
}

fn group(group_name: &str, node: &Node, inventory: &mut Inventory, depth: usize, report: &mut FaultReport) {
    let Some(depth) = depth.checked_sub(1) else { return report.add(node.place.line, "groups nest too deeply") };
    if group_name.is_empty() || group_name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return report.add(node.place.line, format!("{group_name:?} can't be the name of a group"));
    }
    inventory.group(group_name);
    for (key, node) in pairs(node, &format!("the group '{group_name}' is a map"), report) {
        match name(key).as_str() {
            "hosts" => add_hosts(group_name, node, inventory, report),
            "vars" => {
                let variables = variables(node, report);
                inventory.group(group_name).variables.extend(variables);
            }
            "children" => {
                for (key, node) in pairs(node, "'children' is a map of groups", report) {
                    let child = name(key);
                    // All groups are below `all` anyway.
                    if group_name != ALL {
                        inventory.group(group_name).children.push((child.clone(), key.place.line));
                    }
                    group(&child, node, inventory, depth, report);
                }
            }
            other => {
                let hint = hint(other, ["hosts", "vars", "children"]);
                report.add(key.place.line, format!("'{other}' is not a key of a group{hint}"));
            }
        }
    }
}

fn add_hosts(group_name: &str, node: &Node, inventory: &mut Inventory, report: &mut FaultReport) {
    let group_name = if group_name == ALL { UNGROUPED } else { group_name };
    for (key, node) in pairs(node, "'hosts' is a map of hosts", report) {
        let variables = variables(node, report);
        match hosts::expand(&name(key)) {
            Ok(names) => {
                for name in names {
                    inventory.add_host(group_name, &name, key.place.line, variables.clone());
                }
            }
            Err(message) => report.add(key.place.line, message),
        }
    }
}

pub(super) fn variables(node: &Node, report: &mut FaultReport) -> HostVariables {
    let pairs = pairs(node, "variables are a map", report);
    let origin = |key: &Node| report.origin(key.place.line);
    pairs.iter().map(|(key, value)| (name(key), (value.clone().into_value(), origin(key)))).collect()
}

fn name(key: &Node) -> String {
    key.scalar().map(ToString::to_string).unwrap_or_default()
}

/// The pairs of a map; null is an empty map.
fn pairs<'a>(node: &'a Node, wanted: &str, report: &mut FaultReport) -> &'a [(Node, Node)] {
    match node.pairs() {
        Some(pairs) => pairs,
        None => {
            if !node.is_null() {
                report.add(node.place.line, format!("{wanted}, not {}", node.kind()));
            }
            &[]
        }
    }
}
