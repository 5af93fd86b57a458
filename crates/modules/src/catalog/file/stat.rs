//! Owners, modes, times and sizes.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::Function;
use super::content::sum_of;
use super::path::{canonical, expand, full_mode, look, octal, walk};
use crate::machine::{Command, FileKind, Probe, Stat, System, accounts};
use crate::{Error, Result};

/// The attributes of a path: owner, mode, times, size and type.
///
/// ```text
/// rocksalt '*' file.stats /etc/passwd
/// rocksalt '*' file.stats /etc/passwd hash_type=sha256
/// ```
#[function("file.stats", reads)]
pub struct Stats {
    /// The path.
    path: String,
    /// Also return the checksum of this kind.
    hash_type: Option<String>,
    /// Follow links.
    #[default(true)]
    follow_symlinks: bool,
}

impl Function for Stats {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let path = expand(machine, &self.path);
        let stat = match look(machine, &path, self.follow_symlinks) {
            // A dangling link is shown itself.
            Err(_) if self.follow_symlinks => look(machine, &path, false)?,
            other => other?,
        };
        let mut map = Map::new();
        map.insert("inode", stat.inode);
        map.insert("uid", stat.uid);
        map.insert("gid", stat.gid);
        map.insert("group", group_name(machine, stat.gid));
        map.insert("user", user_name(machine, stat.uid));
        map.insert("atime", stat.atime);
        map.insert("mtime", stat.mtime);
        map.insert("ctime", stat.ctime);
        map.insert("size", stat.size);
        map.insert("mode", octal(stat.mode));
        if let Some(name) = &self.hash_type {
            let kind = super::read::digest_kind(name)?;
            let is_file = super::path::kind(machine, &path) == Some(FileKind::File);
            map.insert("sum", if is_file { sum_of(machine, &path, kind)? } else { String::new() });
        }
        let kind = match stat.kind {
            FileKind::File => "file",
            FileKind::Directory => "dir",
            FileKind::Link => "link",
            FileKind::BlockDevice => "block",
            FileKind::CharDevice => "char",
            FileKind::Pipe => "pipe",
            FileKind::Socket => "socket",
        };
        map.insert("type", kind);
        let target = if self.follow_symlinks { canonical(machine, &path) } else { path };
        map.insert("target", target.to_string_lossy().into_owned());
        Ok(map)
    }
}

/// The result of the system's `lstat`; an empty map if there is no such path.
///
/// ```text
/// rocksalt '*' file.lstat /path/to/file
/// ```
#[function("file.lstat", reads)]
pub struct Lstat {
    /// The path.
    path: String,
}

impl Function for Lstat {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let mut map = Map::new();
        if let Ok(Some(stat)) = machine.stat(&super::path::absolute(machine, &self.path)?, false) {
            map.insert("st_atime", stat.atime);
            map.insert("st_ctime", stat.ctime);
            map.insert("st_gid", stat.gid);
            map.insert("st_mode", full_mode(&stat));
            map.insert("st_mtime", stat.mtime);
            map.insert("st_nlink", stat.links);
            map.insert("st_size", stat.size);
            map.insert("st_uid", stat.uid);
        }
        Ok(map)
    }
}

/// Size and free space of the file system that a path is on, in blocks and inodes.
///
/// ```text
/// rocksalt '*' file.statvfs /path/to/file
/// ```
#[function("file.statvfs", reads)]
pub struct Statvfs {
    /// The path.
    path: String,
}

impl Function for Statvfs {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        const FORMAT: &str = "%a %f %b %s %d %d %c %S %l";
        const NAMES: [&str; 9] =
            ["f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_frsize", "f_namemax"];
        let path = super::path::absolute(machine, &self.path)?;
        look(machine, &path, true)?;
        let output = machine.query(&Command::new(["stat", "-f", "-c", FORMAT, "--", &*path.to_string_lossy()]))?;
        if !output.success() {
            return Err(Error::failed(format!("could not look at the file system of {}", path.display())));
        }
        let text = output.text();
        Ok(NAMES
            .iter()
            .zip(text.split_whitespace())
            .map(|(name, number)| (Value::from(*name), Value::integer(number).unwrap_or_default()))
            .collect())
    }
}

/// The SELinux context of a path.
///
/// ```text
/// rocksalt '*' file.get_selinux_context /etc/hosts
/// ```
#[function("file.get_selinux_context", reads)]
pub struct GetSelinuxContext {
    /// The path.
    path: String,
}

impl Function for GetSelinuxContext {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = expand(machine, &self.path);
        let output = machine.query(&Command::new(["stat", "-c", "%C", "--", &*path.to_string_lossy()]))?;
        match output.text().trim() {
            context if output.success() && !context.is_empty() && context != "?" => Ok(context.to_owned()),
            _ => Ok(format!("No selinux context information is available for {}", self.path)),
        }
    }
}

/// The total size of the files of a path and all below it, in bytes; links are not followed.
///
/// ```text
/// rocksalt '*' file.diskusage /path/to/check
/// ```
#[function("file.diskusage", reads)]
pub struct Diskusage {
    /// A file or directory.
    path: String,
}

impl Function for Diskusage {
    type Output = u64;

    fn call(self, machine: &dyn System) -> Result<u64> {
        let mut size = 0;
        let mut seen = std::collections::BTreeSet::new();
        walk(machine, &expand(machine, &self.path), &mut |_, stat| {
            // The size of a file with several hard links counts once.
            if stat.kind == FileKind::File && (stat.links == 1 || seen.insert((stat.device, stat.inode))) {
                size += stat.size;
            }
            Ok(true)
        })?;
        Ok(size)
    }
}

/// A path whose owner or mode is asked for.
#[arguments]
pub struct Followed {
    /// The path.
    path: String,
    /// Follow links.
    #[default(true)]
    follow_symlinks: bool,
}

impl Followed {
    fn stat(&self, machine: &dyn System) -> Result<Stat> {
        look(machine, &expand(machine, &self.path), self.follow_symlinks)
    }

    fn mode(self, machine: &dyn System) -> Result<String> {
        Ok(octal(self.stat(machine)?.mode))
    }

    fn uid(self, machine: &dyn System) -> Result<u32> {
        Ok(self.stat(machine)?.uid)
    }

    fn user(self, machine: &dyn System) -> Result<Value> {
        Ok(user_name(machine, self.stat(machine)?.uid))
    }

    fn gid(self, machine: &dyn System) -> Result<u32> {
        Ok(self.stat(machine)?.gid)
    }

    fn group(self, machine: &dyn System) -> Result<Value> {
        Ok(group_name(machine, self.stat(machine)?.gid))
    }
}

/// The mode of a path, in octal digits.
///
/// ```text
/// rocksalt '*' file.get_mode /etc/passwd
/// ```
#[function("file.get_mode", reads, call = Followed::mode -> String)]
pub struct GetMode(Followed);

/// The uid of a path's owner.
///
/// ```text
/// rocksalt '*' file.get_uid /etc/passwd
/// ```
#[function("file.get_uid", reads, call = Followed::uid -> u32)]
pub struct GetUid(Followed);

/// The name of a path's owner.
///
/// ```text
/// rocksalt '*' file.get_user /etc/passwd
/// ```
#[function("file.get_user", reads, call = Followed::user -> Value)]
pub struct GetUser(Followed);

/// The gid of a path's group.
///
/// ```text
/// rocksalt '*' file.get_gid /etc/passwd
/// ```
#[function("file.get_gid", reads, call = Followed::gid -> u32)]
pub struct GetGid(Followed);

/// The name of a path's group.
///
/// ```text
/// rocksalt '*' file.get_group /etc/passwd
/// ```
#[function("file.get_group", reads, call = Followed::group -> Value)]
pub struct GetGroup(Followed);

/// The user's name, or the id if it has none.
pub fn user_name(machine: &dyn Probe, uid: u32) -> Value {
    accounts::user(machine, &uid.to_string()).map_or(Value::from(uid), |user| user.name.into())
}

/// The group's name, or the id if it has none.
pub fn group_name(machine: &dyn Probe, gid: u32) -> Value {
    accounts::group(machine, &gid.to_string()).map_or(Value::from(gid), |group| group.name.into())
}
