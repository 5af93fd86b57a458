//! Ansible's inventories, INI and YAML: groups become nodegroups, variables pillar.

mod files;
mod hosts;
mod ini;
mod variables;
mod yaml;

use std::path::Path;

use indexmap::IndexMap;
use rocksalt_core::roster::{Entry, Roster};
use rocksalt_core::value::Value;

use super::{Error, File, Report, Settings, Source, names, read_text};

pub(super) fn open(settings: &Settings) -> Result<Box<dyn Source>, Error> {
    Ok(Box::new(File { path: settings.path("ansible")?, settings: settings.clone(), read }))
}

fn read(path: &Path, settings: &Settings) -> Result<Roster, Error> {
    let text = read_text(path)?;
    let mut report = Report::new(path.display().to_string());
    let inventory =
        if yaml::is_yaml(path, &text) { yaml::parse(&text, &mut report) } else { ini::parse(&text, &mut report) };
    let roster = inventory.roster(path.parent(), settings, &mut report);
    report.finish(roster)
}

/// The group that every host is in.
const ALL: &str = "all";
/// The hosts that are in no other group.
const UNGROUPED: &str = "ungrouped";

#[derive(Default)]
struct Inventory {
    groups: IndexMap<String, Group>,
    hosts: IndexMap<String, Host>,
}

#[derive(Default)]
struct Group {
    hosts: Vec<String>,
    children: Vec<(String, usize)>,
    variables: Variables,
}

#[derive(Default)]
struct Host {
    line: usize,
    variables: Variables,
}

/// A value and where it was written.
type Variables = IndexMap<String, (Value, String)>;

impl Inventory {
    fn group(&mut self, name: &str) -> &mut Group {
        self.groups.entry(name.to_owned()).or_default()
    }

    /// Puts a host, maybe known already, into a group.
    fn add_host(&mut self, group: &str, name: &str, line: usize, variables: Variables) {
        let host = self.hosts.entry(name.to_owned()).or_insert_with(|| Host { line, ..Host::default() });
        host.variables.extend(variables);
        let hosts = &mut self.group(group).hosts;
        if !hosts.iter().any(|known| known == name) {
            hosts.push(name.to_owned());
        }
    }

    fn roster(&self, folder: Option<&Path>, settings: &Settings, report: &mut Report) -> Roster {
        let mut roster = Roster::default();
        let depths = self.depths(report);
        // The nearer to the host, the stronger; of groups at the same depth the last by name.
        let all = ALL.to_owned();
        let mut order: Vec<&String> = self.groups.keys().collect();
        if !self.groups.contains_key(ALL) {
            order.push(&all);
        }
        order.sort_by_key(|name| (depths.get(*name).copied().unwrap_or(1), name.as_str()));
        let load = |group: &&String| ((*group).clone(), files::load(folder, "group_vars", group, report));
        let group_files: IndexMap<String, Variables> = order.iter().map(load).collect();
        for (name, host) in &self.hosts {
            if let Err(message) = names::check_id(name) {
                report.add(host.line, message);
                continue;
            }
            let mine = |group: &&&String| group.as_str() == ALL || self.holds(group, name, 0);
            let mut variables = Variables::new();
            for group in order.iter().filter(mine) {
                variables.extend(self.groups.get(*group).map(|group| group.variables.clone()).unwrap_or_default());
            }
            // What stands in files is stronger than what the inventory says of any group.
            for group in order.iter().filter(mine) {
                variables.extend(group_files.get(*group).cloned().unwrap_or_default());
            }
            variables.extend(host.variables.clone());
            variables.extend(files::load(folder, "host_vars", name, report));
            let entry: Option<Entry> = variables::entry(name, host.line, variables, folder, settings, report);
            roster.entries.extend(entry);
        }
        roster.nodegroups = self.nodegroups();
        roster
    }

    /// How far below the top a group is. What contains itself is reported and left out.
    fn depths(&self, report: &mut Report) -> IndexMap<String, usize> {
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

    fn holds(&self, group: &str, host: &str, depth: usize) -> bool {
        let Some(group) = self.groups.get(group).filter(|_| depth <= self.groups.len()) else { return false };
        group.hosts.iter().any(|name| name == host)
            || group.children.iter().any(|(child, _)| self.holds(child, host, depth + 1))
    }

    /// Each group that has hosts, as a list of them.
    fn nodegroups(&self) -> Vec<(String, String)> {
        let named = self.groups.keys().filter(|name| *name != ALL && *name != UNGROUPED);
        let members = |name: &String| {
            let hosts: Vec<&str> =
                self.hosts.keys().map(String::as_str).filter(|host| self.holds(name, host, 0)).collect();
            (!hosts.is_empty()).then(|| (name.clone(), format!("L@{}", hosts.join(","))))
        };
        named.filter_map(members).collect()
    }
}
