//! The text of a hosts file, and edits of it.

use std::path::Path;

use super::super::Verdict;
use crate::catalog::{Action, Plan};
use crate::machine::Probe;
use crate::{Error, Result};

pub struct HostsFile {
    text: String,
    lines: Vec<HostsLine>,
}

enum HostsLine {
    Remark(String),
    Host(HostEntry),
}

pub struct HostEntry {
    pub ip: String,
    pub names: Vec<String>,
    pub comment: Option<String>,
}

impl HostsFile {
    pub fn read(machine: &dyn Probe) -> Result<(String, HostsFile)> {
        let path = machine.options().get("hosts.file").map_or("/etc/hosts".into(), ToString::to_string);
        let content = match machine.read(Path::new(&path)) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io("read", &path, &error)),
        };
        Ok((path, HostsFile::new(String::from_utf8_lossy(&content).into_owned())))
    }

    /// As in Salt, several lines with one address count as one.
    fn new(text: String) -> HostsFile {
        let mut lines = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let Some(host) = HostEntry::read(line) else {
                lines.push(HostsLine::Remark(line.to_owned()));
                continue;
            };
            change(&mut lines, &host.ip, |known| {
                known.names.extend(host.names);
                known.comment = host.comment.or(known.comment.take());
            });
        }
        HostsFile { text, lines }
    }

    pub fn addresses(&self) -> impl Iterator<Item = &HostEntry> {
        self.lines.iter().filter_map(|line| match line {
            HostsLine::Host(host) => Some(host),
            HostsLine::Remark(_) => None,
        })
    }

    pub fn get(&self, ip: &str) -> Option<&HostEntry> {
        self.addresses().find(|host| host.ip == ip)
    }

    pub fn add(&mut self, ip: &str, name: &str) {
        change(&mut self.lines, ip, |host| host.names.push(name.to_owned()));
        self.write();
    }

    pub fn remark(&mut self, ip: &str, comment: &str) {
        change(&mut self.lines, ip, |host| host.comment = Some(comment.to_owned()));
        self.write();
    }

    /// Sets the names of an address in one line, without a comment; without names it removes the line. Other lines
    /// stay.
    pub fn set(&mut self, ip: &str, names: &str) {
        let mut new = Some(if names.trim().is_empty() { String::new() } else { format!("{ip}\t\t{names}\n") });
        let mut text = self.each(|line, host| match host.ip == ip {
            true => new.take().unwrap_or_default(),
            false => line.to_owned(),
        });
        if let Some(line) = new {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text += &line;
        }
        *self = HostsFile::new(text);
    }

    /// Removes a name from the lines of an address. Other lines stay.
    pub fn remove(&mut self, ip: &str, name: &str) {
        let text = self.each(|line, host| {
            if host.ip != ip {
                return line.to_owned();
            }
            let names: String =
                host.names.iter().filter(|known| *known != name).map(|known| format!("{known} ")).collect();
            match &host.comment {
                _ if names.is_empty() => String::new(),
                Some(comment) => format!("{ip}\t\t{names}# {comment}\n"),
                None => format!("{ip}\t\t{names}\n"),
            }
        });
        *self = HostsFile::new(text);
    }

    /// The text with each line of a host rewritten.
    fn each(&self, mut new: impl FnMut(&str, &HostEntry) -> String) -> String {
        let line = |line: &str| match HostEntry::read(line.trim()) {
            Some(host) => new(line, &host),
            None => line.to_owned(),
        };
        self.text.split_inclusive('\n').map(line).collect()
    }

    /// Rewrites the whole text with one line per address, as Salt does when it adds something.
    fn write(&mut self) {
        self.text.clear();
        for line in &self.lines {
            self.text += &match line {
                HostsLine::Remark(line) => format!("{line}\n"),
                // An address without names is dropped.
                HostsLine::Host(host) if host.names.is_empty() => String::new(),
                HostsLine::Host(HostEntry { ip, names, comment: None }) => format!("{ip}\t\t{}\n", names.join(" ")),
                HostsLine::Host(HostEntry { ip, names, comment: Some(comment) }) => {
                    format!("{ip}\t\t{}\t\t# {comment}\n", names.join(" "))
                }
            };
        }
    }

    pub fn plan(self, path: String, done: Verdict) -> Plan {
        Plan::brief(done).then(Action::Write { path, content: self.text.into_bytes(), mode: None, parents: false })
    }
}

impl HostEntry {
    /// Parses a line; `None` for a comment or an empty line.
    fn read(line: &str) -> Option<HostEntry> {
        let (line, comment) = line.split_once('#').map_or((line, None), |(line, comment)| (line, Some(comment)));
        let mut words = line.split_whitespace().map(str::to_owned);
        let ip = words.next()?;
        let comment = comment.map(str::trim_start).filter(|comment| !comment.is_empty()).map(str::to_owned);
        Some(HostEntry { ip, names: words.collect(), comment })
    }
}

/// Changes the entry of an address, and creates it if needed.
fn change(lines: &mut Vec<HostsLine>, ip: &str, change: impl FnOnce(&mut HostEntry)) {
    let known = lines.iter_mut().find_map(|line| match line {
        HostsLine::Host(host) if host.ip == ip => Some(host),
        _ => None,
    });
    if let Some(host) = known {
        return change(host);
    }
    let mut host = HostEntry { ip: ip.to_owned(), names: Vec::new(), comment: None };
    change(&mut host);
    lines.push(HostsLine::Host(host));
}
