//! `user.present`: a user exists with the requested attributes.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::REDACTED;
use super::account::{self, Account};
use super::add::Addition;
use super::defaults::Defaults;
use super::difference::{self, UserSpec, gid_of};
use super::{promised, tool};
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::shadow::{self, Shadow};
use crate::catalog::{Decision, State, Step, Thing, Touches, Verdict};
use crate::machine::accounts::{self, Group, User};
use crate::machine::{Probe, System};
use crate::text::crypt::{self, CryptMethod};
use crate::{Error, Result};

/// Makes sure that there is a user, and that it is as requested.
///
/// ```yaml
/// alice:
///   user.present:
///     - fullname: Alice Example
///     - shell: /bin/bash
///     - groups:
///       - sudo
/// ```
#[state("user.present", strict)]
pub struct Present {
    /// The name.
    name: String,
    /// Its number; else the next free one.
    uid: Option<u32>,
    /// Name or number of its own group.
    gid: Value,
    /// Whether a group of the same name is made with it; else as the system is set up.
    usergroup: Option<Flag>,
    /// Further groups, which must be there. An empty list takes the user out of all.
    groups: Option<Vec<String>>,
    /// Further groups, as far as they are there.
    optional_groups: Option<Vec<String>>,
    /// Take the user out of groups that are not named.
    #[default(true)]
    remove_groups: Flag,
    /// Its home.
    home: Option<String>,
    /// Make the home if it isn't there.
    #[default(true)]
    createhome: Flag,
    /// Move what is in the old home to a new one.
    persist_home: Flag,
    /// The hash of its password.
    #[secret]
    password: Option<String>,
    /// `password` is not a hash, and is hashed here.
    hash_password: Flag,
    /// Set the password even if there is another one.
    #[default(true)]
    enforce_password: Flag,
    /// Let the user log in without a password.
    empty_password: Flag,
    /// Its shell.
    shell: Option<String>,
    /// Whether its uid must be unique.
    #[default(true)]
    unique: Flag,
    /// Take a number of those for the system's own users.
    system: Flag,
    /// The full name.
    fullname: Option<String>,
    /// The room's number.
    roomnumber: Option<String>,
    /// The telephone's number at work.
    workphone: Option<String>,
    /// The telephone's number at home.
    homephone: Option<String>,
    /// Anything else.
    other: Option<String>,
    /// Accepted and ignored: only BSDs have it.
    #[allow(dead_code, reason = "there is none on Linux")]
    loginclass: Value,
    /// The day on which the password was changed: a date, or days since 1970.
    date: Value,
    /// Days before which the password can't be changed again.
    mindays: Option<i64>,
    /// Days after which the password must be changed.
    maxdays: Option<i64>,
    /// Days after which the account is locked when the password has expired.
    inactdays: Option<i64>,
    /// Days before the password's end at which the user is warned.
    warndays: Option<i64>,
    /// The day on which the account expires: a date, or days since 1970.
    expire: Value,
    /// Only used on Windows.
    win_homedrive: Value,
    /// Only used on Windows.
    win_profile: Value,
    /// Only used on Windows.
    win_logonscript: Value,
    /// Only used on Windows.
    win_description: Value,
    /// Don't note the user in lastlog and faillog.
    nologinit: Flag,
    /// Allow to change an existing user's uid. Files keep the old one.
    allow_uid_change: Flag,
    /// Allow to change an existing user's primary group.
    allow_gid_change: Flag,
    /// Lock or unlock the password.
    password_lock: Option<bool>,
    /// Not supported: libuser's tools.
    local: Value,
    /// As `gid` with the user's own name, from formulas for old versions of Salt.
    gid_from_name: Flag,
}

#[derive(Serialize, Deserialize)]
pub enum UserPlan {
    Make(Box<UserSpec>, Addition),
    Change(Box<UserSpec>, Map),
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.check()?;
        let name = &self.name;
        let known = promised::groups(machine);
        for text in [&self.fullname, &self.roomnumber, &self.workphone].into_iter().flatten() {
            if text.contains(',') {
                return Ok(Decision::Settled(Verdict::bad(format!("Unsupported char ',' in {text}"))));
            }
        }
        // In a dry run, groups that an earlier step would create don't exist yet.
        let there = accounts::groups(machine);
        let is_there = |name: &String| {
            there.iter().any(|group| group.name == *name)
                || accounts::group(machine, name).is_some_and(|group| group.name == *name)
        };
        let missing: Vec<&str> =
            self.groups.iter().flatten().filter(|name| !is_there(name)).map(String::as_str).collect();
        if !missing.is_empty() && !step.test {
            let text = format!("The following group(s) are not present: {}", missing.join(","));
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let account = Account::find(machine, &known, name);
        let shadow = Shadow::find(machine, name).unwrap_or_else(Shadow::none);
        let request = self.request(machine, &known, &shadow)?;
        let Some(account) = account else { return self.make(machine, step, &known, request, &missing).into_plan() };
        let change = request.differences(machine, &known, &account, &shadow);
        if let Some(text) = self.forbidden(&account, &change) {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        if change.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("User {name} is present and up to date"))));
        }
        let mut comment = "The following user attributes are set to be changed:\n".to_owned();
        for (key, value) in change.iter() {
            let value = match (key.as_str(), value.as_list()) {
                (Some("groups"), Some(groups)) => {
                    tool::texts(groups.iter().map(ToString::to_string).filter(|name| !missing.contains(&name.as_str())))
                }
                _ => value.clone(),
            };
            comment.push_str(&format!("{key}: {value}\n"));
        }
        if !missing.is_empty() {
            comment.push_str(&format!("groups (pending creation): {}\n", missing.join(",")));
        }
        let foreseen = request.foreseen(machine, &known, &change, (&account, &shadow));
        let would = told(machine, &known, &change, (&account, &shadow), (&foreseen.0, &foreseen.1));
        Decision::own(&UserPlan::Change(Box::new(request), change), Verdict::would(comment).changes(would))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: UserPlan = plan.into_own()?;
        match plan {
            UserPlan::Make(request, addition) => Ok(self.made(machine, &request, &addition)),
            UserPlan::Change(request, change) => self.changed(machine, &request, &change),
        }
    }

    fn touches(&self) -> Touches {
        let home = self.home.clone().unwrap_or_else(|| format!("/home/{}", self.name));
        let mut touches = account_files().writes(Thing::User(self.name.clone())).writes(Thing::Path(home));
        for group in self.groups.iter().chain(&self.optional_groups).flatten() {
            touches = touches.reads(Thing::Group(group.clone()));
        }
        touches
    }
}

/// All users and groups are in a few files, which only one program may change at a time.
pub fn account_files() -> Touches {
    ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"]
        .into_iter()
        .fold(Touches::nothing(), |touches, path| touches.writes(Thing::Path(path.into())))
}

impl Present {
    fn check(&self) -> Result<()> {
        tool::check_name("user", &self.name)?;
        tool::refuse(&[
            ("win_homedrive", &self.win_homedrive),
            ("win_profile", &self.win_profile),
            ("win_logonscript", &self.win_logonscript),
            ("win_description", &self.win_description),
            ("local", &self.local),
        ])?;
        self.groups
            .iter()
            .chain(&self.optional_groups)
            .flatten()
            .try_for_each(|name| tool::check_name("group", name))?;
        let password = self.password.as_deref().filter(|_| !self.hash_password.0).unwrap_or_default();
        if password.contains([':', '\n', '\0']) {
            return Err(Error::arguments("password: it is no hash, since it has a colon or a line's end in it")
                .hint("`hash_password: true` takes a password as it is"));
        }
        Ok(())
    }

    fn request(&self, machine: &dyn Probe, known: &[Group], shadow: &Shadow) -> Result<UserSpec> {
        let optional = self.optional_groups.iter().flatten();
        let optional: Vec<String> =
            optional.filter(|name| known.iter().any(|group| group.name == **name)).cloned().collect();
        let groups = match (&self.groups, optional) {
            (None, optional) if optional.is_empty() => None,
            (groups, optional) => Some(groups.iter().flatten().cloned().chain(optional).collect()),
        };
        let own = self.usergroup.is_some_and(|flag| flag.0) && known.iter().any(|group| group.name == self.name);
        let gid = match own || self.gid_from_name.0 && self.gid.is_null() {
            true => Some(self.name.as_str().into()),
            false => Some(self.gid.clone()).filter(|gid| !gid.is_null() && gid.as_str() != Some("")),
        };
        let password = self.password.as_ref().filter(|password| !password.is_empty());
        let password = password.map(|password| self.hashed(machine, shadow, password)).transpose()?;
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Ok(UserSpec {
            name: self.name.clone(),
            uid: self.uid,
            gid,
            groups,
            remove_groups: self.remove_groups.0,
            home: some(&self.home),
            createhome: self.createhome.0,
            persist_home: self.persist_home.0,
            unique: self.unique.0,
            // A locked password has a mark before it: both are set together.
            password: password.map(|hash| match self.password_lock {
                Some(true) if !hash.starts_with('!') => format!("!{hash}"),
                _ => hash,
            }),
            enforce_password: self.enforce_password.0,
            empty_password: self.empty_password.0,
            password_lock: self.password_lock,
            shell: some(&self.shell),
            gecos: [&self.fullname, &self.roomnumber, &self.workphone, &self.homephone, &self.other].map(Clone::clone),
            days: [
                shadow::days("date", &self.date)?,
                self.mindays,
                self.maxdays,
                self.warndays,
                self.inactdays,
                shadow::days("expire", &self.expire)?.filter(|days| *days != 0),
            ],
        })
    }

    /// The password's hash; with the existing salt, so that a correct password stays unchanged.
    fn hashed(&self, machine: &dyn Probe, shadow: &Shadow, password: &str) -> Result<String> {
        if !self.hash_password.0 {
            return Ok(password.to_owned());
        }
        let found = shadow.passwd.trim_start_matches('!');
        let parts = found.strip_prefix('$').and_then(|rest| rest.split_once('$'));
        let old = parts.and_then(|(kind, rest)| Some((kind, rest.rsplit_once('$')?.0)));
        Ok(match old {
            Some(("6", salt)) => crypt::hash(CryptMethod::Sha512, salt, password),
            Some(("5", salt)) => crypt::hash(CryptMethod::Sha256, salt, password),
            _ => crypt::hash(CryptMethod::Sha512, &shadow::random_salt(machine)?, password),
        })
    }

    fn forbidden(&self, account: &Account, change: &Map) -> Option<String> {
        let mut errors = Vec::new();
        for (key, allowed, old) in
            [("uid", self.allow_uid_change, account.user.uid), ("gid", self.allow_gid_change, account.user.gid)]
        {
            if let Some(new) = change.get(key).filter(|_| !allowed) {
                errors.push(format!(
                    "- Changing {key} ({old} -> {new}) not permitted, set allow_{key}_change to True to force this \
                     change. Note that this will not change file ownership."
                ));
            }
        }
        (!errors.is_empty()).then(|| {
            format!("Encountered error checking for needed changes. Additional info follows:\n\n{}", errors.join("\n"))
        })
    }

    /// The plan for a new user.
    fn make(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
        known: &[Group],
        request: UserSpec,
        missing: &[&str],
    ) -> Decision<UserPlan> {
        let name = &self.name;
        let defaults = Defaults::read(machine);
        let mut gid =
            request.gid.clone().filter(|_| !(self.usergroup.is_some_and(|flag| flag.0) && self.gid.is_null()));
        let groups = request.groups.clone().unwrap_or_default();
        if gid.is_none() && self.usergroup.is_none() && groups.contains(name) && defaults.own_group() {
            gid = Some(name.as_str().into());
        }
        let parts = std::array::from_fn(|index| request.gecos[index].clone().unwrap_or_default());
        let addition = Addition {
            name: name.clone(),
            uid: self.uid,
            gid: gid.as_ref().map(ToString::to_string),
            usergroup: self.usergroup.map(|flag| flag.0),
            groups: groups.clone(),
            home: request.home.clone(),
            createhome: request.createhome,
            shell: request.shell.clone(),
            unique: request.unique,
            system: self.system.0,
            nologinit: self.nologinit.0,
            comment: account::comment(&parts),
        };
        let own_group = self.usergroup.map_or_else(|| defaults.own_group(), |flag| flag.0);
        let uid = self.uid.or_else(|| defaults.next_uid(machine, self.system.0));
        let new_gid = match &gid {
            Some(gid) => gid_of(machine, known, gid),
            None if own_group => defaults.next_gid(machine, self.system.0, uid),
            None => Some(defaults.shared_group()),
        };
        let mut comment = format!("User {name} set to be added");
        if !missing.is_empty() {
            comment.push_str(&format!(" (pending groups: {})", missing.join(",")));
        }
        let mut would = Verdict::would(comment);
        // Groups that no earlier step creates have no known id.
        let unknown = groups.iter().any(|name| !known.iter().any(|group| group.name == *name));
        if let (Some(uid), Some(gid), false) = (uid, new_gid, unknown) {
            let user = User {
                name: name.clone(),
                uid,
                gid,
                comment: addition.comment.clone(),
                home: request.home.clone().unwrap_or_else(|| defaults.home(name)),
                shell: request.shell.clone().unwrap_or_else(|| defaults.shell()),
            };
            let mut known = known.to_vec();
            if !known.iter().any(|group| group.gid == gid) {
                known.push(Group { name: name.clone(), gid, members: Vec::new() });
            }
            let account = Account { user, member_of: groups };
            would.changes = new_changes(&request, account.info(machine, &known));
            if step.test {
                promised::promise_user(machine, name, uid);
                if own_group && self.gid.is_null() {
                    promised::promise_group(machine, name, gid);
                }
            }
        }
        Decision::Change(UserPlan::Make(Box::new(request), addition), would)
    }

    fn made(&self, machine: &dyn System, request: &UserSpec, addition: &Addition) -> Verdict {
        let name = &self.name;
        if let Err(text) = addition.carry_out(machine) {
            return Verdict::bad(format!("Failed to create new user {name}\n{text}"));
        }
        let mut faults = Vec::new();
        let failed = |what: String, text: String| format!("User {name} created but failed to {what}\n{text}");
        if let Some(password) = request.password.as_ref().filter(|_| !request.empty_password)
            && let Err(text) = shadow::set_password(machine, name, password)
        {
            faults.push(failed(format!("set password to {REDACTED}"), text));
        }
        if request.empty_password
            && request.password.is_none()
            && let Err(text) = tool::run(machine, &tool::words(&["passwd", "-d", name]), None)
        {
            faults.push(failed("empty password".into(), text));
        }
        if let Some((argv, _)) = difference::chage(name, &request.days, |_| true)
            && let Err(text) = tool::run(machine, &argv, None)
        {
            faults.push(failed("set the days of its password".into(), text));
        }
        let known = accounts::groups(machine);
        let info = Account::find(machine, &known, name).map(|account| account.info(machine, &known));
        let changes = new_changes(request, info.unwrap_or_default());
        match faults.is_empty() {
            true => Verdict::good(format!("New user {name} created")).changes(changes),
            false => Verdict::bad(faults.join("\n")).changes(changes),
        }
    }

    fn changed(&self, machine: &dyn System, request: &UserSpec, change: &Map) -> Result<Verdict> {
        let look = |known: &[Group]| {
            let account = Account::find(machine, known, &self.name);
            let account = account.ok_or_else(|| Error::failed(format!("User {} is gone meanwhile", self.name)))?;
            Ok::<_, Error>((account, Shadow::find(machine, &self.name).unwrap_or_else(Shadow::none)))
        };
        let before = look(&accounts::groups(machine))?;
        let mut faults = Vec::new();
        let busybox = !tool::is_there(machine, "usermod") && tool::is_there(machine, "addgroup");
        for (argv, stdin) in request.commands(change, &before.0, busybox) {
            if let Err(text) = tool::run(machine, &argv, stdin) {
                faults.push(text);
            }
        }
        if let Some(home) = change.get("homeDoesNotExist").map(ToString::to_string)
            && !crate::grains::look::is_directory(machine, &home)
            && let Err(text) = make_home(machine, &home, &before.0.user)
        {
            faults.push(text);
        }
        let known = accounts::groups(machine);
        let after = look(&known)?;
        let changes = told(machine, &known, change, (&before.0, &before.1), (&after.0, &after.1));
        let left = request.differences(machine, &known, &after.0, &after.1);
        if left.is_empty() && faults.is_empty() {
            return Ok(Verdict::good(format!("Updated user {}", self.name)).changes(changes));
        }
        let mut comment = format!("These values could not be changed: {}", Value::Map(left));
        faults.iter().for_each(|fault| comment.push_str(&format!("\n{fault}")));
        Ok(Verdict::bad(comment).changes(changes))
    }
}

/// The differences. Salt doesn't report a home that it made.
fn told(
    machine: &dyn Probe,
    known: &[Group],
    change: &Map,
    before: (&Account, &Shadow),
    after: (&Account, &Shadow),
) -> Map {
    let mut changes = difference::changes(&before.0.info(machine, known), &after.0.info(machine, known));
    changes.extend(difference::changes(&before.1.info(), &after.1.info()));
    if let Some(home) = change.get("homeDoesNotExist").filter(|_| !changes.contains_key("home")) {
        changes.insert("home", home.clone());
    }
    changes
}

/// A new user in Salt's form.
fn new_changes(request: &UserSpec, mut changes: Map) -> Map {
    if !request.createhome {
        changes.insert("home", "");
    }
    match (&request.password, request.empty_password) {
        (Some(_), false) => drop(changes.insert("password", REDACTED)),
        (None, true) => drop(changes.insert("password", "")),
        _ => {}
    }
    for (key, days, _) in difference::days(&request.days).filter(|(key, days, _)| *key == "date" || *days != 0) {
        changes.insert(key, days);
    }
    changes
}

fn make_home(machine: &dyn System, home: &str, user: &User) -> Result<(), String> {
    let path = std::path::Path::new(home);
    let fault = |error: std::io::Error| Error::io("make", path, &error).to_string();
    machine.make_dir(path, 0o755).map_err(fault)?;
    machine.set_owner(path, Some(user.uid), Some(user.gid), false).map_err(fault)
}
