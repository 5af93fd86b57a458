//! [`UserSpec`]: a requested user, and the differences from the existing one.

use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize};

use super::REDACTED;
use super::account::{self, Account};
use super::tool::{texts, words};
use crate::catalog::shadow::{DAYS, Shadow};
use crate::grains::look::is_directory;
use crate::machine::Probe;
use crate::machine::accounts::{self, Group};

/// Attributes that aren't requested are `None`, and stay unchanged.
#[derive(Serialize, Deserialize)]
pub struct UserSpec {
    pub name: String,
    pub uid: Option<u32>,
    /// Name or id.
    pub gid: Option<Value>,
    /// Includes the optional groups that exist.
    pub groups: Option<Vec<String>>,
    pub remove_groups: bool,
    pub home: Option<String>,
    pub createhome: bool,
    pub persist_home: bool,
    pub unique: bool,
    /// The hash.
    pub password: Option<String>,
    pub enforce_password: bool,
    pub empty_password: bool,
    pub password_lock: Option<bool>,
    pub shell: Option<String>,
    pub gecos: [Option<String>; 5],
    /// In the order of [`DAYS`].
    pub days: [Option<i64>; 6],
}

/// The users' names for the parts of the comment field, and for the days.
pub const GECOS: [&str; 5] = ["fullname", "roomnumber", "workphone", "homephone", "other"];
const DAY_NAMES: [&str; 6] = ["date", "mindays", "maxdays", "warndays", "inactdays", "expire"];
/// The order of Salt's report.
const DAY_ORDER: [usize; 6] = [0, 1, 2, 4, 3, 5];

/// The requested days in Salt's order: Salt's name, the value, and the position in the file.
pub fn days(desired: &[Option<i64>; 6]) -> impl Iterator<Item = (&'static str, i64, usize)> + '_ {
    DAY_ORDER.into_iter().filter_map(|index| Some((DAY_NAMES[index], desired[index]?, index)))
}

/// The id of a group given by name or id.
pub fn gid_of(machine: &dyn Probe, known: &[Group], gid: &Value) -> Option<u32> {
    if let Some(number) = gid.as_i64() {
        return u32::try_from(number).ok();
    }
    let text = gid.to_string();
    let named = known.iter().find(|group| group.name == text).map(|group| group.gid);
    named.or_else(|| text.parse().ok()).or_else(|| accounts::group(machine, &text).map(|group| group.gid))
}

impl UserSpec {
    /// The changes, under Salt's names; a password is not shown.
    pub fn differences(&self, machine: &dyn Probe, known: &[Group], account: &Account, shadow: &Shadow) -> Map {
        let user = &account.user;
        let mut change = Map::new();
        if let Some(uid) = self.uid.filter(|uid| *uid != user.uid) {
            change.insert("uid", uid);
        }
        let gid = self.gid.as_ref().map(|gid| (gid, gid_of(machine, known, gid)));
        if let Some((gid, number)) = gid
            && number != Some(user.gid)
        {
            change.insert("gid", gid.clone());
        }
        let new_gid = gid.and_then(|(_, number)| number).unwrap_or(user.gid);
        if let Some(wanted) = self.group_difference(known, account, new_gid) {
            change.insert("groups", texts(wanted));
        }
        if let Some(home) = self.home.as_ref().filter(|home| **home != user.home) {
            change.insert("home", home.as_str());
        }
        let home = self.home.as_ref().unwrap_or(&user.home);
        if self.createhome && !home.is_empty() && !is_directory(machine, home) {
            change.insert("homeDoesNotExist", home.as_str());
        }
        if let Some(shell) = self.shell.as_ref().filter(|shell| **shell != user.shell) {
            change.insert("shell", shell.as_str());
        }
        self.password_difference(shadow, &mut change);
        for (name, desired, index) in days(&self.days) {
            if shadow.days[index] != desired {
                change.insert(name, desired);
            }
        }
        let locked = shadow.passwd.starts_with('!');
        if let Some(lock) = self.password_lock.filter(|lock| *lock != locked) {
            change.insert("password_lock", lock);
        }
        for ((name, desired), found) in GECOS.iter().zip(&self.gecos).zip(account.gecos()) {
            if let Some(desired) = desired.as_ref().filter(|desired| **desired != found) {
                change.insert(*name, desired.as_str());
            }
        }
        change
    }

    fn password_difference(&self, shadow: &Shadow, change: &mut Map) {
        if let Some(password) = self.password.as_ref().filter(|_| !self.empty_password) {
            // A locked account without a password always gets the requested one.
            if (shadow.passwd == "!" || self.enforce_password) && shadow.passwd != *password {
                change.insert("passwd", REDACTED);
            }
        }
        if self.empty_password && !shadow.passwd.is_empty() {
            change.insert("empty_password", true);
        }
    }

    /// The supplementary groups, if they differ from the request.
    fn group_difference(&self, known: &[Group], account: &Account, gid: u32) -> Option<Vec<String>> {
        let number = |name: &String| known.iter().find(|group| group.name == *name).map(|group| group.gid);
        let mut desired = self.groups.clone().unwrap_or_default();
        if self.groups.is_none() || !self.remove_groups {
            // A user whose primary group changes stays a member of the old one.
            let own = known.iter().filter(|group| group.gid == account.user.gid).map(|group| group.name.clone());
            desired.extend(account.member_of.iter().cloned().chain(own));
        }
        // Groups with the same id are one group. The group with the user's name only counts if it is requested.
        desired.retain(|name| number(name) != Some(gid));
        desired.sort();
        desired.dedup();
        let mut current = account.member_of.clone();
        current.retain(|name| number(name) != Some(gid) && number(name) != Some(account.user.gid));
        current.retain(|name| *name != self.name || desired.contains(name));
        let within = |name: &String, names: &[String]| {
            names.iter().any(|other| other == name || number(name).is_some() && number(other) == number(name))
        };
        let missing = desired.iter().any(|name| !within(name, &current));
        let strange = self.remove_groups && current.iter().any(|name| !within(name, &desired));
        (missing || strange).then_some(desired)
    }

    /// The commands that make the changes, with their input. Busybox has commands only for groups.
    pub fn commands(&self, change: &Map, account: &Account, busybox: bool) -> Vec<(Vec<String>, Option<Vec<u8>>)> {
        let mut usermod = words(&["usermod"]);
        let mut option = |key: &str, letters: &[&str]| {
            if let Some(value) = change.get(key) {
                usermod.extend(letters.iter().map(|letter| (*letter).to_owned()).chain([value.to_string()]));
            }
        };
        option("uid", if self.unique { &["-u"] } else { &["-o", "-u"] });
        option("gid", &["-g"]);
        option("home", if self.persist_home { &["-m", "-d"] } else { &["-d"] });
        option("shell", &["-s"]);
        if GECOS.iter().any(|key| change.contains_key(key)) {
            let found = account.gecos();
            let parts = std::array::from_fn(|index| self.gecos[index].clone().unwrap_or_else(|| found[index].clone()));
            usermod.extend(["-c".to_owned(), account::comment(&parts)]);
        }
        let mut commands = Vec::new();
        if let Some(groups) = change.get("groups").and_then(Value::as_list) {
            let names: Vec<String> = groups.iter().map(ToString::to_string).collect();
            if busybox {
                let new = names.iter().filter(|name| !account.member_of.contains(name));
                commands.extend(new.map(|name| (words(&["addgroup", &self.name, name]), None)));
                let old = account.member_of.iter().filter(|name| self.remove_groups && !names.contains(name));
                commands.extend(old.map(|name| (words(&["delgroup", &self.name, name]), None)));
            } else {
                usermod.extend(words(if self.remove_groups { &["-G"] } else { &["-a", "-G"] }));
                usermod.push(names.join(","));
            }
        }
        if usermod.len() > 1 {
            usermod.push(self.name.clone());
            commands.push((usermod, None));
        }
        let sets = change.contains_key("passwd");
        if let Some(password) = self.password.as_ref().filter(|_| sets) {
            commands.push((words(&["chpasswd", "-e"]), Some(format!("{}:{password}\n", self.name).into_bytes())));
        }
        if change.contains_key("empty_password") {
            commands.push((words(&["passwd", "-d", &self.name]), None));
        }
        if let Some(lock) = change.get("password_lock").filter(|_| !sets) {
            commands.push((words(&["passwd", if lock.truth() { "-l" } else { "-u" }, &self.name]), None));
        }
        // Setting a password also sets its date.
        let dated = change.contains_key("date") || sets && self.days[0].is_some();
        commands.extend(chage(&self.name, &self.days, |key| change.contains_key(key) || key == "date" && dated));
        commands
    }

    /// The user after all changes.
    pub fn foreseen(
        &self,
        machine: &dyn Probe,
        known: &[Group],
        change: &Map,
        (account, shadow): (&Account, &Shadow),
    ) -> (Account, Shadow) {
        let (mut account, mut shadow) = (account.clone(), shadow.clone());
        account.user.uid = self.uid.unwrap_or(account.user.uid);
        let gid = self.gid.as_ref().and_then(|gid| gid_of(machine, known, gid));
        account.user.gid = gid.unwrap_or(account.user.gid);
        account.user.home = self.home.clone().unwrap_or(account.user.home);
        account.user.shell = self.shell.clone().unwrap_or(account.user.shell);
        let found = account.gecos();
        if GECOS.iter().any(|key| change.contains_key(key)) {
            let parts = std::array::from_fn(|index| self.gecos[index].clone().unwrap_or_else(|| found[index].clone()));
            account.user.comment = account::comment(&parts);
        }
        if let Some(groups) = change.get("groups").and_then(Value::as_list) {
            if self.remove_groups {
                account.member_of.clear();
            }
            account.member_of.extend(groups.iter().map(ToString::to_string));
        }
        let today = (machine.now() / 86_400.0).floor() as i64;
        if change.contains_key("passwd") {
            shadow.passwd = self.password.clone().unwrap_or_default();
            shadow.days[0] = today;
        } else if change.contains_key("empty_password") {
            shadow.passwd = String::new();
        } else if let Some(lock) = change.get("password_lock") {
            shadow.passwd = match lock.truth() {
                true => format!("!{}", shadow.passwd),
                false => shadow.passwd.trim_start_matches('!').to_owned(),
            };
        }
        for (_, desired, index) in days(&self.days) {
            shadow.days[index] = desired;
        }
        (account, shadow)
    }
}

/// The one command that sets all days in `which`.
pub fn chage(
    name: &str,
    desired: &[Option<i64>; 6],
    which: impl Fn(&str) -> bool,
) -> Option<(Vec<String>, Option<Vec<u8>>)> {
    let mut argv = words(&["chage"]);
    for (_, days, index) in days(desired).filter(|(key, _, _)| which(key)) {
        argv.extend([DAYS[index].1.to_owned(), days.to_string()]);
    }
    (argv.len() > 1).then(|| {
        argv.push(name.to_owned());
        (argv, None)
    })
}

/// The differences in Salt's form.
pub fn changes(before: &Map, after: &Map) -> Map {
    let different = after.iter().filter(|(key, value)| before.get_value(key) != Some(value));
    different
        .map(|(key, value)| {
            let secret = key.as_str() == Some("passwd") && value.as_str() != Some("x");
            (key.clone(), if secret { REDACTED.into() } else { value.clone() })
        })
        .collect()
}
