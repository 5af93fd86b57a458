//! The functions that create, change and remove users.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::account::{self, Account};
use super::add::{Addition, delete};
use super::tool::{self, words};
use crate::catalog::Function;
use crate::catalog::file::Flag;
use crate::machine::{System, accounts};
use crate::{Error, Result};

/// Creates a user.
///
/// ```text
/// rocksalt '*' user.add alice
/// rocksalt '*' user.add deploy uid=1500 groups='[www-data]' shell=/bin/bash
/// ```
#[function("user.add", changes)]
pub struct Add {
    /// The name.
    name: String,
    /// Its number.
    uid: Option<u32>,
    /// Name or number of its own group.
    gid: Option<String>,
    /// Further groups.
    groups: Vec<String>,
    /// Its home.
    home: Option<String>,
    /// Its shell.
    shell: Option<String>,
    /// Whether the uid must be unique.
    #[default(true)]
    unique: Flag,
    /// Take a number of those for the system's own users.
    system: Flag,
    /// The full name.
    #[default]
    fullname: String,
    /// The room's number.
    #[default]
    roomnumber: String,
    /// The telephone's number at work.
    #[default]
    workphone: String,
    /// The telephone's number at home.
    #[default]
    homephone: String,
    /// Anything else.
    #[default]
    other: String,
    /// Make the home.
    #[default(true)]
    createhome: Flag,
    /// Only BSDs have it.
    loginclass: Value,
    /// Don't note it in lastlog and faillog.
    nologinit: Flag,
    /// Not supported: only the running system is changed.
    root: Value,
    /// Whether a group of the same name is made; else as the system is set up.
    usergroup: Option<Flag>,
    /// Not supported.
    local: Value,
}

impl Function for Add {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        tool::check_name("user", &self.name)?;
        tool::refuse(&[("loginclass", &self.loginclass), ("root", &self.root), ("local", &self.local)])?;
        let comment = [self.fullname, self.roomnumber, self.workphone, self.homephone, self.other];
        let addition = Addition {
            name: self.name,
            uid: self.uid,
            gid: self.gid.filter(|gid| !gid.is_empty()),
            usergroup: self.usergroup.map(|flag| flag.0),
            groups: self.groups,
            home: self.home,
            createhome: self.createhome.0,
            shell: self.shell.filter(|shell| !shell.is_empty()),
            unique: self.unique.0,
            system: self.system.0,
            nologinit: self.nologinit.0,
            comment: account::comment(&comment),
        };
        done(addition.carry_out(machine))
    }
}

/// Removes a user.
///
/// ```text
/// rocksalt '*' user.delete alice remove=True
/// ```
#[function("user.delete", changes)]
pub struct Delete {
    /// The name.
    name: String,
    /// Remove its home and mail, too.
    remove: Flag,
    /// Even if it is logged in.
    force: Flag,
}

impl Function for Delete {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        tool::check_name("user", &self.name)?;
        done(delete(machine, &self.name, self.remove.0, self.force.0))
    }
}

/// Sets a user's supplementary groups.
///
/// ```text
/// rocksalt '*' user.chgroups alice wheel,docker append=True
/// ```
#[function("user.chgroups", changes)]
pub struct Chgroups {
    /// The name.
    name: String,
    /// The groups, as a list or a comma-separated text.
    #[required]
    groups: Vec<String>,
    /// Leave the others.
    append: Flag,
}

impl Function for Chgroups {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let groups = accounts::groups(machine);
        let account = existing(machine, &self.name)?;
        let wanted: Vec<&str> = self.groups.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
        let mut sorted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        sorted.sort();
        if account.groups(machine, &groups) == sorted {
            return Ok(true);
        }
        let mut argv = words(&["usermod"]);
        if self.append.0 {
            argv.push("-a".into());
        }
        argv.extend(words(&["-G", &wanted.join(","), &self.name]));
        done(tool::run(machine, &argv, None))
    }
}

/// Sets a user's home.
///
/// ```text
/// rocksalt '*' user.chhome alice /srv/alice persist=True
/// ```
#[function("user.chhome", changes)]
pub struct Chhome {
    /// The name.
    name: String,
    /// The new home.
    home: String,
    /// Move what is in the old one.
    persist: Flag,
}

impl Function for Chhome {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        if existing(machine, &self.name)?.user.home == self.home {
            return Ok(true);
        }
        let mut argv = words(&["usermod"]);
        if self.persist.0 {
            argv.push("-m".into());
        }
        argv.extend(words(&["-d", &self.home, &self.name]));
        done(tool::run(machine, &argv, None))
    }
}

/// Renames a user.
///
/// ```text
/// rocksalt '*' user.rename alice alicia
/// ```
#[function("user.rename", changes)]
pub struct Rename {
    /// The old name.
    name: String,
    /// The new name.
    new_name: String,
}

impl Function for Rename {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        tool::check_name("user", &self.new_name)?;
        if existing(machine, &self.new_name).is_ok() {
            return Err(Error::failed(format!("User '{}' already exists", self.new_name)));
        }
        existing(machine, &self.name)?;
        done(tool::run(machine, &words(&["usermod", "-l", &self.new_name, &self.name]), None))
    }
}

/// Changes a user's uid. Files keep the old one.
///
/// ```text
/// rocksalt '*' user.chuid alice 4376
/// ```
#[function("user.chuid", changes)]
pub struct Chuid {
    /// The name.
    name: String,
    /// The new value.
    uid: u32,
}

impl Function for Chuid {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        change(machine, &self.name, "-u", &self.uid.to_string())
    }
}

/// Changes a user's primary group.
///
/// ```text
/// rocksalt '*' user.chgid alice 4376
/// ```
#[function("user.chgid", changes)]
pub struct Chgid {
    /// The name.
    name: String,
    /// The new value.
    gid: String,
}

impl Function for Chgid {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        change(machine, &self.name, "-g", &self.gid)
    }
}

/// Sets a user's shell.
///
/// ```text
/// rocksalt '*' user.chshell alice /bin/zsh
/// ```
#[function("user.chshell", changes)]
pub struct Chshell {
    /// The name.
    name: String,
    /// The new value.
    shell: String,
}

impl Function for Chshell {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        change(machine, &self.name, "-s", &self.shell)
    }
}

/// Sets a user's full name.
///
/// ```text
/// rocksalt '*' user.chfullname alice 'Alice Example'
/// ```
#[function("user.chfullname", changes)]
pub struct Chfullname {
    /// The name.
    name: String,
    /// The new value.
    #[default]
    fullname: String,
}

impl Function for Chfullname {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        describe(machine, &self.name, 0, self.fullname)
    }
}

/// Sets a user's room.
///
/// ```text
/// rocksalt '*' user.chroomnumber alice 123
/// ```
#[function("user.chroomnumber", changes)]
pub struct Chroomnumber {
    /// The name.
    name: String,
    /// The new value.
    #[default]
    roomnumber: String,
}

impl Function for Chroomnumber {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        describe(machine, &self.name, 1, self.roomnumber)
    }
}

/// Sets a user's telephone number at work.
///
/// ```text
/// rocksalt '*' user.chworkphone alice 7735550123
/// ```
#[function("user.chworkphone", changes)]
pub struct Chworkphone {
    /// The name.
    name: String,
    /// The new value.
    #[default]
    workphone: String,
}

impl Function for Chworkphone {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        describe(machine, &self.name, 2, self.workphone)
    }
}

/// Sets a user's telephone number at home.
///
/// ```text
/// rocksalt '*' user.chhomephone alice 7735551234
/// ```
#[function("user.chhomephone", changes)]
pub struct Chhomephone {
    /// The name.
    name: String,
    /// The new value.
    #[default]
    homephone: String,
}

impl Function for Chhomephone {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        describe(machine, &self.name, 3, self.homephone)
    }
}

/// Sets the `other` field of a user's GECOS.
///
/// ```text
/// rocksalt '*' user.chother alice on-leave
/// ```
#[function("user.chother", changes)]
pub struct Chother {
    /// The name.
    name: String,
    /// The new value.
    #[default]
    other: String,
}

impl Function for Chother {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        describe(machine, &self.name, 4, self.other)
    }
}

fn change(machine: &dyn System, name: &str, letter: &str, value: &str) -> Result<bool> {
    existing(machine, name)?;
    done(tool::run(machine, &words(&["usermod", letter, value, name]), None))
}

fn describe(machine: &dyn System, name: &str, index: usize, value: String) -> Result<bool> {
    // A comma would shift all later parts.
    if index < 4 && value.contains(',') {
        return Err(Error::arguments(format!("Unsupported char ',' in {value}")));
    }
    let mut parts = existing(machine, name)?.gecos();
    if parts[index] == value {
        return Ok(true);
    }
    parts[index] = value;
    change(machine, name, "-c", &account::comment(&parts))
}

fn existing(machine: &dyn System, name: &str) -> Result<Account> {
    let found = Account::find(machine, &accounts::groups(machine), name);
    found.ok_or_else(|| Error::failed(format!("User '{name}' does not exist")))
}

fn done<T>(outcome: Result<T, String>) -> Result<bool> {
    outcome.map(|_| true).map_err(Error::failed)
}
