//! The arguments that all three states share: the user and the file.

use crate::Result;
use crate::catalog::ssh::authorized::{AuthorizedKeys, KeyStatus};
use crate::catalog::ssh::key::{self, SshKey};
use crate::catalog::{Thing, Touches, Verdict, ssh};
use crate::machine::Probe;

pub const NO_HOME: &str = "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?";
pub const INVALID: &str = "Invalid public ssh key, most likely has spaces or invalid syntax";

pub fn touches(user: &str, config: &str, source: &str) -> Touches {
    let touches = match config.starts_with('/') {
        true => Touches::nothing().reads(Thing::User(user.to_owned())).writes(Thing::Path(config.replace("%u", user))),
        false => ssh::below_home(user),
    };
    if source.starts_with('/') { touches.reads(Thing::Path(source.to_owned())) } else { touches }
}

/// The current keys. A user that doesn't exist has none; only a dry run continues then.
pub fn authorized(
    machine: &dyn Probe,
    user: &str,
    config: &str,
    test: bool,
) -> Result<Option<AuthorizedKeys>, Box<Verdict>> {
    let there = crate::machine::accounts::user(machine, user).is_some_and(|found| found.name == user);
    if !there {
        return if test { Ok(None) } else { Err(Box::new(Verdict::bad(NO_HOME))) };
    }
    let known =
        AuthorizedKeys::read(machine, user, config).map_err(|error| Box::new(Verdict::bad(error.to_string())))?;
    if known.homeless(machine) && !test {
        return Err(Box::new(Verdict::bad(NO_HOME)));
    }
    Ok(Some(known))
}

/// A key with sshd's name of its type; the verdict if it is invalid.
pub fn checked(mut key: SshKey) -> Result<SshKey, Box<Verdict>> {
    key.enc = key::refined(&key.enc).map_err(|error| Box::new(Verdict::bad(error.to_string())))?;
    if key.is_valid() { Ok(key) } else { Err(Box::new(Verdict::bad(INVALID))) }
}

/// The comments about one key, before and after the change.
pub fn comments(status: KeyStatus, name: &str, user: &str) -> (String, String) {
    match status {
        KeyStatus::Add => (
            format!("Key {name} for user {user} is set to be added"),
            format!("The authorized host key {name} for user {user} was added"),
        ),
        KeyStatus::Update => (
            format!("Key {name} for user {user} is set to be updated"),
            format!("The authorized host key {name} for user {user} was updated"),
        ),
        KeyStatus::Exists => {
            let text = format!("The authorized host key {name} is already present for user {user}");
            (text.clone(), text)
        }
    }
}

/// Salt's word for a change.
pub fn change(status: KeyStatus) -> &'static str {
    if status == KeyStatus::Update { "Updated" } else { "New" }
}
