//! Repositories of dnf, yum and zypper: `.repo` files.

use std::path::{Path, PathBuf};

use rocksalt_core::{Map, Value};

use crate::Result;
use crate::machine::Probe;

/// A file with its repositories in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepoFile {
    pub path: PathBuf,
    pub header: Vec<String>,
    pub repositories: Vec<RepoSection>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepoSection {
    pub id: String,
    pub options: Vec<(String, String)>,
    pub comments: Vec<String>,
}

/// The directories of repository files on a system; new ones are added to the first.
pub fn folders(family: &str) -> &'static [&'static str] {
    match family {
        "Suse" => &["/etc/zypp/repos.d"],
        _ => &["/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d"],
    }
}

pub fn read_all(machine: &dyn Probe, family: &str) -> Result<Vec<RepoFile>> {
    let mut files = Vec::new();
    for folder in folders(family) {
        let names = machine.list(Path::new(folder)).unwrap_or_default();
        for name in names.iter().filter(|name| name.ends_with(".repo")) {
            let path = Path::new(folder).join(name);
            let content = machine.read(&path).map_err(|error| crate::Error::io("read", &path, &error))?;
            files.push(RepoFile::read(path, &String::from_utf8_lossy(&content)));
        }
    }
    Ok(files)
}

impl RepoFile {
    pub fn read(path: PathBuf, text: &str) -> RepoFile {
        let mut file = RepoFile { path, ..RepoFile::default() };
        for line in text.lines() {
            let trimmed = line.trim();
            if let Some(id) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                file.repositories.push(RepoSection { id: id.to_owned(), ..RepoSection::default() });
                continue;
            }
            let Some(repository) = file.repositories.last_mut() else {
                if trimmed.starts_with(['#', ';']) {
                    file.header.push(trimmed.to_owned());
                }
                continue;
            };
            if let Some(comment) = trimmed.strip_prefix(['#', ';']) {
                repository.comments.push(comment.trim_start().to_owned());
            } else if line.starts_with([' ', '\t']) && !trimmed.is_empty() {
                // A continuation line.
                if let Some((_, value)) = repository.options.last_mut() {
                    value.push('\n');
                    value.push_str(trimmed);
                }
            } else if let Some((key, value)) = trimmed.split_once(['=', ':']) {
                repository.options.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        file
    }

    pub fn write(&self) -> String {
        let mut text: String = self.header.iter().map(|line| format!("{line}\n")).collect();
        for repository in &self.repositories {
            text += &format!("[{}]\n", repository.id);
            for (key, value) in &repository.options {
                text += &format!("{key}={}\n", value.replace('\n', "\n "));
            }
            for comment in &repository.comments {
                text += &format!("# {comment}\n");
            }
            text.push('\n');
        }
        text
    }
}

impl RepoSection {
    pub fn get(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    pub fn set(&mut self, key: &str, value: &str) {
        match self.options.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value.to_owned(),
            None => self.options.push((key.to_owned(), value.to_owned())),
        }
    }

    pub fn remove(&mut self, key: &str) {
        self.options.retain(|(known, _)| known != key);
    }

    pub fn remark(&mut self, comments: Vec<String>) {
        self.comments = comments;
    }

    /// The repository in Salt's form.
    pub fn described(&self) -> Map {
        let mut map: Map =
            self.options.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect();
        if !self.comments.is_empty() {
            let comments = self.comments.iter().map(|line| line.as_str().into()).collect();
            map.insert("comments", Value::List(comments));
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_written() {
        let text = "# top\n[base]\nname=Base\nBaseURL = http://x.test\ngpgkey=file:/a\n file:/b\n# note\n\n[extra]\nenabled=0\n\n";
        let file = RepoFile::read("/etc/yum.repos.d/x.repo".into(), text);
        assert_eq!(file.repositories[0].get("gpgkey"), Some("file:/a\nfile:/b"));
        assert_eq!(file.repositories[1].get("enabled"), Some("0"));
        let again = RepoFile::read(file.path.clone(), &file.write());
        assert_eq!(again, file);
    }
}
