//! `user.absent`: a user doesn't exist.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::account::Account;
use super::add;
use super::defaults::Defaults;
use super::present::account_files;
use super::tool;
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, Step, Thing, Touches, Verdict};
use crate::machine::accounts;
use crate::machine::{Probe, System};

/// Makes sure that there is no such user.
///
/// ```yaml
/// bob:
///   user.absent:
///     - purge: true
/// ```
#[state("user.absent", strict)]
pub struct Absent {
    /// The name.
    name: String,
    /// Remove its home and mail, too.
    purge: Flag,
    /// Even if it is logged in.
    force: Flag,
    /// Not supported: libuser's tools.
    local: Value,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        tool::check_name("user", &self.name)?;
        tool::refuse(&[("local", &self.local)])?;
        let known = accounts::groups(machine);
        let Some(account) = Account::find(machine, &known, &self.name) else {
            return Ok(Decision::Settled(Verdict::good(format!("User {} is not present", self.name))));
        };
        // The tools also remove the user's own group, unless it has other members.
        let own = known.iter().find(|group| group.name == self.name && group.gid == account.user.gid);
        let alone = |gid: u32| {
            self.force.0 || !accounts::users(machine).iter().any(|user| user.gid == gid && user.name != self.name)
        };
        let goes = own.is_some_and(|group| group.members.iter().all(|member| *member == self.name) && alone(group.gid));
        let mut changes = Map::new();
        if goes && Defaults::read(machine).own_group() {
            changes.insert(format!("{} group", self.name), "removed");
        }
        changes.insert(self.name.as_str(), "removed");
        Ok(Decision::Change(
            Plan::default(),
            Verdict::would(format!("User {} set for removal", self.name)).changes(changes),
        ))
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let name = &self.name;
        let known = accounts::groups(machine);
        let groups = Account::find(machine, &known, name).map(|account| account.groups(machine, &known));
        if let Err(text) = add::delete(machine, name, self.purge.0, self.force.0) {
            return Ok(Verdict::bad(format!("Failed to remove user {name}\n{text}")));
        }
        let left = accounts::groups(machine);
        let mut changes = Map::new();
        for group in groups.unwrap_or_default().iter().filter(|name| !left.iter().any(|group| group.name == **name)) {
            changes.insert(format!("{group} group"), "removed");
        }
        changes.insert(name.as_str(), "removed");
        Ok(Verdict::good(format!("Removed user {name}")).changes(changes))
    }

    fn touches(&self) -> Touches {
        // The home is not known yet.
        if self.purge.0 {
            return Touches::everything();
        }
        account_files().writes(Thing::User(self.name.clone())).writes(Thing::Group(self.name.clone()))
    }
}
