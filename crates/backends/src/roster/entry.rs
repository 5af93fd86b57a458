//! Reads roster entries: Salt's keys and ours.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rocksalt_core::Secret;
use rocksalt_core::nearest::{hint, nearest};
use rocksalt_core::roster::{Escalate, Method, RosterEntry};
use rocksalt_core::value::{Map, Value};
use rocksalt_core::yaml::{Node, NodeContent, NodePosition};

use super::{FaultReport, Settings, names, ssh_options};

/// All keys of an entry.
const KEYS: &[&str] = &[
    "accept_new",
    "become",
    "certificate",
    "cmd_umask",
    "grains",
    "host",
    "identities_only",
    "known_hosts",
    "mine_functions",
    "minion_opts",
    "passwd",
    "passwd_file",
    "pillar",
    "port",
    "priv",
    "priv_passwd",
    "proxy_jump",
    "set_path",
    "ssh_options",
    "sudo",
    "sudo_passwd",
    "sudo_passwd_file",
    "sudo_user",
    "thin_dir",
    "timeout",
    "transport",
    "tty",
    "user",
];

/// Salt's keys that are not supported, and why.
const REFUSED: &[(&str, &str)] = &[
    ("remote_port_forwards", "is not supported: the agent uses its own connection for everything"),
    (
        "ssh_pre_flight",
        "is not supported: the agent needs no interpreter, so nothing has to be prepared on a target; \
                        run the script with cmd.script instead",
    ),
    ("ssh_pre_flight_args", "is not supported, because ssh_pre_flight isn't"),
];

const TRANSPORTS: [&str; 3] = ["ssh", "openssh", "local"];

/// Builds the entries of one file.
pub(super) struct EntryBuilder<'a> {
    pub settings: &'a Settings,
    /// Base of relative paths.
    pub folder: Option<&'a Path>,
}

/// The keys about sudo and become, collected before they are combined.
#[derive(Default)]
struct Escalation {
    sudo: Option<bool>,
    user: Option<(String, usize)>,
    password: Option<Secret>,
    /// Our `become`: method, user, and the line.
    become_: Option<(Method, Option<String>, usize)>,
}

impl EntryBuilder<'_> {
    /// `None` without a host. Other faults are reported, and the entry is built without the faulty key.
    pub fn build(&self, id: &str, line: usize, node: &Node, report: &mut FaultReport) -> Option<RosterEntry> {
        let host_only;
        let own: &[(Node, Node)] = match &node.content {
            NodeContent::Map(pairs) => pairs,
            NodeContent::Scalar(Value::String(_)) => {
                host_only = [(text_node("host", node.place), node.clone())];
                &host_only
            }
            NodeContent::Scalar(Value::Null) => &[],
            _ => {
                report.add(line, format!("'{id}' must have a host or a map of settings, not {}", node.kind()));
                return None;
            }
        };
        let mut entry = RosterEntry::new(id, "");
        entry.origin = report.origin(line);
        let mut escalation = Escalation::default();
        let inherited: Vec<(Node, Node)> =
            self.settings.defaults.iter().map(|(key, value)| (node_of(key), node_of(value))).collect();
        let is_own = |key: &Node| own.iter().any(|(other, _)| other.as_str() == key.as_str());
        for (key, value) in inherited.iter().filter(|(key, _)| !is_own(key)) {
            let mut defaults = FaultReport::new("roster_defaults");
            self.set(key, value, &mut entry, &mut escalation, &mut defaults);
            if let Err(super::Error::Faults(faults)) = defaults.finish(()) {
                report.absorb(faults);
            }
        }
        for (key, value) in own {
            self.set(key, value, &mut entry, &mut escalation, report);
        }
        let own_sudo_user = own.iter().any(|(key, _)| key.as_str() == Some("sudo_user"));
        entry.escalate = escalation.finish(own_sudo_user, report);
        if entry.host.is_empty() {
            if !own.iter().any(|(key, _)| key.as_str() == Some("host")) {
                report.add(line, format!("'{id}' has no host; write '{id}: ADDRESS' or give it a 'host'"));
            }
            return None;
        }
        Some(entry)
    }

    fn set(
        &self,
        key: &Node,
        node: &Node,
        entry: &mut RosterEntry,
        escalation: &mut Escalation,
        report: &mut FaultReport,
    ) {
        let line = if node.place.line == 0 { key.place.line } else { node.place.line };
        let name = key.scalar().map(ToString::to_string).unwrap_or_default();
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return report.add(key.place.line, format!("'{name}' {why}"));
        }
        if !KEYS.contains(&name.as_str()) {
            let hint = hint(&name, KEYS.iter().copied());
            return report.add(key.place.line, format!("'{name}' is not a key of a roster entry{hint}"));
        }
        if node.is_null() {
            return;
        }
        if let Err(message) = self.set_field(&name, node, line, entry, escalation) {
            for message in message.lines() {
                report.add(line, format!("{name}: {message}"));
            }
        }
    }

    /// Sets the keys about the connection, and passes others on.
    fn set_field(
        &self,
        name: &str,
        node: &Node,
        line: usize,
        entry: &mut RosterEntry,
        escalation: &mut Escalation,
    ) -> Result<(), String> {
        match name {
            "host" => {
                let host = text(node)?;
                names::check_host(&host)?;
                entry.host = host;
            }
            "user" => {
                let user = text(node)?;
                names::check_user(&user)?;
                entry.user = Some(user);
            }
            "port" => entry.port = Some(port(&text(node)?)?),
            "transport" => entry.transport = one_of(&text(node)?, &TRANSPORTS)?,
            "passwd" => entry.password = Some(Secret::new(text(node)?)),
            "passwd_file" => entry.password = Some(self.secret_file(&text(node)?)?),
            "priv" => {
                for key in texts(node)? {
                    if key == "agent-forwarding" {
                        return Err(
                            "agent forwarding is not supported; keys of a running ssh-agent are used anyway".into()
                        );
                    }
                    entry.keys.push(self.path(&key));
                }
            }
            "priv_passwd" => entry.key_password = Some(Secret::new(text(node)?)),
            "certificate" => entry.certificate = Some(self.path(&text(node)?)),
            "known_hosts" => entry.known_hosts = Some(self.path(&text(node)?)),
            "identities_only" => entry.identities_only = flag(node)?,
            "accept_new" => entry.accept_new = flag(node)?,
            "tty" => entry.tty = flag(node)?,
            "timeout" => entry.timeout = Some(seconds(&text(node)?)?),
            "proxy_jump" => {
                let jump = text(node)?;
                names::check_jump(&jump)?;
                entry.proxy_jump = Some(jump);
            }
            "ssh_options" => ssh_options::apply(&texts(node)?, entry, |path| self.path(path))?,
            "thin_dir" => entry.agent_dir = Some(absolute(text(node)?)?),
            other => return self.set_data(other, node, line, entry, escalation),
        }
        Ok(())
    }

    /// Sets the keys that are not about the connection.
    fn set_data(
        &self,
        name: &str,
        node: &Node,
        line: usize,
        entry: &mut RosterEntry,
        escalation: &mut Escalation,
    ) -> Result<(), String> {
        match name {
            // The agent reads these from its configuration.
            "cmd_umask" | "set_path" | "mine_functions" => {
                entry.options.insert(name, node.clone().into_value());
            }
            "minion_opts" => {
                let options = map(node)?;
                if let Some(grains) = options.get("grains").and_then(Value::as_map) {
                    let own = std::mem::replace(&mut entry.grains, grains.clone());
                    entry.grains.extend(own);
                }
                if let Some(other) = options.get("id").filter(|other| other.to_string() != entry.id) {
                    return Err(format!("`id: {other}`: a target's id is its name in the roster, {}", entry.id));
                }
                entry.options.extend(options);
            }
            "grains" => entry.grains.extend(map(node)?),
            "pillar" => entry.pillar = map(node)?,
            "sudo" => escalation.sudo = Some(flag(node)?),
            "sudo_user" => {
                let user = text(node)?;
                names::check_user(&user)?;
                escalation.user = Some((user, line));
            }
            "sudo_passwd" => escalation.password = Some(Secret::new(text(node)?)),
            "sudo_passwd_file" => escalation.password = Some(self.secret_file(&text(node)?)?),
            "become" => {
                let (method, user) = become_(node)?;
                escalation.become_ = method.map(|method| (method, user, line));
            }
            other => return Err(format!("'{other}' is a known key, but not implemented")),
        }
        Ok(())
    }

    pub fn path(&self, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), &self.settings.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => PathBuf::from(written),
            (None, _) => self.folder.unwrap_or(Path::new("")).join(written),
        }
    }

    /// Reads a password from a file that only its owner can read.
    fn secret_file(&self, written: &str) -> Result<Secret, String> {
        let path = self.path(written);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let metadata = std::fs::metadata(&path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(format!("{} is not a file", path.display()));
        }
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            let path = path.display();
            return Err(format!("{path} is readable by others (mode {mode:04o}); a password file must have mode 0600"));
        }
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        Ok(Secret::new(text.strip_suffix('\n').unwrap_or(&text).to_owned()))
    }
}

impl Escalation {
    fn finish(self, own_sudo_user: bool, report: &mut FaultReport) -> Option<Escalate> {
        match (self.become_, self.sudo) {
            (Some((.., line)), Some(true)) => {
                report.add(line, "'become' and 'sudo' mean the same; use one of them");
                None
            }
            (Some((method, user, _)), _) => {
                Some(Escalate { method, user: user.unwrap_or_else(|| "root".into()), password: self.password })
            }
            (None, Some(true)) => {
                let user = self.user.map_or_else(|| "root".into(), |(user, _)| user);
                Some(Escalate { method: Method::Sudo, user, password: self.password })
            }
            (None, sudo) => {
                if let (Some((_, line)), None, true) = (self.user, sudo, own_sudo_user) {
                    report.add(line, "sudo_user: it has no effect without 'sudo: True'");
                }
                None
            }
        }
    }
}

/// `become: doas`, `become: true` or `become: {method: su, user: app}`.
fn become_(node: &Node) -> Result<(Option<Method>, Option<String>), String> {
    if let Some(value) = node.scalar() {
        return match value {
            Value::Bool(true) => Ok((Some(Method::Sudo), None)),
            Value::Bool(false) => Ok((None, None)),
            other => Ok((Some(method(&other.to_string())?), None)),
        };
    }
    let pairs = node.pairs().ok_or("it must be a method or a map with 'method' and 'user'")?;
    let (mut chosen, mut user) = (Method::Sudo, None);
    for (key, value) in pairs {
        match key.as_str().unwrap_or_default() {
            "method" => chosen = method(&text(value)?)?,
            "user" => {
                let name = text(value)?;
                names::check_user(&name)?;
                user = Some(name);
            }
            other => return Err(format!("'{other}' is not a key of 'become'{}", hint(other, ["method", "user"]))),
        }
    }
    Ok((Some(chosen), user))
}

pub(super) fn method(name: &str) -> Result<Method, String> {
    let names = Method::ALL.map(Method::name);
    let found = Method::ALL.into_iter().find(|method| method.name() == name);
    found.ok_or_else(|| format!("'{name}' is not one of {}{}", names.join(", "), hint(name, names)))
}

pub(super) fn port(text: &str) -> Result<u16, String> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|port| digits && *port > 0)
        .ok_or_else(|| format!("'{text}' is not a port from 1 to 65535"))
}

pub(super) fn seconds(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))
}

fn absolute(path: String) -> Result<String, String> {
    if path.starts_with('/') && !path.chars().any(char::is_control) && !path.split('/').any(|part| part == "..") {
        Ok(path)
    } else {
        Err(format!("{path:?} is not an absolute path without '..'"))
    }
}

fn one_of(text: &str, known: &[&str]) -> Result<String, String> {
    if known.contains(&text) {
        return Ok(text.to_owned());
    }
    let hint =
        nearest(text, known.iter().copied()).map_or_else(String::new, |right| format!("; did you mean '{right}'?"));
    Err(format!("'{text}' is not one of {}{hint}", known.join(", ")))
}

/// A string, or a number as Python prints it. A YAML boolean needs quotes.
pub(super) fn text(node: &Node) -> Result<String, String> {
    match node.scalar() {
        Some(value @ (Value::String(_) | Value::Int(_) | Value::BigInt(_))) => Ok(value.to_string()),
        _ => Err(format!("it must be a string, not {}; put it in quotes", node.kind())),
    }
}

fn texts(node: &Node) -> Result<Vec<String>, String> {
    match node.items() {
        Some(items) => items.iter().map(text).collect(),
        None => text(node).map(|text| vec![text]),
    }
}

fn flag(node: &Node) -> Result<bool, String> {
    match node.scalar() {
        Some(Value::Bool(flag)) => Ok(*flag),
        _ => Err(format!("it must be True or False, not {}", node.kind())),
    }
}

fn map(node: &Node) -> Result<Map, String> {
    match node.clone().into_value() {
        Value::Map(map) => Ok(map),
        other => Err(format!("it must be a map, not {}", other.kind())),
    }
}

pub(super) fn text_node(text: &str, place: NodePosition) -> Node {
    Node { place, content: NodeContent::Scalar(text.into()) }
}

/// A node for a value that isn't from a file.
pub(super) fn node_of(value: &Value) -> Node {
    let content = match value {
        Value::List(items) => NodeContent::List(items.iter().map(node_of).collect()),
        Value::Map(map) => NodeContent::Map(map.iter().map(|(key, value)| (node_of(key), node_of(value))).collect()),
        scalar => NodeContent::Scalar(scalar.clone()),
    };
    Node { place: NodePosition { line: 0, column: 0 }, content }
}
