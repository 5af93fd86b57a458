//! `selinux.fcontext_policy_present`, `_absent` and `_applied`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::fcontext::{ContextArguments, ContextSpec, changes, differing, file_type, restorecon};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::Probe;

/// Makes sure that there is a rule for the labels of some files.
///
/// ```yaml
/// /srv/www(/.*)?:
///   selinux.fcontext_policy_present:
///     - sel_type: httpd_sys_content_t
/// ```
#[state("selinux.fcontext_policy_present", strict, aggregates, required("sel_type"))]
pub struct Present {
    /// The files, as a pattern.
    name: String,
    /// The type.
    sel_type: String,
    /// The kind of file: `a` for all, `f`, `d`, `c`, `b`, `s`, `l` or `p`.
    #[default("a")]
    filetype: String,
    /// The user.
    sel_user: Option<String>,
    /// The level.
    sel_level: Option<String>,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Present { name, sel_type, filetype, .. } = self;
        let request = ContextSpec {
            name,
            filetype,
            sel_type: Some(sel_type),
            sel_user: self.sel_user.as_deref(),
            sel_level: self.sel_level.as_deref(),
        };
        let kind = file_type(filetype)?;
        if request.find(machine, false)?.is_some() {
            return Ok(Decision::Settled(Verdict::good(format!(
                "SELinux policy for \"{name}\" already present with specified filetype \"{kind}\" and sel_type \"{sel_type}\"."
            ))));
        }
        // The same files with another type: the rule is changed. Salt searches only for the requested type, so it
        // misses this.
        let other = ContextSpec { sel_user: None, sel_level: None, ..request }.find(machine, true)?;
        let (old, new) = match &other {
            Some(other) => (one(name, &[("sel_type", text(other, "sel_type"))]), vec![("sel_type", sel_type.clone())]),
            None => (Map::new(), vec![("filetype", kind.to_owned()), ("sel_type", sel_type.clone())]),
        };
        let done = Verdict::good("").change("old", old).change("new", one(name, &new));
        let action = if other.is_some() { "modify" } else { "add" };
        let plan = Plan::new(done).run(&request.command(machine, action)?).or("Error adding new rule:");
        Ok(plan.announced(""))
    }

    fn touches(&self) -> Touches {
        policy()
    }
}

/// Makes sure that there is no rule for the labels of some files.
///
/// ```yaml
/// /srv/www(/.*)?:
///   selinux.fcontext_policy_absent
/// ```
#[state("selinux.fcontext_policy_absent", strict, aggregates)]
pub struct Absent(ContextArguments);

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let ContextArguments { name, filetype, sel_type, .. } = &self.0;
        let request = self.0.spec();
        let Some(known) = request.find(machine, false)? else {
            let sel_type = sel_type.as_deref().unwrap_or("None");
            return Ok(Decision::Settled(Verdict::good(format!(
                "SELinux policy for \"{name}\" already absent with specified filetype \"{filetype}\" and sel_type \"{sel_type}\"."
            ))));
        };
        let found = text(&known, "sel_type");
        let request = ContextSpec { sel_type: Some(sel_type.as_deref().unwrap_or(&found)), ..request };
        let old: Map = [(name.as_str().into(), known.clone().into())].into_iter().collect();
        let done = Verdict::good("").change("old", old).change("new", Map::new());
        let plan = Plan::new(done).run(&request.command(machine, "delete")?).or("Error removing policy:");
        Ok(plan.announced(""))
    }

    fn touches(&self) -> Touches {
        policy()
    }
}

/// Labels files according to the rules.
///
/// ```yaml
/// /srv/www:
///   selinux.fcontext_policy_applied:
///     - recursive: True
/// ```
#[state("selinux.fcontext_policy_applied", strict, aggregates)]
pub struct Applied {
    /// The path.
    name: String,
    /// Include everything below it.
    recursive: Flag,
}

impl State for Applied {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let found = differing(machine, name, self.recursive.0)?;
        if found.is_empty() {
            let comment = format!("SElinux policies are already applied for filespec \"{name}\"");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = Verdict::good("").changes(changes(&found));
        Ok(Plan::new(done).run(&restorecon(machine, name, self.recursive.0, false)?).announced(""))
    }

    fn touches(&self) -> Touches {
        Touches::nothing().reads(Thing::Path("/etc/selinux".into())).writes(Thing::Path(self.name.clone()))
    }
}

fn policy() -> Touches {
    Touches::nothing().writes(Thing::Path("/etc/selinux".into())).writes(Thing::Path("/var/lib/selinux".into()))
}

fn text(map: &Map, key: &str) -> String {
    map.get(key).map(ToString::to_string).unwrap_or_default()
}

fn one(name: &str, pairs: &[(&str, String)]) -> Map {
    let inner: Map = pairs.iter().map(|(key, value)| ((*key).into(), value.as_str().into())).collect();
    [(name.into(), Value::from(inner))].into_iter().collect()
}
