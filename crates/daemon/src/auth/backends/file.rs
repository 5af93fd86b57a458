//! `file`: our own users file; or, with `^filename`, one of those that Salt reads.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use md5::Md5;
use rocksalt_core::Secret;
use rocksalt_core::hex;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

use super::{Backend, Person, Setup, htpasswd};
use crate::auth::passwords::Passwords;
use crate::auth::users::Users;

pub fn make(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    let passwords = setup.passwords.clone();
    let Some(name) = setup.option("filename") else {
        return Ok(Arc::new(Own { users: Users::at(setup.users), passwords }));
    };
    let number = |option: &str, default: usize| match setup.option(option) {
        None => Ok(default),
        Some(text) => text
            .parse::<usize>()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| format!("`^{option}` must be a number from 1 on, not '{text}'")),
    };
    let form = match setup.option("filetype").as_deref().unwrap_or("text") {
        "text" => Form::Text {
            hash: hash_type(setup.option("hashtype").as_deref())?,
            separator: setup.option("field_separator").filter(|text| !text.is_empty()).unwrap_or_else(|| ":".into()),
            user: number("username_field", 1)? - 1,
            password: number("password_field", 2)? - 1,
        },
        "htpasswd" => Form::Htpasswd,
        "htdigest" => Form::Htdigest { realm: setup.option("realm").ok_or("`htdigest` needs a `^realm`")? },
        other => return Err(format!("`^filetype` is text, htpasswd or htdigest, not '{other}'")),
    };
    Ok(Arc::new(Salts { path: setup.directory.join(name), form, passwords }))
}

/// The users file that `rocksalt users` writes.
struct Own {
    users: Users,
    passwords: Passwords,
}

#[async_trait]
impl Backend for Own {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<Person>, String> {
        let known = self.users.get(user)?;
        let right = self.passwords.check(known.as_ref().map(|user| user.hash.clone()), password).await?;
        Ok(known.filter(|_| right).map(|user| Person { stamp: user.stamp(), groups: user.groups }))
    }

    fn stands(&self, user: &str, stamp: &[u8]) -> bool {
        // A file that can't be read now proves nothing.
        matches!(self.users.get(user), Ok(Some(user)) if user.stamp() == stamp)
    }
}

/// A file of somebody else's, in one of Salt's forms.
struct Salts {
    path: PathBuf,
    form: Form,
    passwords: Passwords,
}

enum Form {
    Text { hash: Hash, separator: String, user: usize, password: usize },
    Htpasswd,
    Htdigest { realm: String },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hash {
    Argon2,
    Plain,
    Md5,
    Sha256,
    Sha512,
}

/// Salt means plain text where nothing is said; here one must say it.
fn hash_type(name: Option<&str>) -> Result<Hash, String> {
    match name {
        Some("argon2" | "argon2id") => Ok(Hash::Argon2),
        Some("plaintext") => Ok(Hash::Plain),
        Some("md5") => Ok(Hash::Md5),
        Some("sha256") => Ok(Hash::Sha256),
        Some("sha512") => Ok(Hash::Sha512),
        Some(other) => Err(format!("`^hashtype` is argon2, plaintext, md5, sha256 or sha512, not '{other}'")),
        None => {
            Err("`^hashtype` is missing: say argon2, sha256, sha512, md5, or plaintext if the passwords are in it as \
                     they are (Salt takes that for granted)"
                .into())
        }
    }
}

#[async_trait]
impl Backend for Salts {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<Person>, String> {
        let text = tokio::fs::read_to_string(&self.path).await;
        let text = text.map_err(|error| format!("can't read {}: {error}", self.path.display()))?;
        let text = Secret::new(text);
        let kept = self.form.find(text.reveal(), user);
        let right = match (&self.form, &kept) {
            (Form::Text { hash: Hash::Argon2, .. }, kept) => {
                return Ok(self.passwords.check(kept.clone(), password).await?.then(Person::default));
            }
            (_, None) => {
                // As slow as one that is there and slow.
                self.passwords.check(None, password).await?;
                false
            }
            (Form::Text { hash, .. }, Some(kept)) => same(kept.as_bytes(), digest(*hash, password).as_bytes()),
            (Form::Htpasswd, Some(kept)) => {
                let (kept, password) = (kept.clone(), password.clone());
                let checked = tokio::task::spawn_blocking(move || htpasswd::matches(&kept, &password));
                checked.await.map_err(|_| "the check of a password broke off".to_owned())??
            }
            (Form::Htdigest { realm }, Some(kept)) => {
                let whole = Secret::new(format!("{user}:{realm}:{}", password.reveal()));
                same(kept.as_bytes(), hex(&Md5::digest(whole.reveal())).as_bytes())
            }
        };
        Ok(right.then(Person::default))
    }
}

impl Form {
    /// What the file has for a user: a password or a hash. The first line of that name counts.
    fn find(&self, text: &str, wanted: &str) -> Option<String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        match self {
            Form::Text { separator, user, password, .. } => lines.find_map(|line| {
                let fields: Vec<&str> = line.split(separator.as_str()).collect();
                (fields.get(*user) == Some(&wanted)).then(|| fields.get(*password).unwrap_or(&"").to_string())
            }),
            Form::Htpasswd => lines.find_map(|line| {
                let (user, hash) = line.split_once(':')?;
                (user == wanted).then(|| hash.to_owned())
            }),
            Form::Htdigest { realm } => lines.find_map(|line| {
                let mut fields = line.splitn(3, ':');
                let (user, of, hash) = (fields.next()?, fields.next()?, fields.next()?);
                (user == wanted && of == realm).then(|| hash.to_owned())
            }),
        }
        .filter(|kept| !kept.is_empty())
    }
}

fn digest(hash: Hash, password: &Secret<String>) -> String {
    let password = password.reveal();
    match hash {
        Hash::Plain | Hash::Argon2 => password.clone(),
        Hash::Md5 => hex(&Md5::digest(password)),
        Hash::Sha256 => hex(&Sha256::digest(password)),
        Hash::Sha512 => hex(&Sha512::digest(password)),
    }
}

/// Takes as long for a wrong one as for a right one.
fn same(kept: &[u8], given: &[u8]) -> bool {
    Sha256::digest(kept).as_slice().ct_eq(Sha256::digest(given).as_slice()).into()
}
