//! [`TargetFile`]: the file of a key or a certificate: its owner, and how it is written.

use std::path::Path;

use rocksalt_core::Value;

use super::super::file::{gid, octal, uid};
use super::super::{Decision, Verdict};
use crate::Result;
use crate::catalog::{Action, Plan};
use crate::machine::{FileKind, Probe, Stat};

/// The file's owner, group and mode.
pub struct TargetFile<'a> {
    pub path: &'a str,
    pub user: &'a Value,
    pub group: &'a Value,
    pub mode: Option<u32>,
    pub makedirs: bool,
    /// The mode of a new file, if none is requested.
    pub default: u32,
}

impl TargetFile<'_> {
    /// A fault in the request that is found before any change.
    pub fn fault(&self, machine: &dyn Probe, test: bool) -> Option<String> {
        let path = self.path;
        if !path.starts_with('/') {
            return Some(format!("Specified file {path} is not an absolute path"));
        }
        match self.stat(machine) {
            Some(stat) if stat.kind == FileKind::Directory => {
                return Some(format!("Specified target {path} is a directory"));
            }
            _ => {}
        }
        if !test {
            if self.user.truth() && uid(machine, self.user).is_none() {
                return Some(format!("User {} is not available", self.user));
            }
            if self.group.truth() && gid(machine, self.group).is_none() {
                return Some(format!("Group {} is not available", self.group));
            }
        }
        let above = Path::new(path).parent().unwrap_or(Path::new("/"));
        let missing = !matches!(machine.stat(above, true), Ok(Some(_)));
        (missing && !self.makedirs).then(|| format!("Parent directory not present: {}", above.display()))
    }

    pub fn stat(&self, machine: &dyn Probe) -> Option<Stat> {
        machine.stat(Path::new(self.path), true).ok().flatten()
    }

    /// The actions that write the content, if any, and set owner and mode.
    pub fn plan(&self, machine: &dyn Probe, content: Option<Vec<u8>>, done: Verdict, dry: Verdict) -> Result<Decision> {
        let (uid, gid) = (spec(self.user, || uid(machine, self.user)), spec(self.group, || gid(machine, self.group)));
        let stat = self.stat(machine);
        let mut plan = Plan::brief(done.clone());
        let mut steps = false;
        if let Some(content) = content {
            let above = self.path.rsplit_once('/').map_or("/", |(above, _)| above);
            for path in super::super::file::missing_directories(machine, above) {
                plan = plan.then(Action::MakeDirectory { path, mode: 0o755, uid, gid });
            }
            let mode = self.mode.or(stat.as_ref().map(|stat| stat.mode)).unwrap_or(self.default);
            let path = super::super::file::followed(machine, Path::new(self.path)).to_string_lossy().into_owned();
            plan = plan.then(Action::Write { path, content, mode: Some(mode), parents: false });
            steps = true;
        }
        let old = stat.as_ref().map(|stat| (stat.uid, stat.gid));
        let (own, group) = old.unwrap_or((0, 0));
        let path = self.path.to_owned();
        if uid.is_some_and(|uid| uid != own) || gid.is_some_and(|gid| gid != group) {
            let failure = format!("Failed to change the owner of {path}");
            plan = plan.then(Action::Owner { path: path.clone(), uid, gid, follow: true, failure });
            steps = true;
        }
        if let Some(mode) = self.mode.filter(|mode| stat.as_ref().is_some_and(|stat| stat.mode != *mode)) {
            plan = plan.then(Action::Mode {
                path: path.clone(),
                mode,
                failure: format!("Failed to change mode to {}", octal(mode)),
            });
            steps = true;
        }
        Ok(if steps { Decision::Change(plan, dry) } else { Decision::Settled(done) })
    }
}

fn spec(value: &Value, number: impl FnOnce() -> Option<u32>) -> Option<u32> {
    value.truth().then(number).flatten()
}
