//! Inventories in INI format.

use rocksalt_core::value::Value;

use super::{HostVariables, Inventory, UNGROUPED, hosts};
use crate::roster::FaultReport;

enum IniSection {
    Hosts(String),
    Children(String),
    Variables(String),
}

pub(super) fn parse(text: &str, report: &mut FaultReport) -> Inventory {
    let mut inventory = Inventory::default();
    let mut section = IniSection::Hosts(UNGROUPED.into());
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // A host may start with a range; after a section header only a comment may follow.
        if let Some(header) = header(line) {
            match read_header(header) {
                Ok(read) => {
                    let (IniSection::Hosts(name) | IniSection::Children(name) | IniSection::Variables(name)) = &read;
                    inventory.group(name);
                    section = read;
                }
                Err(message) => report.add(number, message),
            }
            continue;
        }
        let done = match &section {
            IniSection::Hosts(group) => host_line(line, number, group, &mut inventory, report),
            IniSection::Children(group) => {
                let child = line.split(char::is_whitespace).next().unwrap_or(line).to_owned();
                inventory.group(&child);
                inventory.group(group).children.push((child, number));
                Ok(())
            }
            IniSection::Variables(group) => match line.split_once('=') {
                Some((key, value)) => {
                    let value = literal(value.trim());
                    inventory.group(group).variables.insert(key.trim().to_owned(), (value, report.origin(number)));
                    Ok(())
                }
                None => Err(format!("'{line}' is not a variable; the form is 'name=value'")),
            },
        };
        if let Err(message) = done {
            report.add(number, message);
        }
    }
    inventory
}

fn header(line: &str) -> Option<&str> {
    let (inner, behind) = line.strip_prefix('[')?.split_once(']')?;
    let behind = behind.trim();
    let address = inner.parse::<std::net::Ipv6Addr>().is_ok();
    (!address && (behind.is_empty() || behind.starts_with(['#', ';']))).then_some(inner)
}

fn read_header(header: &str) -> Result<IniSection, String> {
    let (name, kind) = header.split_once(':').map_or((header, None), |(name, kind)| (name, Some(kind)));
    let bad = |c: char| c.is_whitespace() || c.is_control();
    if name.is_empty() || name.contains(bad) {
        return Err(format!("'{name}' can't be the name of a group"));
    }
    match kind {
        None => Ok(IniSection::Hosts(name.to_owned())),
        Some("children") => Ok(IniSection::Children(name.to_owned())),
        Some("vars") => Ok(IniSection::Variables(name.to_owned())),
        Some(kind) => {
            let hint = rocksalt_core::nearest::hint(kind, ["children", "vars"]);
            Err(format!("a group has ':children' or ':vars', not ':{kind}'{hint}"))
        }
    }
}

fn host_line(
    line: &str,
    number: usize,
    group: &str,
    inventory: &mut Inventory,
    report: &FaultReport,
) -> Result<(), String> {
    let words = words(line)?;
    let Some((pattern, settings)) = words.split_first() else { return Ok(()) };
    let mut variables = HostVariables::new();
    let (pattern, port) = split_port(pattern)?;
    if let Some(port) = port {
        variables.insert("ansible_port".into(), (Value::from(port), report.origin(number)));
    }
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("'{setting}' is not a variable; the form is 'name=value'"))?;
        variables.insert(key.to_owned(), (literal(value), report.origin(number)));
    }
    for name in hosts::expand(pattern)? {
        inventory.add_host(group, &name, number, variables.clone());
    }
    Ok(())
}

/// Splits `host:port`. A colon in brackets belongs to a range; several outside are an IPv6 address.
fn split_port(pattern: &str) -> Result<(&str, Option<&str>), String> {
    let behind = pattern.rfind(']').map_or(0, |at| at + 1);
    if pattern[behind..].contains('[') {
        return Ok((pattern, None));
    }
    if pattern[behind..].matches(':').count() != 1 {
        return Ok((pattern, None));
    }
    let (host, port) = pattern.rsplit_once(':').unwrap_or((pattern, ""));
    crate::roster::entry::port(port)?;
    Ok((host, Some(port)))
}

/// Splits a line into words like a shell: quotes group, `#` begins a comment.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '#' if word.is_none() => break,
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(format!("a quote {c} isn't closed")),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => word.extend(chars.next()),
                        Some(inner) => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Ansible reads values as Python literals: numbers, booleans, quoted strings; anything else is a string.
fn literal(text: &str) -> Value {
    let unquoted = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    if let Some(inner) = unquoted {
        return inner.into();
    }
    match text {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "None" => Value::Null,
        _ if text.starts_with('0') && text.len() > 1 => text.into(),
        _ => Value::integer(text).filter(|_| !text.starts_with('+')).unwrap_or_else(|| text.into()),
    }
}
