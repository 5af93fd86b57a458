//! Reads the user's and the system's configuration from disk.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::parse::{Included, items};
use super::pattern::fits;
use super::{BadConfig, Config};

/// `~/.ssh/config`, then `/etc/ssh/ssh_config`. A file that isn't there says nothing.
pub fn load(home: &Path) -> Result<Config, BadConfig> {
    let ssh = home.join(".ssh");
    let system = Path::new("/etc/ssh");
    load_files(home, &[(&ssh.join("config"), &ssh), (&system.join("ssh_config"), system)])
}

/// Files, each with the folder that its relative `Include`s start from.
pub fn load_files(home: &Path, files: &[(&Path, &Path)]) -> Result<Config, BadConfig> {
    let mut config = Config::default();
    let mut bad = BadConfig::default();
    for (path, folder) in files {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                bad.unreadable.push(format!("cannot read {}: {error}", path.display()));
                continue;
            }
        };
        let read = |pattern: &str| included(pattern, home, folder);
        config.files.push(items(&text, &path.display().to_string(), &read, 0, &mut bad.problems));
    }
    if bad.is_empty() { Ok(config) } else { Err(bad) }
}

fn included(pattern: &str, home: &Path, folder: &Path) -> Vec<Included> {
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
        .filter_map(|path| match fs::read_to_string(&path) {
            Ok(text) => Some(Included { origin: path.display().to_string(), text: Ok(text) }),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => Some(Included { origin: path.display().to_string(), text: Err(error.to_string()) }),
        })
        .collect()
}

/// What in the folder fits one part of the pattern, by name. Hidden files must be asked for.
fn children(folder: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains(['*', '?']) {
        return vec![folder.join(part)];
    }
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| fits(name, part) && name.starts_with('.') == part.starts_with('.'))
        .collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh_config::{Local, Query};

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
        let found = config.resolve(&Query::new("web"), &Local::default()).expect("settings");
        assert_eq!((found.port, found.user.as_str(), found.connect_timeout), (2, "two", Some(7)));
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
