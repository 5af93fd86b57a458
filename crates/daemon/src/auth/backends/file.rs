//! `file`: our own users file, or with `^filename` a file in one of Salt's formats.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use md5::Md5;
use rocksalt_core::Secret;
use rocksalt_core::hex;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

use super::{Backend, Setup, VerifiedUser, htpasswd};
use crate::auth::passwords::Passwords;
use crate::auth::users::Users;

pub fn open(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    let passwords = setup.passwords.clone();
    let Some(name) = setup.option("filename") else {
        return Ok(Arc::new(UsersFileBackend { users: Users::at(setup.users), passwords }));
    };
    let number = |option: &str, default: usize| match setup.option(option) {
        None => Ok(default),
        Some(text) => text
            .parse::<usize>()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| format!("`^{option}` must be a positive number, not '{text}'")),
    };
    let format = match setup.option("filetype").as_deref().unwrap_or("text") {
        "text" => FileFormat::Text {
            hash: hash_type(setup.option("hashtype").as_deref())?,
            separator: setup.option("field_separator").filter(|text| !text.is_empty()).unwrap_or_else(|| ":".into()),
            user: number("username_field", 1)? - 1,
            password: number("password_field", 2)? - 1,
        },
        "htpasswd" => FileFormat::Htpasswd,
        "htdigest" => FileFormat::Htdigest { realm: setup.option("realm").ok_or("`htdigest` needs a `^realm`")? },
        other => return Err(format!("`^filetype` must be text, htpasswd or htdigest, not '{other}'")),
    };
    Ok(Arc::new(SaltFileBackend { path: setup.directory.join(name), format, passwords }))
}

/// The users file that `rocksalt users` writes.
struct UsersFileBackend {
    users: Users,
    passwords: Passwords,
}

#[async_trait]
impl Backend for UsersFileBackend {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<VerifiedUser>, String> {
        let known = self.users.get(user)?;
        let right = self.passwords.check(known.as_ref().map(|user| user.hash.clone()), password).await?;
        Ok(known.filter(|_| right).map(|user| VerifiedUser { stamp: user.stamp(), groups: user.groups }))
    }

    fn is_still_valid(&self, user: &str, stamp: &[u8]) -> bool {
        // If the file can't be read, nothing is proven.
        matches!(self.users.get(user), Ok(Some(user)) if user.stamp() == stamp)
    }
}

/// A file in one of Salt's formats.
struct SaltFileBackend {
    path: PathBuf,
    format: FileFormat,
    passwords: Passwords,
}

enum FileFormat {
    Text { hash: HashType, separator: String, user: usize, password: usize },
    Htpasswd,
    Htdigest { realm: String },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HashType {
    Argon2,
    Plain,
    Md5,
    Sha256,
    Sha512,
}

/// Salt's default is plain text; here it must be explicit.
fn hash_type(name: Option<&str>) -> Result<HashType, String> {
    match name {
        Some("argon2" | "argon2id") => Ok(HashType::Argon2),
        Some("plaintext") => Ok(HashType::Plain),
        Some("md5") => Ok(HashType::Md5),
        Some("sha256") => Ok(HashType::Sha256),
        Some("sha512") => Ok(HashType::Sha512),
        Some(other) => Err(format!("`^hashtype` must be argon2, plaintext, md5, sha256 or sha512, not '{other}'")),
        None => Err(
            "`^hashtype` is missing: set argon2, sha256, sha512, md5, or plaintext (Salt's default) if the passwords \
                     are not hashed"
                .into(),
        ),
    }
}

#[async_trait]
impl Backend for SaltFileBackend {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<VerifiedUser>, String> {
        let text = tokio::fs::read_to_string(&self.path).await;
        let text = text.map_err(|error| format!("can't read {}: {error}", self.path.display()))?;
        let text = Secret::new(text);
        let stored = self.format.find(text.reveal(), user);
        let right = match (&self.format, &stored) {
            (FileFormat::Text { hash: HashType::Argon2, .. }, stored) => {
                return Ok(self.passwords.check(stored.clone(), password).await?.then(VerifiedUser::default));
            }
            (_, None) => {
                // As slow as for an existing user with a slow hash.
                self.passwords.check(None, password).await?;
                false
            }
            (FileFormat::Text { hash, .. }, Some(stored)) => {
                same(stored.as_bytes(), digest(*hash, password).as_bytes())
            }
            (FileFormat::Htpasswd, Some(stored)) => {
                let (stored, password) = (stored.clone(), password.clone());
                let checked = tokio::task::spawn_blocking(move || htpasswd::matches(&stored, &password));
                checked.await.map_err(|_| "the password check was aborted".to_owned())??
            }
            (FileFormat::Htdigest { realm }, Some(stored)) => {
                let whole = Secret::new(format!("{user}:{realm}:{}", password.reveal()));
                same(stored.as_bytes(), hex(&Md5::digest(whole.reveal())).as_bytes())
            }
        };
        Ok(right.then(VerifiedUser::default))
    }
}

impl FileFormat {
    /// The password or hash of a user in the file. The first line of a user wins.
    fn find(&self, text: &str, wanted: &str) -> Option<String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        match self {
            FileFormat::Text { separator, user, password, .. } => lines.find_map(|line| {
                let fields: Vec<&str> = line.split(separator.as_str()).collect();
                (fields.get(*user) == Some(&wanted)).then(|| fields.get(*password).unwrap_or(&"").to_string())
            }),
            FileFormat::Htpasswd => lines.find_map(|line| {
                let (user, hash) = line.split_once(':')?;
                (user == wanted).then(|| hash.to_owned())
            }),
            FileFormat::Htdigest { realm } => lines.find_map(|line| {
                let mut fields = line.splitn(3, ':');
                let (user, of, hash) = (fields.next()?, fields.next()?, fields.next()?);
                (user == wanted && of == realm).then(|| hash.to_owned())
            }),
        }
        .filter(|stored| !stored.is_empty())
    }
}

fn digest(hash: HashType, password: &Secret<String>) -> String {
    let password = password.reveal();
    match hash {
        HashType::Plain | HashType::Argon2 => password.clone(),
        HashType::Md5 => hex(&Md5::digest(password)),
        HashType::Sha256 => hex(&Sha256::digest(password)),
        HashType::Sha512 => hex(&Sha512::digest(password)),
    }
}

/// Compares in constant time.
fn same(stored: &[u8], given: &[u8]) -> bool {
    Sha256::digest(stored).as_slice().ct_eq(Sha256::digest(given).as_slice()).into()
}
