//! `file.mknod`: a device or a pipe.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::permissions::{self, PermissionsSpec};
use super::{Action, Decision, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::{Command, FileKind, Probe};

/// Makes sure that a path is a device or a named pipe.
///
/// ```yaml
/// /dev/fifo:
///   file.mknod:
///     - ntype: p
///     - mode: '0660'
/// ```
#[state("file.mknod", strict, required("ntype"))]
pub struct Mknod {
    /// The path.
    name: String,
    /// `c` for a character device, `b` for a block device, `p` for a pipe.
    #[default]
    ntype: String,
    /// The device's major number.
    #[default]
    major: u32,
    /// The device's minor number.
    #[default]
    minor: u32,
    /// The user it belongs to.
    user: Value,
    /// The group it belongs to.
    group: Value,
    /// Its mode in octal digits.
    #[default("0600")]
    mode: Value,
}

impl State for Mknod {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Mknod {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.mknod"));
        }
        let (kind, what) = match self.ntype.as_str() {
            "c" => (FileKind::CharDevice, "character device"),
            "b" => (FileKind::BlockDevice, "block device"),
            "p" => (FileKind::Pipe, "fifo pipe"),
            other => {
                return Err(Verdict::bad(format!(
                    "Node type unavailable: '{other}'. Available node types are character ('c'), block ('b'), and \
                     pipe ('p')"
                )));
            }
        };
        let capital = format!("{}{}", what[..1].to_uppercase(), &what[1..]);
        if look::is_file(machine, &name) {
            return Err(Verdict::bad(format!("File {name} exists and is not a {what}. Refusing to continue")));
        }
        let request = PermissionsSpec {
            user: self.user.clone(),
            group: self.group.clone(),
            mode: permissions::mode(&self.mode),
            ..PermissionsSpec::default()
        };
        if look::found(machine, &name).is_none_or(|stat| stat.kind != kind) {
            return Ok(self.create(machine, &name, &capital, &request));
        }
        if kind != FileKind::Pipe {
            let (major, minor) = numbers(machine, &name);
            if (major, minor) != (self.major, self.minor) {
                return Err(Verdict::bad(format!(
                    "{capital} {name} exists and has a different major/minor {major}/{minor}. Refusing to continue"
                )));
            }
        }
        let mending = request.look(machine, &name);
        let finished = |verdict: Verdict| verdict.output("path", name.as_str());
        if mending.changes.is_empty() {
            return Err(finished(Verdict::good(format!("{capital} {name} is in the correct state"))));
        }
        let done = Verdict::good("").changes(mending.changes.clone());
        let would = Verdict { result: if step.test { None } else { Some(true) }, ..done.clone() };
        Ok(Decision::Change(Plan::brief(finished(done)).all(mending.actions), would))
    }

    fn create(&self, machine: &dyn Probe, name: &str, capital: &str, request: &PermissionsSpec) -> Decision {
        let mode = request.mode.clone().unwrap_or_else(|| "0600".into());
        let mut argv: Vec<String> = ["mknod", "-m", &mode, "--", name, &self.ntype].map(str::to_owned).to_vec();
        if self.ntype != "p" {
            argv.extend([self.major.to_string(), self.minor.to_string()]);
        }
        let created = match self.ntype.as_str() {
            "c" => format!("Character device {name} created."),
            "b" => format!("Block device {name} created."),
            _ => format!("Fifo pipe {name} created."),
        };
        let mut done = Verdict::good("").change("new", created);
        let mut plan = Plan::brief(Verdict::default()).then(Action::Run(Command::new(argv)));
        let (uid, gid) = permissions::numbers(machine, &request.user, &request.group);
        if uid.is_some() || gid.is_some() {
            for (key, value) in [("user", &request.user), ("group", &request.group)] {
                if value.truth() && value.as_str() != Some("root") && *value != Value::Int(0) {
                    done.changes.insert(key, value.clone());
                }
            }
            let failure = format!("Failed to change user to {}", request.user);
            plan = plan.then(Action::Owner { path: name.to_owned(), uid, gid, follow: false, failure });
        }
        plan.done = done.output("path", name);
        Decision::Change(plan, Verdict::would(format!("{capital} {name} is set to be created")))
    }
}

/// A device's major and minor number, from the system's `stat`.
fn numbers(machine: &dyn Probe, name: &str) -> (u32, u32) {
    let output = machine.query(&Command::new(["stat", "-L", "-c", "%t %T", "--", name]));
    let text = output.map(|output| output.text()).unwrap_or_default();
    let mut numbers = text.split_whitespace().map(|digits| u32::from_str_radix(digits, 16).unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
