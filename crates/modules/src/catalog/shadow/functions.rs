//! The functions on passwords.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::line::{self, DAYS, Shadow};
use crate::catalog::Function;
use crate::catalog::user::tool::{self, words};
use crate::machine::{Probe, System};
use crate::text::crypt::{self, Method};
use crate::{Error, Result};

/// Details of a user's password, including its hash; all empty if there is no such user.
///
/// ```text
/// rocksalt '*' shadow.info root
/// ```
#[function("shadow.info", reads)]
pub struct Info {
    /// The name.
    name: String,
}

impl Function for Info {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(Shadow::find(machine, &self.name).map_or_else(
            || {
                let keys = ["name", "passwd"].into_iter().chain(DAYS.iter().map(|(name, _)| *name));
                keys.map(|key| (key.into(), "".into())).collect()
            },
            |entry| entry.info(),
        ))
    }
}

/// The names of all users that have an entry, sorted.
///
/// ```text
/// rocksalt '*' shadow.list_users
/// ```
#[function("shadow.list_users", reads)]
pub struct ListUsers {}

impl Function for ListUsers {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut names: Vec<String> = line::all(machine).into_iter().map(|entry| entry.name).collect();
        names.sort();
        Ok(names)
    }
}

/// The placeholder for the hash of a user without a password.
///
/// ```text
/// rocksalt '*' shadow.default_hash
/// ```
#[function("shadow.default_hash", reads)]
pub struct DefaultHash {}

impl Function for DefaultHash {
    type Output = &'static str;

    fn call(self, _: &dyn System) -> Result<&'static str> {
        Ok("!")
    }
}

/// The hash of a password.
///
/// ```text
/// rocksalt '*' shadow.gen_password 'a secret' crypt_salt=saltsalt algorithm=sha256
/// ```
#[function("shadow.gen_password", reads)]
pub struct GenPassword {
    /// The password.
    #[secret]
    password: String,
    /// Up to sixteen letters; else they are random.
    crypt_salt: Option<String>,
    /// `sha512` or `sha256`.
    #[default("sha512")]
    algorithm: String,
}

impl Function for GenPassword {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let method = match self.algorithm.as_str() {
            "sha512" => Method::Sha512,
            "sha256" => Method::Sha256,
            other => {
                return Err(Error::arguments(format!("Cannot hash using '{other}' hash algorithm."))
                    .hint("there are sha512 and sha256; the older ones are not safe"));
            }
        };
        match self.crypt_salt {
            Some(salt) => Ok(crypt::hash(method, &salt, &self.password)),
            None => Ok(crypt::hash(method, &random_salt(machine)?, &self.password)),
        }
    }
}

/// Sixteen letters that nobody can guess.
pub fn random_salt(machine: &dyn Probe) -> Result<String> {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let path = std::path::Path::new("/dev/urandom");
    let bytes = machine.read_at(path, 0, 16).map_err(|error| Error::io("read", path, &error))?;
    if bytes.len() < 16 {
        return Err(Error::failed("the system gives no randomness"));
    }
    Ok(bytes.into_iter().map(|byte| char::from(LETTERS[usize::from(byte) % 64])).collect())
}

/// Sets a user's password to a hash.
///
/// ```text
/// rocksalt '*' shadow.set_password alice '$6$saltsalt$...'
/// ```
#[function("shadow.set_password", changes)]
pub struct SetPassword {
    /// The name.
    name: String,
    /// The hash, as `shadow.gen_password` makes it.
    #[secret]
    password: String,
    /// Accepted and ignored: the hash never stands on a command line, where all could see it.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    use_usermod: Value,
}

impl Function for SetPassword {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        existing(machine, &self.name)?;
        line::set_password(machine, &self.name, &self.password).map_err(Error::failed)?;
        Ok(Shadow::find(machine, &self.name).is_some_and(|entry| entry.passwd == self.password))
    }
}

macro_rules! locks {
    ($($(#[$doc:meta])+ $name:ident = $function:literal, $letter:literal, $good:expr;)+) => {
        $(
            $(#[$doc])+
            #[function($function, changes)]
            pub struct $name {
                /// The name.
                name: String,
            }

            impl Function for $name {
                type Output = bool;

                fn call(self, machine: &dyn System) -> Result<bool> {
                    passwd(machine, &self.name, $letter, $good)
                }
            }
        )+
    };
}

locks! {
    /// Removes a user's password: it can log in without one.
    ///
    /// ```text
    /// rocksalt '*' shadow.del_password alice
    /// ```
    DelPassword = "shadow.del_password", "-d", |hash| hash.is_empty();
    /// Locks a user's password.
    ///
    /// ```text
    /// rocksalt '*' shadow.lock_password alice
    /// ```
    LockPassword = "shadow.lock_password", "-l", |hash| hash.starts_with('!');
    /// Unlocks a user's password.
    ///
    /// ```text
    /// rocksalt '*' shadow.unlock_password alice
    /// ```
    UnlockPassword = "shadow.unlock_password", "-u", |hash| !hash.starts_with('!');
}

macro_rules! days {
    ($($(#[$doc:meta])+ $name:ident = $function:literal, $field:ident, $index:literal;)+) => {
        $(
            $(#[$doc])+
            #[function($function, changes)]
            pub struct $name {
                /// The user's name.
                name: String,
                /// Days; -1 for never.
                #[required]
                $field: Value,
            }

            impl Function for $name {
                type Output = bool;

                fn call(self, machine: &dyn System) -> Result<bool> {
                    chage(machine, &self.name, $index, stringify!($field), &self.$field)
                }
            }
        )+
    };
}

days! {
    /// Sets the day of the last change of a password.
    ///
    /// ```text
    /// rocksalt '*' shadow.set_date alice 0
    /// ```
    SetDate = "shadow.set_date", date, 0;
    /// Sets the day on which an account expires.
    ///
    /// ```text
    /// rocksalt '*' shadow.set_expire alice -1
    /// rocksalt '*' shadow.set_expire alice 2030-12-31
    /// ```
    SetExpire = "shadow.set_expire", expire, 5;
    /// Sets the days after which an account is locked whose password has expired.
    ///
    /// ```text
    /// rocksalt '*' shadow.set_inactdays alice 7
    /// ```
    SetInactdays = "shadow.set_inactdays", inactdays, 4;
    /// Sets the days after which a password must be changed.
    ///
    /// ```text
    /// rocksalt '*' shadow.set_maxdays alice 90
    /// ```
    SetMaxdays = "shadow.set_maxdays", maxdays, 2;
    /// Sets the days before which a password can't be changed again.
    ///
    /// ```text
    /// rocksalt '*' shadow.set_mindays alice 7
    /// ```
    SetMindays = "shadow.set_mindays", mindays, 1;
    /// Sets the days before the end of a password at which its user is warned.
    ///
    /// ```text
    /// rocksalt '*' shadow.set_warndays alice 7
    /// ```
    SetWarndays = "shadow.set_warndays", warndays, 3;
}

fn existing(machine: &dyn System, name: &str) -> Result<Shadow> {
    tool::check_name("user", name)?;
    Shadow::find(machine, name).ok_or_else(|| Error::failed(format!("User '{name}' does not exist")))
}

fn passwd(machine: &dyn System, name: &str, letter: &str, good: fn(&str) -> bool) -> Result<bool> {
    if good(&existing(machine, name)?.passwd) {
        return Ok(true);
    }
    tool::run(machine, &words(&["passwd", letter, name]), None).map_err(Error::failed)?;
    Ok(Shadow::find(machine, name).is_some_and(|entry| good(&entry.passwd)))
}

fn chage(machine: &dyn System, name: &str, index: usize, argument: &str, value: &Value) -> Result<bool> {
    let Some(days) = line::days(argument, value)? else {
        return Err(Error::arguments(format!("{argument}: it must be given")));
    };
    if existing(machine, name)?.days[index] == days {
        return Ok(true);
    }
    tool::run(machine, &words(&["chage", DAYS[index].1, &days.to_string(), name]), None).map_err(Error::failed)?;
    Ok(Shadow::find(machine, name).is_some_and(|entry| entry.days[index] == days))
}
