//! [`Users`]: our users file, with lines `name:hash[:group,group]`, readable by its owner only.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::Secret;
use sha2::{Digest, Sha256};

use super::passwords;

/// The shortest password.
pub const MIN_PASSWORD: usize = 8;

/// The longest password, in bytes.
pub const MAX_PASSWORD: usize = 1024;

type UserMap = Arc<BTreeMap<String, UserEntry>>;

pub struct Users {
    path: PathBuf,
    /// The last read content; read again when the file changes.
    cached: Mutex<Option<(FileVersion, UserMap)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEntry {
    /// A PHC string.
    pub hash: String,
    pub groups: Vec<String>,
}

impl UserEntry {
    /// Changes with the entry, which invalidates earlier logins.
    pub fn stamp(&self) -> Vec<u8> {
        let mut hash = Sha256::new();
        hash.update(self.hash.as_bytes());
        hash.update([0]);
        hash.update(self.groups.join(",").as_bytes());
        hash.finalize()[..16].to_vec()
    }
}

/// Identifies a version of the file. It is replaced as a whole, so a new version has another inode.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Users {
    pub fn at(path: &Path) -> Users {
        Users { path: path.to_owned(), cached: Mutex::new(None) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All users; none without a file.
    pub fn all(&self) -> Result<UserMap, String> {
        let fault = |error: std::io::Error| format!("can't read the users file {}: {error}", self.path.display());
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(fault(error)),
        };
        let version = FileVersion {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, users)) = &*cached
            && *known == version
        {
            return Ok(Arc::clone(users));
        }
        if metadata.mode() & 0o077 != 0 {
            let mode = metadata.mode() & 0o777;
            return Err(format!(
                "other users can access the users file {} (mode {mode:o}); run: chmod 600",
                self.path.display()
            ));
        }
        let users = Arc::new(parse(&fs::read_to_string(&self.path).map_err(fault)?));
        *cached = Some((version, Arc::clone(&users)));
        Ok(users)
    }

    pub fn get(&self, name: &str) -> Result<Option<UserEntry>, String> {
        Ok(self.all()?.get(name).cloned())
    }

    pub fn names(&self) -> Result<Vec<String>, String> {
        Ok(self.all()?.keys().cloned().collect())
    }

    pub fn add(&self, name: &str, password: &Secret<String>, groups: &[String]) -> Result<(), String> {
        check_name("user", name)?;
        groups.iter().try_for_each(|group| check_name("group", group))?;
        let user = UserEntry { hash: hash(password)?, groups: groups.to_vec() };
        self.change(|users| match users.contains_key(name) {
            true => Err(format!("the user {name} exists already")),
            false => {
                users.insert(name.to_owned(), user);
                Ok(())
            }
        })
    }

    pub fn set_password(&self, name: &str, password: &Secret<String>) -> Result<(), String> {
        let hash = hash(password)?;
        self.change(|users| match users.get_mut(name) {
            Some(user) => {
                user.hash = hash;
                Ok(())
            }
            None => Err(format!("there is no user {name}")),
        })
    }

    pub fn remove(&self, name: &str) -> Result<(), String> {
        self.change(|users| users.remove(name).map(drop).ok_or_else(|| format!("there is no user {name}")))
    }

    /// Replaces the file atomically, under a lock.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, UserEntry>) -> Result<(), String>,
    ) -> Result<(), String> {
        let fault = |error: std::io::Error| format!("can't write the users file {}: {error}", self.path.display());
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = |end: &str| {
            let mut name = self.path.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        let private = |path: &Path| OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let lock = private(&beside(".lock")).map_err(fault)?;
        lock.lock().map_err(fault)?;
        let mut users = BTreeMap::clone(&*self.all()?);
        change(&mut users)?;
        let new_file = beside(".new");
        // Left behind by a crash; we hold the lock.
        let _ = fs::remove_file(&new_file);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new_file).map_err(fault)?;
        file.write_all(text(&users).as_bytes()).and_then(|()| file.sync_all()).map_err(fault)?;
        // When root writes it, the owner becomes the owner of the directory, which is the daemon's user.
        let owner = fs::metadata(directory).map_err(fault)?;
        if rustix::process::geteuid().is_root() && owner.uid() != 0 {
            std::os::unix::fs::fchown(&file, Some(owner.uid()), Some(owner.gid())).map_err(fault)?;
            std::os::unix::fs::fchown(&lock, Some(owner.uid()), Some(owner.gid())).map_err(fault)?;
        }
        fs::rename(&new_file, &self.path).map_err(fault)?;
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(fault)
    }
}

/// Checks that a name can be used in the file, in logs and in rules.
pub fn check_name(what: &str, name: &str) -> Result<(), String> {
    let is_forbidden = |c: char| c == ':' || c == ',' || c == '%' || c == '^' || c.is_control() || c.is_whitespace();
    match name {
        "" => Err(format!("a {what} needs a name")),
        name if name.len() > 128 => Err(format!("the name of a {what} must have at most 128 bytes")),
        name if name.contains(is_forbidden) || name.starts_with('#') => Err(format!(
            "'{}' is not a valid name of a {what}: no spaces and none of : , % ^ are allowed",
            name.escape_debug()
        )),
        _ => Ok(()),
    }
}

fn hash(password: &Secret<String>) -> Result<String, String> {
    match password.reveal().len() {
        length if length < MIN_PASSWORD => Err(format!("a password must have at least {MIN_PASSWORD} characters")),
        length if length > MAX_PASSWORD => Err(format!("a password must have at most {MAX_PASSWORD} bytes")),
        _ => passwords::hash(password),
    }
}

/// Malformed lines are ignored.
fn parse(text: &str) -> BTreeMap<String, UserEntry> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let users = lines.filter_map(|line| {
        let mut fields = line.trim_end().splitn(3, ':');
        let (name, hash) = (fields.next()?, fields.next()?);
        let groups = fields.next().unwrap_or_default();
        let groups = groups.split(',').filter(|group| !group.is_empty()).map(str::to_owned).collect();
        Some((name.to_owned(), UserEntry { hash: hash.to_owned(), groups }))
    });
    users.collect()
}

fn text(users: &BTreeMap<String, UserEntry>) -> String {
    let mut text = "# name:hash[:group,group]; `rocksalt users` writes it\n".to_owned();
    for (name, user) in users {
        text.push_str(&format!("{name}:{}", user.hash));
        if !user.groups.is_empty() {
            text.push_str(&format!(":{}", user.groups.join(",")));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn users_come_and_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let users = Users::at(&directory.path().join("users"));
        assert!(users.all().expect("no file is no users").is_empty());
        users.add("alice", &secret("first pass"), &["ops".into()]).expect("a new one");
        assert!(users.add("alice", &secret("other pass"), &[]).is_err());
        let before = users.get("alice").expect("it reads").expect("she is there");
        assert_eq!(before.groups, ["ops"]);
        assert!(passwords::matches(&before.hash, &secret("first pass")));
        users.set_password("alice", &secret("second pass")).expect("a new password");
        let after = users.get("alice").expect("it reads").expect("she is there");
        assert_ne!(before.stamp(), after.stamp());
        assert_eq!(after.groups, ["ops"]);
        users.add("bob", &secret("bobs pass"), &[]).expect("another");
        users.remove("alice").expect("she goes");
        assert_eq!(users.names().expect("it reads"), ["bob"]);
        assert!(users.remove("alice").is_err() && users.set_password("alice", &secret("long enough")).is_err());
        let mode = fs::metadata(users.path()).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }

    #[test]
    fn what_can_do_harm_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let users = Users::at(&directory.path().join("users"));
        for name in ["", "a:b", "a\nb", "ops%", "^x", "#a", "a b", &"x".repeat(200)] {
            assert!(users.add(name, &secret("long enough"), &[]).is_err(), "{name:?}");
        }
        assert!(users.add("a", &secret("short"), &[]).is_err());
        users.add("a", &secret("long enough"), &[]).expect("a user");
        fs::set_permissions(users.path(), fs::Permissions::from_mode(0o644)).expect("a mode");
        let fault = Users::at(users.path()).all().expect_err("others can read it");
        assert!(fault.contains("chmod 600"), "{fault}");
    }
}
