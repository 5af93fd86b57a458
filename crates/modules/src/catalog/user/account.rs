//! [`Account`]: the system's entry for a user, and its form in Salt.

use rocksalt_core::Map;

use super::tool::texts;
use crate::machine::Probe;
use crate::machine::accounts::{self, Group, User};

#[derive(Clone, Debug)]
pub struct Account {
    pub user: User,
    /// The groups that list the user as a member.
    pub member_of: Vec<String>,
}

impl Account {
    /// Finds a user by name only: `accounts::user` also accepts an id.
    pub fn find(machine: &dyn Probe, groups: &[Group], name: &str) -> Option<Account> {
        let user = accounts::user(machine, name).filter(|user| user.name == name)?;
        let member = groups.iter().filter(|group| group.members.contains(&user.name));
        let member_of = member.map(|group| group.name.clone()).collect();
        Some(Account { user, member_of })
    }

    /// The names of all groups, sorted; groups that share an id are all listed.
    pub fn groups(&self, machine: &dyn Probe, known: &[Group]) -> Vec<String> {
        let number = |name: &String| known.iter().find(|group| group.name == *name).map(|group| group.gid);
        let mut numbers: Vec<u32> = self.member_of.iter().filter_map(number).collect();
        numbers.push(self.user.gid);
        let mut names: Vec<String> =
            known.iter().filter(|group| numbers.contains(&group.gid)).map(|group| group.name.clone()).collect();
        if !known.iter().any(|group| group.gid == self.user.gid) {
            names.extend(accounts::group(machine, &self.user.gid.to_string()).map(|group| group.name));
        }
        names.sort();
        names.dedup();
        names
    }

    /// Full name, room, work phone, home phone, and the rest.
    pub fn gecos(&self) -> [String; 5] {
        let mut parts = self.user.comment.splitn(5, ',').map(str::to_owned);
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    }

    pub fn info(&self, machine: &dyn Probe, known: &[Group]) -> Map {
        let [fullname, roomnumber, workphone, homephone, other] = self.gecos();
        let user = self.user.clone();
        Map::from_iter([
            ("gid".into(), user.gid.into()),
            ("groups".into(), texts(self.groups(machine, known))),
            ("home".into(), user.home.into()),
            ("name".into(), user.name.into()),
            // Passwords are in `/etc/shadow`.
            ("passwd".into(), "x".into()),
            ("shell".into(), user.shell.into()),
            ("uid".into(), user.uid.into()),
            ("fullname".into(), fullname.into()),
            ("roomnumber".into(), roomnumber.into()),
            ("workphone".into(), workphone.into()),
            ("homephone".into(), homephone.into()),
            ("other".into(), other.into()),
        ])
    }
}

/// The comment field of a passwd line, from its five parts.
pub fn comment(parts: &[String; 5]) -> String {
    parts.join(",").trim_end_matches(',').to_owned()
}
