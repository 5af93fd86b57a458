//! Creates and removes users with the shadow tools, or with busybox's if those are missing.

use serde::{Deserialize, Serialize};

use super::tool::{self, words};
use crate::machine::System;

/// A user to create.
#[derive(Default, Serialize, Deserialize)]
pub struct Addition {
    pub name: String,
    pub uid: Option<u32>,
    /// Name or id of its group.
    pub gid: Option<String>,
    pub usergroup: Option<bool>,
    pub groups: Vec<String>,
    pub home: Option<String>,
    pub createhome: bool,
    pub shell: Option<String>,
    pub unique: bool,
    pub system: bool,
    pub nologinit: bool,
    /// The comment field.
    pub comment: String,
}

impl Addition {
    pub fn carry_out(&self, machine: &dyn System) -> Result<(), String> {
        if tool::is_there(machine, "useradd") {
            return tool::run(machine, &self.useradd(), None).map(drop);
        }
        if !tool::is_there(machine, "adduser") {
            return Err("Command 'useradd' cannot be found".into());
        }
        tool::run(machine, &self.adduser(), None)?;
        self.groups
            .iter()
            .try_for_each(|group| tool::run(machine, &words(&["addgroup", &self.name, group]), None).map(drop))
    }

    fn useradd(&self) -> Vec<String> {
        let mut argv = words(&["useradd"]);
        let mut option = |letter: &str, value: Option<String>| {
            if let Some(value) = value {
                argv.extend([letter.to_owned(), value]);
            }
        };
        option("-s", self.shell.clone());
        option("-u", self.uid.map(|uid| uid.to_string()));
        option("-g", self.gid.clone());
        option("-d", self.home.clone());
        option("-c", Some(self.comment.clone()).filter(|comment| !comment.is_empty()));
        option("-G", Some(self.groups.join(",")).filter(|groups| !groups.is_empty()));
        let mut flag = |letter: &str, on: bool| {
            if on {
                argv.push(letter.to_owned());
            }
        };
        flag("-U", self.usergroup == Some(true) && self.gid.is_none());
        flag("-N", self.usergroup == Some(false));
        flag("-m", self.createhome);
        flag("-M", !self.createhome);
        flag("-l", self.nologinit);
        flag("-o", !self.unique);
        flag("-r", self.system);
        argv.push(self.name.clone());
        argv
    }

    fn adduser(&self) -> Vec<String> {
        let mut argv = words(&["adduser", "-D"]);
        let mut option = |letter: &str, value: Option<String>| {
            if let Some(value) = value {
                argv.extend([letter.to_owned(), value]);
            }
        };
        option("-s", self.shell.clone());
        option("-u", self.uid.map(|uid| uid.to_string()));
        option("-G", self.gid.clone());
        option("-h", self.home.clone());
        option("-g", Some(self.comment.clone()));
        if !self.createhome {
            argv.push("-H".into());
        }
        if self.system {
            argv.push("-S".into());
        }
        argv.push(self.name.clone());
        argv
    }
}

/// Removes a user. A missing mail spool is no failure.
pub fn delete(machine: &dyn System, name: &str, purge: bool, force: bool) -> Result<(), String> {
    let shadow = tool::is_there(machine, "userdel");
    let mut argv = words(&[if shadow { "userdel" } else { "deluser" }]);
    if purge {
        argv.push(if shadow { "-r" } else { "--remove-home" }.into());
    }
    if force && shadow {
        argv.push("-f".into());
    }
    argv.push(name.into());
    match tool::run(machine, &argv, None) {
        Err(text) if text.contains(" ended with 12:") && text.contains("mail") => Ok(()),
        done => done.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_tools_are_told_the_same() {
        let addition = Addition {
            name: "svc".into(),
            uid: Some(900),
            gid: Some("crew".into()),
            groups: words(&["a", "b"]),
            home: Some("/srv/svc".into()),
            shell: Some("/bin/sh".into()),
            unique: true,
            system: true,
            comment: "A Service".into(),
            ..Addition::default()
        };
        let useradd = "useradd -s /bin/sh -u 900 -g crew -d /srv/svc -c A Service -G a,b -M -r svc";
        assert_eq!(addition.useradd().join(" "), useradd);
        let adduser = "adduser -D -s /bin/sh -u 900 -G crew -h /srv/svc -g A Service -H -S svc";
        assert_eq!(addition.adduser().join(" "), adduser);
    }
}
