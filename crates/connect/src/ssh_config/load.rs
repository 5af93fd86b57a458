//! Reads the user's and the system's configuration from disk.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::parse::{Included, directives};
use super::pattern::matches;
use super::{BadConfig, SshConfig};

/// `~/.ssh/config`, then `/etc/ssh/ssh_config`. A missing file counts as empty.
pub fn load(home: &Path) -> Result<SshConfig, BadConfig> {
    let ssh = home.join(".ssh");
    let system = Path::new("/etc/ssh");
    let sources = [
        Source { path: &ssh.join("config"), folder: &ssh, private: true },
        Source { path: &system.join("ssh_config"), folder: system, private: false },
    ];
    load_sources(home, &sources)
}

/// Reads files, each with the directory to which its relative `Include`s refer.
pub fn load_files(home: &Path, files: &[(&Path, &Path)]) -> Result<SshConfig, BadConfig> {
    let sources: Vec<Source<'_>> = files.iter().map(|(path, folder)| Source { path, folder, private: false }).collect();
    load_sources(home, &sources)
}

struct Source<'a> {
    path: &'a Path,
    folder: &'a Path,
    /// Whether only its owner may be able to write the file and those that it includes: it decides where rocksalt
    /// connects to.
    private: bool,
}

fn load_sources(home: &Path, sources: &[Source<'_>]) -> Result<SshConfig, BadConfig> {
    let mut config = SshConfig::default();
    let mut bad = BadConfig::default();
    for Source { path, folder, private } in sources {
        let text = match read(path, *private) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                bad.unreadable.push(format!("cannot read {}: {error}", path.display()));
                continue;
            }
        };
        let read = |pattern: &str| included(pattern, home, folder, *private);
        config.files.push(directives(&text, &path.display().to_string(), &read, 0, &mut bad.problems));
    }
    if bad.is_empty() { Ok(config) } else { Err(bad) }
}

/// Checks and reads through one descriptor, so that the file can't be replaced in between.
fn read(path: &Path, private: bool) -> io::Result<String> {
    let mut file = File::open(path)?;
    if private {
        let found = file.metadata()?;
        let owned = found.uid() == 0 || found.uid() == rustix::process::getuid().as_raw();
        if !owned || found.mode() & 0o022 != 0 {
            return Err(io::Error::new(
                ErrorKind::PermissionDenied,
                "others may write it; 'chmod go-w' it, and see whose it is",
            ));
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn included(pattern: &str, home: &Path, folder: &Path, private: bool) -> Vec<Included> {
    let pattern = match pattern.strip_prefix("~/") {
        Some(inside) => home.join(inside),
        None => folder.join(pattern),
    };
    let mut files = vec![PathBuf::from("/")];
    for part in pattern.components().skip(1) {
        let part = part.as_os_str().to_string_lossy();
        files = files.iter().flat_map(|folder| children(folder, &part)).collect();
    }
    files
        .into_iter()
        .filter_map(|path| match read(&path, private) {
            Ok(text) => Some(Included { origin: path.display().to_string(), text: Ok(text) }),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => Some(Included { origin: path.display().to_string(), text: Err(error.to_string()) }),
        })
        .collect()
}

/// The files of a directory that match one part of the pattern, sorted. Hidden files only match a pattern that begins
/// with a dot.
fn children(folder: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains(['*', '?']) {
        return vec![folder.join(part)];
    }
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| matches(name, part) && name.starts_with('.') == part.starts_with('.'))
        .collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh_config::{LocalUser, Query};

    #[test]
    fn included_files_are_found_by_pattern_and_in_order() {
        let home = tempfile::tempdir().expect("a folder");
        let ssh = home.path().join(".ssh");
        fs::create_dir_all(ssh.join("d")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(ssh.join(name), text).expect("a file");
        write("config", "Include d/*.conf ~/.ssh/more missing nowhere/*\nPort 1\nUser last\n");
        write("d/2.conf", "Port 2\nUser two\n");
        write("d/1.conf", "Host other\nPort 9\n");
        write("d/.hidden.conf", "Port 3\n");
        write("d/1.conf~", "Port 4\n");
        write("more", "ConnectTimeout 7\n");
        let config = load_files(home.path(), &[(&ssh.join("config"), &ssh)]).expect("a good configuration");
        let found = config.resolve(&Query::new("web"), &LocalUser::default()).expect("settings");
        assert_eq!((found.port, found.user.as_str(), found.connect_timeout), (2, "two", Some(7)));
    }

    #[test]
    fn a_file_that_others_may_write_is_not_taken() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().expect("a folder");
        let ssh = home.path().join(".ssh");
        fs::create_dir(&ssh).expect("a folder");
        let write = |name: &str, text: &str, mode| {
            fs::write(ssh.join(name), text).expect("a file");
            fs::set_permissions(ssh.join(name), fs::Permissions::from_mode(mode)).expect("its mode");
        };
        write("more", "Port 3\n", 0o644);
        write("config", "Include more\n", 0o644);
        assert!(load(home.path()).is_ok());
        write("more", "Port 3\n", 0o664);
        assert!(load(home.path()).expect_err("refused").to_string().contains("others may write"));
        write("more", "Port 3\n", 0o600);
        write("config", "Include more\n", 0o602);
        assert!(load(home.path()).expect_err("refused").to_string().contains("others may write"));
    }

    #[test]
    fn a_file_that_includes_itself_ends() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("config");
        fs::write(&path, "Include config\n").expect("a file");
        let bad = load_files(home.path(), &[(&path, home.path())]).expect_err("too deep");
        assert!(bad.to_string().contains("16 deep"), "{bad}");
    }
}
