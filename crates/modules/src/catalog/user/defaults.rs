//! The defaults of the system's tools: ids, shell, home.
//!
//! Only dry runs need them. The rules are those of the shadow tools: the next id after the highest one in use, for
//! system accounts before the lowest.

use std::path::Path;

use super::promised;
use crate::machine::{Probe, accounts};

/// The configuration files of the tools.
pub struct Defaults {
    login: String,
    useradd: String,
}

impl Defaults {
    pub fn read(machine: &dyn Probe) -> Defaults {
        let text = |path: &str| {
            let content = machine.read(Path::new(path)).unwrap_or_default();
            String::from_utf8_lossy(&content).into_owned()
        };
        Defaults { login: text("/etc/login.defs"), useradd: text("/etc/default/useradd") }
    }

    /// Whether a new user gets a group of its own.
    pub fn own_group(&self) -> bool {
        self.login("USERGROUPS_ENAB").is_some_and(|value| value.eq_ignore_ascii_case("yes"))
    }

    pub fn shell(&self) -> String {
        self.useradd("SHELL").unwrap_or_default().to_owned()
    }

    pub fn home(&self, name: &str) -> String {
        format!("{}/{name}", self.useradd("HOME").unwrap_or("/home").trim_end_matches('/'))
    }

    /// The group of users without a group of their own.
    pub fn shared_group(&self) -> u32 {
        self.useradd("GROUP").and_then(|value| value.parse().ok()).unwrap_or(100)
    }

    pub fn next_uid(&self, machine: &dyn Probe, system: bool) -> Option<u32> {
        let used = accounts::users(machine).into_iter().map(|user| user.uid).chain(promised::uids(machine));
        next(&used.collect::<Vec<u32>>(), self.range("UID", system), system)
    }

    /// Prefers `like` if it is free: a user's group has the user's id.
    pub fn next_gid(&self, machine: &dyn Probe, system: bool, like: Option<u32>) -> Option<u32> {
        let used = promised::groups(machine).into_iter().map(|group| group.gid);
        let used: Vec<u32> = used.collect();
        let range = self.range("GID", system);
        like.filter(|like| (1..=range.1).contains(like) && !used.contains(like)).or_else(|| next(&used, range, system))
    }

    fn range(&self, kind: &str, system: bool) -> (u32, u32) {
        let number = |key: &str| self.login(key).and_then(|value| value.parse::<u32>().ok());
        let least = number(&format!("{kind}_MIN")).unwrap_or(1000);
        match system {
            false => (least, number(&format!("{kind}_MAX")).unwrap_or(60_000)),
            true => (
                number(&format!("SYS_{kind}_MIN")).unwrap_or(101),
                number(&format!("SYS_{kind}_MAX")).unwrap_or(least.saturating_sub(1)),
            ),
        }
    }

    fn login(&self, key: &str) -> Option<&str> {
        self.login.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(key)).then(|| words.next()).flatten()
        })
    }

    fn useradd(&self, key: &str) -> Option<&str> {
        self.useradd.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('=')).map(str::trim)
    }
}

fn next(used: &[u32], (least, most): (u32, u32), downward: bool) -> Option<u32> {
    let within = || used.iter().copied().filter(|id| (least..=most).contains(id));
    let free = |id: &u32| !used.contains(id);
    match downward {
        false => (within().max().map_or(least, |highest| highest + 1)..=most)
            .find(free)
            .or_else(|| (least..=most).find(free)),
        true => (least..=within().min().map_or(most, |lowest| lowest - 1))
            .rev()
            .find(free)
            .or_else(|| (least..=most).rev().find(free)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn numbers_follow_the_highest_or_precede_the_lowest() {
        let cases: [(&[u32], bool, Option<u32>); 6] = [
            (&[0, 1, 65534], false, Some(1000)),
            (&[1000, 1005], false, Some(1006)),
            (&[1000, 2000], false, Some(1001)),
            (&[0, 42], true, Some(999)),
            (&[998, 999], true, Some(997)),
            (&[101, 999], true, Some(998)),
        ];
        for (used, downward, expected) in cases {
            let range = if downward { (101, 999) } else { (1000, 2000) };
            assert_eq!(next(used, range, downward), expected, "{used:?}");
        }
    }

    #[test]
    fn a_users_group_has_its_number_if_that_is_free() {
        let machine = Fake::new()
            .file("/etc/login.defs", "# x\nUID_MIN\t\t\t 1000\nGID_MIN 1000\nGID_MAX 60000\nUSERGROUPS_ENAB yes\n")
            .file("/etc/default/useradd", "# x\nSHELL=/bin/sh\n# HOME=/home\n")
            .file("/etc/passwd", "root:x:0:0::/root:/bin/sh\na:x:1000:1000::/home/a:/bin/sh\n")
            .file("/etc/group", "root:x:0:\na:x:1000:\nb:x:1001:\n");
        let defaults = Defaults::read(&machine);
        assert_eq!((defaults.own_group(), defaults.shell().as_str(), defaults.shared_group()), (true, "/bin/sh", 100));
        assert_eq!(defaults.home("c"), "/home/c");
        assert_eq!(defaults.next_uid(&machine, false), Some(1001));
        assert_eq!(defaults.next_gid(&machine, false, Some(1001)), Some(1002));
        assert_eq!(defaults.next_gid(&machine, false, Some(1003)), Some(1003));
        assert_eq!(defaults.next_gid(&machine, true, None), Some(999));
    }
}
