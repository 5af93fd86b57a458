//! Ansible inventories in INI and YAML format: groups become nodegroups, variables become pillar.

mod files;
mod hosts;
mod ini;
mod variables;
mod yaml;

use std::path::Path;

use indexmap::IndexMap;
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::value::Value;

use super::{Error, FaultReport, FileRoster, RosterSource, Settings, names, read_text};

pub(super) fn open(settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    Ok(Box::new(FileRoster { path: settings.path("ansible")?, settings: settings.clone(), read }))
}

fn read(path: &Path, settings: &Settings) -> Result<Roster, Error> {
    let text = read_text(path)?;
    let mut report = FaultReport::new(path.display().to_string());
    let inventory =
        if yaml::is_yaml(path, &text) { yaml::parse(&text, &mut report) } else { ini::parse(&text, &mut report) };
    let roster = inventory.roster(path.parent(), settings, &mut report);
    report.finish(roster)
}

/// The group of all hosts.
const ALL: &str = "all";
/// The group of hosts that are in no other group.
const UNGROUPED: &str = "ungrouped";

#[derive(Default)]
struct Inventory {
    groups: IndexMap<String, InventoryGroup>,
    hosts: IndexMap<String, InventoryHost>,
}

#[derive(Default)]
struct InventoryGroup {
    hosts: Vec<String>,
    children: Vec<(String, usize)>,
    variables: HostVariables,
}

#[derive(Default)]
struct InventoryHost {
    line: usize,
    variables: HostVariables,
}

/// Values with their origins.
type HostVariables = IndexMap<String, (Value, String)>;

impl Inventory {
    fn group(&mut self, name: &str) -> &mut InventoryGroup {
        self.groups.entry(name.to_owned()).or_default()
    }

    /// Adds a host, new or known, to a group.
    fn add_host(&mut self, group: &str, name: &str, line: usize, variables: HostVariables) {
        let host =
            self.hosts.entry(name.to_owned()).or_insert_with(|| InventoryHost { line, ..InventoryHost::default() });
        host.variables.extend(variables);
        let hosts = &mut self.group(group).hosts;
        if !hosts.iter().any(|known| known == name) {
            hosts.push(name.to_owned());
        }
    }

    fn roster(&self, folder: Option<&Path>, settings: &Settings, report: &mut FaultReport) -> Roster {
        let mut roster = Roster::default();
        let depths = self.depths(report);
        // Deeper groups take precedence; at the same depth the last by name.
        let all = ALL.to_owned();
        let mut order: Vec<&String> = self.groups.keys().collect();
        if !self.groups.contains_key(ALL) {
            order.push(&all);
        }
        order.sort_by_key(|name| (depths.get(*name).copied().unwrap_or(1), name.as_str()));
        let load = |group: &&String| ((*group).clone(), files::load(folder, "group_vars", group, report));
        let group_files: IndexMap<String, HostVariables> = order.iter().map(load).collect();
        for (name, host) in &self.hosts {
            if let Err(message) = names::check_id(name) {
                report.add(host.line, message);
                continue;
            }
            let mine = |group: &&&String| group.as_str() == ALL || self.contains_host(group, name, 0);
            let mut variables = HostVariables::new();
            for group in order.iter().filter(mine) {
                variables.extend(self.groups.get(*group).map(|group| group.variables.clone()).unwrap_or_default());
            }
            // Variables in files take precedence over those in the inventory.
            for group in order.iter().filter(mine) {
                variables.extend(group_files.get(*group).cloned().unwrap_or_default());
            }
            variables.extend(host.variables.clone());
            variables.extend(files::load(folder, "host_vars", name, report));
            let entry: Option<RosterEntry> = variables::entry(name, host.line, variables, folder, settings, report);
            roster.entries.extend(entry);
        }
        roster.nodegroups = self.nodegroups();
        roster
    }

    /// The depth of each group below the top. A group that contains itself is reported and left out.
    fn depths(&self, report: &mut FaultReport) -> IndexMap<String, usize> {
        let mut depths: IndexMap<String, usize> = self.groups.keys().map(|name| (name.clone(), 1)).collect();
        depths.insert(ALL.into(), 0);
        for round in 0..=self.groups.len() {
            let mut changed = false;
            for (name, group) in &self.groups {
                for (child, line) in &group.children {
                    let wanted = depths.get(name).copied().unwrap_or(1) + 1;
                    if depths.get(child).is_none_or(|depth| *depth < wanted) && child != ALL {
                        if round == self.groups.len() {
                            report.add(*line, format!("the group '{child}' contains itself"));
                            continue;
                        }
                        depths.insert(child.clone(), wanted);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        depths
    }

    fn contains_host(&self, group: &str, host: &str, depth: usize) -> bool {
        let Some(group) = self.groups.get(group).filter(|_| depth <= self.groups.len()) else { return false };
        group.hosts.iter().any(|name| name == host)
            || group.children.iter().any(|(child, _)| self.contains_host(child, host, depth + 1))
    }

    /// Each group with hosts, as a list target.
    fn nodegroups(&self) -> Vec<(String, String)> {
        let named = self.groups.keys().filter(|name| *name != ALL && *name != UNGROUPED);
        let members = |name: &String| {
            let hosts: Vec<&str> =
                self.hosts.keys().map(String::as_str).filter(|host| self.contains_host(name, host, 0)).collect();
            (!hosts.is_empty()).then(|| (name.clone(), format!("L@{}", hosts.join(","))))
        };
        named.filter_map(members).collect()
    }
}
