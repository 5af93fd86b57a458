//! The functions on passwords.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::line::{self, DAYS, Shadow};
use crate::catalog::Function;
use crate::catalog::user::tool::{self, words};
use crate::machine::{Probe, System};
use crate::text::crypt::{self, CryptMethod};
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
            "sha512" => CryptMethod::Sha512,
            "sha256" => CryptMethod::Sha256,
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

/// Sixteen random characters.
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

/// A user.
#[arguments]
pub struct ShadowUser {
    /// The name.
    name: String,
}

impl ShadowUser {
    /// Runs passwd with an option, unless the hash is already as requested.
    fn passwd(self, machine: &dyn System, option: &str, good: fn(&str) -> bool) -> Result<bool> {
        if good(&existing(machine, &self.name)?.passwd) {
            return Ok(true);
        }
        tool::run(machine, &words(&["passwd", option, &self.name]), None).map_err(Error::failed)?;
        Ok(Shadow::find(machine, &self.name).is_some_and(|entry| good(&entry.passwd)))
    }
}

/// Removes a user's password: it can log in without one.
///
/// ```text
/// rocksalt '*' shadow.del_password alice
/// ```
#[function("shadow.del_password", changes, call = ShadowUser::passwd("-d", |hash| hash.is_empty()) -> bool)]
pub struct DelPassword(ShadowUser);

/// Locks a user's password.
///
/// ```text
/// rocksalt '*' shadow.lock_password alice
/// ```
#[function("shadow.lock_password", changes, call = ShadowUser::passwd("-l", |hash| hash.starts_with('!')) -> bool)]
pub struct LockPassword(ShadowUser);

/// Unlocks a user's password.
///
/// ```text
/// rocksalt '*' shadow.unlock_password alice
/// ```
#[function("shadow.unlock_password", changes, call = ShadowUser::passwd("-u", |hash| !hash.starts_with('!')) -> bool)]
pub struct UnlockPassword(ShadowUser);

/// Sets the day of the last change of a password.
///
/// ```text
/// rocksalt '*' shadow.set_date alice 0
/// ```
#[function("shadow.set_date", changes)]
pub struct SetDate {
    /// The user's name.
    name: String,
    /// Days; -1 for never.
    #[required]
    date: Value,
}

impl Function for SetDate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        chage(machine, &self.name, 0, "date", &self.date)
    }
}

/// Sets the day on which an account expires.
///
/// ```text
/// rocksalt '*' shadow.set_expire alice -1
/// rocksalt '*' shadow.set_expire alice 2030-12-31
/// ```
#[function("shadow.set_expire", changes)]
pub struct SetExpire {
    /// The user's name.
    name: String,
    /// Days; -1 for never.
    #[required]
    expire: Value,
}

impl Function for SetExpire {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        chage(machine, &self.name, 5, "expire", &self.expire)
    }
}

/// Sets the days after which an account is locked whose password has expired.
///
/// ```text
/// rocksalt '*' shadow.set_inactdays alice 7
/// ```
#[function("shadow.set_inactdays", changes)]
pub struct SetInactdays {
    /// The user's name.
    name: String,
    /// Days; -1 for never.
    #[required]
    inactdays: Value,
}

impl Function for SetInactdays {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        chage(machine, &self.name, 4, "inactdays", &self.inactdays)
    }
}

/// Sets the days after which a password must be changed.
///
/// ```text
/// rocksalt '*' shadow.set_maxdays alice 90
/// ```
#[function("shadow.set_maxdays", changes)]
pub struct SetMaxdays {
    /// The user's name.
    name: String,
    /// Days; -1 for never.
    #[required]
    maxdays: Value,
}

impl Function for SetMaxdays {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        chage(machine, &self.name, 2, "maxdays", &self.maxdays)
    }
}

/// Sets the days before which a password can't be changed again.
///
/// ```text
/// rocksalt '*' shadow.set_mindays alice 7
/// ```
#[function("shadow.set_mindays", changes)]
pub struct SetMindays {
    /// The user's name.
    name: String,
    /// Days; -1 for never.
    #[required]
    mindays: Value,
}

impl Function for SetMindays {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        chage(machine, &self.name, 1, "mindays", &self.mindays)
    }
}

/// Sets the days before the end of a password at which its user is warned.
///
/// ```text
/// rocksalt '*' shadow.set_warndays alice 7
/// ```
#[function("shadow.set_warndays", changes)]
pub struct SetWarndays {
    /// The user's name.
    name: String,
    /// Days; -1 for never.
    #[required]
    warndays: Value,
}

impl Function for SetWarndays {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        chage(machine, &self.name, 3, "warndays", &self.warndays)
    }
}

fn existing(machine: &dyn System, name: &str) -> Result<Shadow> {
    tool::check_name("user", name)?;
    Shadow::find(machine, name).ok_or_else(|| Error::failed(format!("User '{name}' does not exist")))
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
