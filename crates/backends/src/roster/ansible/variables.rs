//! A host's variables: connection settings become entry fields, the rest pillar.

use std::path::Path;

use rocksalt_core::Secret;
use rocksalt_core::roster::{Escalate, Method, RosterEntry};
use rocksalt_core::value::Value;
use rocksalt_core::yaml::{Node, NodeContent, NodePosition};

use super::HostVariables;
use crate::roster::entry::{self, EntryBuilder};
use crate::roster::{FaultReport, Settings, names, ssh_options};

pub(super) fn entry(
    name: &str,
    line: usize,
    variables: HostVariables,
    folder: Option<&Path>,
    settings: &Settings,
    report: &mut FaultReport,
) -> Option<RosterEntry> {
    // The entry needs an address; `ansible_host` overrides the name.
    let address = variables.get("ansible_host").or_else(|| variables.get("ansible_ssh_host"));
    let own_origin = report.origin(line);
    let (host, origin) =
        address.map_or((name.to_owned(), own_origin), |(value, origin)| (value.to_string(), origin.clone()));
    let checked = match is_template(&host) {
        true => Err(format!("'{host}' is a template; templates are not rendered here")),
        false => names::check_host(&host),
    };
    if let Err(message) = checked {
        report.add_at(origin, format!("ansible_host: {message}"));
        return None;
    }
    let builder = EntryBuilder { settings, folder };
    let node = Node { place: NodePosition { line, column: 1 }, content: NodeContent::Scalar(host.into()) };
    let mut entry = builder.build(name, line, &node, report)?;
    let mut escalation = Become { wanted: None, method: Method::Sudo, user: None, password: None };
    for (key, (value, origin)) in variables {
        if !key.starts_with("ansible_") {
            entry.pillar.insert(key, value);
            continue;
        }
        let known = KNOWN.contains(&key.as_str());
        let done = if known && is_template(&value.to_string()) {
            Err(format!("'{value}' is a template; templates are not rendered here"))
        } else {
            set(&key, &value, &mut entry, &mut escalation, &builder)
        };
        if let Err(messages) = done {
            for message in messages.lines() {
                report.add_at(origin.clone(), format!("{key}: {message}"));
            }
        }
    }
    match escalation.wanted {
        Some(true) => {
            let user = escalation.user.unwrap_or_else(|| "root".into());
            entry.escalate = Some(Escalate { method: escalation.method, user, password: escalation.password });
        }
        Some(false) => entry.escalate = None,
        None => {}
    }
    Some(entry)
}

struct Become {
    wanted: Option<bool>,
    method: Method,
    user: Option<String>,
    password: Option<Secret>,
}

/// The variables that `set` reads. Other `ansible_` variables configure Ansible itself.
const KNOWN: [&str; 18] = [
    "ansible_become",
    "ansible_become_method",
    "ansible_become_pass",
    "ansible_become_password",
    "ansible_become_user",
    "ansible_connection",
    "ansible_password",
    "ansible_port",
    "ansible_private_key_file",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_ssh_pass",
    "ansible_ssh_password",
    "ansible_ssh_port",
    "ansible_ssh_private_key_file",
    "ansible_ssh_user",
    "ansible_timeout",
    "ansible_user",
];

fn set(
    key: &str,
    value: &Value,
    entry: &mut RosterEntry,
    escalation: &mut Become,
    builder: &EntryBuilder<'_>,
) -> Result<(), String> {
    let text = value.to_string();
    match key {
        "ansible_port" | "ansible_ssh_port" => entry.port = Some(entry::port(&text)?),
        "ansible_user" | "ansible_ssh_user" => {
            names::check_user(&text)?;
            entry.user = Some(text);
        }
        "ansible_password" | "ansible_ssh_pass" | "ansible_ssh_password" => entry.password = Some(Secret::new(text)),
        "ansible_ssh_private_key_file" | "ansible_private_key_file" => entry.keys.push(builder.path(&text)),
        "ansible_connection" => {
            entry.transport = match text.as_str() {
                "ssh" | "smart" | "paramiko" | "paramiko_ssh" | "ansible.builtin.ssh" => "ssh",
                "local" | "ansible.builtin.local" => "local",
                other => return Err(format!("connection '{other}' is not supported; use ssh or local")),
            }
            .into();
        }
        "ansible_timeout" => entry.timeout = Some(entry::seconds(&text)?),
        "ansible_ssh_common_args" | "ansible_ssh_extra_args" => arguments(&text, entry, builder)?,
        "ansible_become" => escalation.wanted = Some(truth(value)?),
        "ansible_become_method" => escalation.method = entry::method(text.rsplit('.').next().unwrap_or(&text))?,
        "ansible_become_user" => {
            names::check_user(&text)?;
            escalation.user = Some(text);
        }
        "ansible_become_pass" | "ansible_become_password" => escalation.password = Some(Secret::new(text)),
        _ => {}
    }
    Ok(())
}

/// `-o Key=Value`, `-oKey=Value`, `-J jump`, `-p port`, `-i key`, `-l user`.
fn arguments(text: &str, entry: &mut RosterEntry, builder: &EntryBuilder<'_>) -> Result<(), String> {
    let mut options = Vec::new();
    let mut words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    while let Some(word) = words.next() {
        let (flag, value) = word.split_at_checked(2).unwrap_or((word, ""));
        let key = match flag {
            "-o" => "",
            "-J" => "ProxyJump=",
            "-p" => "Port=",
            "-i" => "IdentityFile=",
            "-l" => "User=",
            _ => return Err(format!("the argument '{word}' is not supported; -o, -J, -p, -i and -l are")),
        };
        let value = if value.is_empty() { words.next() } else { Some(value) };
        options.push(format!("{key}{}", value.ok_or_else(|| format!("'{word}' needs a value"))?));
    }
    ssh_options::apply(&options, entry, |path| builder.path(path))
}

fn truth(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        other => match other.to_string().to_lowercase().as_str() {
            "yes" | "true" | "on" | "1" | "y" => Ok(true),
            "no" | "false" | "off" | "0" | "n" => Ok(false),
            text => Err(format!("'{text}' is neither yes nor no")),
        },
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}
