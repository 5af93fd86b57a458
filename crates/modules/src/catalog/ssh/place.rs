//! [`UserFile`]: a file in a user's home, where the user may have put links in its path.
//!
//! A process that runs as root must not follow what the owner of a home has put there: a link to `/etc/shadow` would
//! make it readable, one to `/etc/ld.so.preload` would be written to. So paths below anything that the user can change
//! are read and written with the user's rights, and the kernel refuses the rest.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::catalog::user::tool;
use crate::grains::look::is_directory;
use crate::machine::accounts::{self, User};
use crate::machine::{Command, FileKind, Probe, Stat, System};
use crate::{Error, Result};

/// The size limit of a key file.
const LIMIT: u64 = 16 * 1024 * 1024;

/// Replaces a whole file. Arguments: path and mode; the content is on standard input.
const WRITE: &str = r#"set -eC
umask 077
file=$(readlink -f -- "$1" 2>/dev/null) || file=$1
folder=${file%/*}
[ -d "$folder" ] || mkdir -p -m 700 -- "$folder"
new=$file.rocksalt.$$
trap 'rm -f -- "$new"' EXIT
cat > "$new"
chmod "$2" "$new"
mv -f -- "$new" "$file""#;

#[derive(Serialize, Deserialize)]
pub struct UserFile {
    pub path: String,
    user: Option<User>,
}

impl UserFile {
    /// A user's file: a path below the home, or any path with `%h` and `%u` for home and name.
    pub fn of(machine: &dyn Probe, user: &str, config: &str) -> Result<UserFile> {
        let found = accounts::user(machine, user).filter(|found| found.name == user);
        let found = found.ok_or_else(|| Error::failed(format!("User '{user}' does not exist")))?;
        let path = expanded(config, &found)?;
        let path = if path.starts_with('/') { path } else { format!("{}/{path}", found.home.trim_end_matches('/')) };
        Ok(UserFile { path, user: Some(found) })
    }

    /// A system-wide file.
    pub fn of_system(path: &str) -> UserFile {
        UserFile { path: path.to_owned(), user: None }
    }

    /// Whether it is in a home that doesn't exist.
    pub fn homeless(&self, machine: &dyn Probe) -> bool {
        let Some(user) = &self.user else { return false };
        Path::new(&self.path).starts_with(&user.home) && !is_directory(machine, &user.home)
    }

    /// The content; `None` if there is no such file.
    pub fn read(&self, machine: &dyn Probe) -> Result<Option<String>> {
        let path = Path::new(&self.path);
        let Some(stat) = machine.stat(path, true).map_err(|error| Error::io("look at", path, &error))? else {
            return Ok(None);
        };
        if stat.kind != FileKind::File || stat.size > LIMIT {
            return Err(Error::failed(format!("{} is no file of keys", self.path)));
        }
        let content = match self.acting_as(machine)? {
            None => machine.read(path).map_err(|error| Error::io("read", path, &error))?,
            Some(user) => {
                let command = Command { user: Some(user), ..Command::new(["cat", "--", &self.path]) };
                let output = machine.query(&command)?;
                if !output.success() {
                    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
                    return Err(Error::failed(format!("could not read {}: {said}", self.path)));
                }
                output.stdout
            }
        };
        Ok(Some(String::from_utf8_lossy(&content).into_owned()))
    }

    /// Replaces the whole file; an existing file keeps its mode, a new one gets `mode`.
    pub fn write(&self, machine: &dyn System, content: &str, mode: u32) -> Result<()> {
        let path = Path::new(&self.path);
        let there = machine.stat(path, true).ok().flatten();
        if let Some(user) = self.acting_as(machine)? {
            let mode = format!("{:o}", there.map_or(mode, |stat| stat.mode));
            let command = Command {
                user: Some(user.clone()),
                stdin: Some(content.as_bytes().to_vec()),
                ..Command::new(["/bin/sh", "-c", WRITE, "sh", &self.path, &mode])
            };
            let output = machine.run(&command)?;
            if output.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(Error::failed(format!("could not write {} as {user}: {said}", self.path))
                .hint("what lies in a user's home is written with the user's rights"));
        }
        self.write_plainly(machine, content, there, mode)
    }

    /// Used if nobody else can change the path.
    fn write_plainly(&self, machine: &dyn System, content: &str, there: Option<Stat>, mode: u32) -> Result<()> {
        let path = Path::new(&self.path);
        let fault = |error: std::io::Error| Error::io("write", path, &error);
        let above = path.parent().unwrap_or(Path::new("/"));
        let mut missing: Vec<&Path> =
            above.ancestors().take_while(|path| !is_directory(machine, &path.to_string_lossy())).collect();
        missing.reverse();
        for folder in &missing {
            machine.make_dir(folder, if self.user.is_some() { 0o700 } else { 0o755 }).map_err(fault)?;
        }
        let link = machine.stat(path, false).ok().flatten().is_some_and(|stat| stat.kind == FileKind::Link);
        let target = if link { crate::catalog::file::followed(machine, path) } else { path.to_owned() };
        let fresh = there.is_none();
        machine.write(&target, content.as_bytes(), fresh.then_some(mode)).map_err(fault)?;
        // The directory's owner is changed last: until then the owner can't replace files in it.
        if let Some(user) = self.user.as_ref().filter(|user| user.uid != accounts::own_uid(machine)) {
            for made in fresh.then_some(path).into_iter().chain(missing.iter().rev().copied()) {
                machine.set_owner(made, Some(user.uid), Some(user.gid), false).map_err(fault)?;
            }
        }
        if fresh && tool::is_there(machine, "restorecon") {
            let _ = tool::run(machine, &tool::words(&["restorecon", &self.path]), None);
        }
        Ok(())
    }

    /// The user whose rights are needed, if it isn't this program's own.
    fn acting_as(&self, machine: &dyn Probe) -> Result<Option<String>> {
        let own = accounts::own_uid(machine);
        match &self.user {
            Some(user) if user.uid == own => Ok(None),
            _ if is_safe(machine, Path::new(&self.path), own) => Ok(None),
            Some(user) => Ok(Some(user.name.clone())),
            None => Err(Error::failed(format!("{}: others can change what lies on the way to it", self.path))
                .hint("name the user that the file belongs to")),
        }
    }
}

/// Whether only this program's user and root can change the target of a path.
fn is_safe(machine: &dyn Probe, path: &Path, own: u32) -> bool {
    let ours = |stat: &Stat| stat.uid == 0 || stat.uid == own;
    let closed = |stat: &Stat| stat.mode & 0o002 == 0 && (stat.mode & 0o020 == 0 || stat.gid == 0);
    path.ancestors().enumerate().all(|(level, part)| match machine.stat(part, false) {
        Ok(None) => true,
        Ok(Some(stat)) if stat.kind == FileKind::Link => ours(&stat),
        Ok(Some(_)) if level == 0 => true,
        Ok(Some(stat)) => ours(&stat) && closed(&stat),
        Err(_) => false,
    })
}

/// Expands `%h`, `%u` and `%%` as sshd does.
fn expanded(config: &str, user: &User) -> Result<String> {
    let mut path = String::new();
    let mut letters = config.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            path.push(letter);
            continue;
        }
        match letters.next() {
            Some('%') => path.push('%'),
            Some('u') => path.push_str(&user.name),
            Some('h') => path.push_str(&user.home),
            Some(other) => {
                let text = format!("AuthorizedKeysFile path: unknown token character \"%{other}\"");
                return Err(Error::arguments(text));
            }
            None => {
                return Err(Error::arguments("AuthorizedKeysFile path: Last character can't be escape character"));
            }
        }
    }
    if path.split('/').any(|part| part == "..") {
        return Err(Error::arguments(format!("config: '{config}' leads elsewhere by '..'")));
    }
    Ok(path)
}
