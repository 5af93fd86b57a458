//! Targets from an `ssh_config` file: every host that is named without wildcards.

use std::path::{Path, PathBuf};

use rocksalt_core::pattern::glob;
use rocksalt_core::roster::{Roster, RosterEntry};

use super::entry::EntryBuilder;
use super::{Error, FaultReport, FileRoster, RosterSource, Settings, names, read_text, ssh_options};
use rocksalt_core::yaml::{Node, NodeContent, NodePosition};

/// How deeply includes may nest.
const MAX_DEPTH: usize = 16;

pub(super) fn open(settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    let own = settings.home.as_ref().map(|home| home.join(".ssh/config"));
    let path = settings.path.clone().or(own).ok_or(Error::NoPath("sshconfig"))?;
    Ok(Box::new(FileRoster { path, settings: settings.clone(), read }))
}

fn read(path: &Path, settings: &Settings) -> Result<Roster, Error> {
    let mut config = SshConfigFile {
        settings,
        folder: path.parent().unwrap_or(Path::new("")),
        directives: Vec::new(),
        names: Vec::new(),
    };
    let mut report = FaultReport::new(path.display().to_string());
    config.file(path, &mut vec![HostCondition::Always], MAX_DEPTH, &mut report)?;
    let mut roster = Roster::default();
    for (name, origin) in &config.names {
        if let Err(message) = names::check_id(name) {
            report.add_at(origin.clone(), message);
        } else if let Some(entry) = config.entry(name, origin, &mut report) {
            roster.entries.push(entry);
        }
    }
    report.finish(roster)
}

struct SshConfigFile<'a> {
    settings: &'a Settings,
    folder: &'a Path,
    /// In file order; the first value of a key wins.
    directives: Vec<SshDirective>,
    /// The hosts, each with the origin of its first mention.
    names: Vec<(String, String)>,
}

struct SshDirective {
    /// All must match; an included file inherits those of its include.
    conditions: Vec<HostCondition>,
    key: String,
    value: String,
    origin: String,
}

#[derive(Clone)]
enum HostCondition {
    Always,
    /// A `Match` on something that is unknown before connecting.
    Never,
    Host(Vec<String>),
}

impl HostCondition {
    fn matches(&self, name: &str) -> bool {
        match self {
            HostCondition::Always => true,
            HostCondition::Never => false,
            HostCondition::Host(patterns) => {
                let fits = |pattern: &str| glob::matches(&pattern.replace('[', "[[]"), name);
                let refused = patterns.iter().any(|pattern| pattern.strip_prefix('!').is_some_and(fits));
                !refused && patterns.iter().any(|pattern| fits(pattern))
            }
        }
    }
}

impl SshConfigFile<'_> {
    /// The last of `conditions` is the current block's.
    fn file(
        &mut self,
        path: &Path,
        conditions: &mut Vec<HostCondition>,
        depth: usize,
        report: &mut FaultReport,
    ) -> Result<(), Error> {
        let text = read_text(path)?;
        for (index, line) in text.lines().enumerate() {
            let origin = format!("{}:{}", path.display(), index + 1);
            let Some((key, values)) = words(line) else { continue };
            let block = match key.to_ascii_lowercase().as_str() {
                "host" => {
                    for name in values.iter().filter(|name| !name.contains(['*', '?']) && !name.starts_with('!')) {
                        if !self.names.iter().any(|(known, _)| known == name) {
                            self.names.push((name.clone(), origin.clone()));
                        }
                    }
                    Some(HostCondition::Host(values))
                }
                "match" => Some(match values.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                    ["all"] => HostCondition::Always,
                    ["host" | "originalhost", patterns] => {
                        HostCondition::Host(patterns.split(',').map(str::to_owned).collect())
                    }
                    _ => HostCondition::Never,
                }),
                "include" => {
                    let Some(depth) = depth.checked_sub(1) else {
                        report.add_at(origin, format!("includes nest more than {MAX_DEPTH} deep"));
                        return Ok(());
                    };
                    for pattern in &values {
                        for included in expand(&self.path(pattern)) {
                            conditions.push(HostCondition::Always);
                            self.file(&included, conditions, depth, report)?;
                            conditions.pop();
                        }
                    }
                    None
                }
                _ => {
                    let value = values.join(" ");
                    self.directives.push(SshDirective { conditions: conditions.clone(), key, value, origin });
                    None
                }
            };
            if let (Some(block), Some(current)) = (block, conditions.last_mut()) {
                *current = block;
            }
        }
        Ok(())
    }

    fn entry(&self, name: &str, origin: &str, report: &mut FaultReport) -> Option<RosterEntry> {
        let place = NodePosition { line: 0, column: 0 };
        let node = Node { place, content: NodeContent::Scalar(name.into()) };
        let mut entry =
            EntryBuilder { settings: self.settings, folder: Some(self.folder) }.build(name, 0, &node, report)?;
        entry.origin = origin.to_owned();
        let mut seen: Vec<String> = Vec::new();
        for directive in
            self.directives.iter().filter(|it| it.conditions.iter().all(|condition| condition.matches(name)))
        {
            let key = directive.key.to_ascii_lowercase();
            if key != "identityfile" && seen.contains(&key) {
                continue;
            }
            let value = directive.value.replace("%h", name).replace("%n", name).replace("%%", "%");
            let done = match key.as_str() {
                "hostname" | "port" | "user" | "identityfile" | "certificatefile" | "connecttimeout"
                | "identitiesonly" | "proxyjump" | "userknownhostsfile" | "requesttty" => {
                    ssh_options::set(&key, &value, &mut entry, &|path| {
                        self.path(path.split(' ').next().unwrap_or(path))
                    })
                }
                "stricthostkeychecking" => {
                    // `no` is not supported: host keys are always checked.
                    entry.accept_new |= value == "accept-new";
                    Ok(())
                }
                "proxycommand" if value != "none" => {
                    entry.transport = "openssh".into();
                    Ok(())
                }
                // All other keys only concern ssh itself.
                _ => Ok(()),
            };
            if let Err(message) = done {
                report.add_at(directive.origin.clone(), format!("{}: {message}", directive.key));
            }
            seen.push(key);
        }
        if entry.transport == "openssh" {
            // ssh looks up the rest by this name.
            entry.host = name.to_owned();
        }
        Some(entry)
    }

    fn path(&self, written: &str) -> PathBuf {
        EntryBuilder { settings: self.settings, folder: Some(self.folder) }.path(&written.replace("%d", "~"))
    }
}

/// Parses `Key value…` or `Key=value`; values may be quoted.
fn words(line: &str) -> Option<(String, Vec<String>)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (key, rest) = line.split_once(|c: char| c.is_whitespace() || c == '=')?;
    let rest = rest.trim_start().strip_prefix('=').unwrap_or(rest).trim();
    let mut values = Vec::new();
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        let mut value = String::new();
        match c {
            c if c.is_whitespace() => continue,
            '#' => break,
            '"' => value.extend(chars.by_ref().take_while(|c| *c != '"')),
            c => {
                value.push(c);
                while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
                    value.push(c);
                }
            }
        }
        values.push(value);
    }
    Some((key.to_owned(), values))
}

/// The files that match a path with wildcards, sorted. A missing file is no error, as in ssh.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let part = part.as_os_str().to_string_lossy().into_owned();
        if !glob::is_pattern(&part) {
            found.iter_mut().for_each(|path| path.push(&part));
            continue;
        }
        found = found
            .iter()
            .flat_map(|folder| {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                let mut paths: Vec<PathBuf> =
                    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
                paths.retain(|path| {
                    path.file_name().is_some_and(|name| {
                        let name = name.to_string_lossy();
                        !name.starts_with('.') && glob::matches(&part, &name)
                    })
                });
                paths.sort();
                paths
            })
            .collect();
    }
    found.retain(|path| path.is_file());
    found
}
