//! A user's authorized keys, and edits of them. Other lines stay unchanged.

use std::path::Path;

use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize};

use super::key::{self, SshKey};
use super::place::UserFile;
use crate::Result;
use crate::catalog::cp::{self, source::ContentSource};
use crate::machine::{Probe, System};

/// A change of a key, planned or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStatus {
    Add,
    Update,
    Exists,
}

impl KeyStatus {
    pub fn name(self) -> &'static str {
        match self {
            KeyStatus::Add => "add",
            KeyStatus::Update => "update",
            KeyStatus::Exists => "exists",
        }
    }
}

#[derive(Serialize, Deserialize)]
pub struct AuthorizedKeys {
    place: UserFile,
    text: String,
}

impl AuthorizedKeys {
    pub fn read(machine: &dyn Probe, user: &str, config: &str) -> Result<AuthorizedKeys> {
        let place = UserFile::of(machine, user, config)?;
        let text = place.read(machine)?.unwrap_or_default();
        Ok(AuthorizedKeys { place, text })
    }

    pub fn homeless(&self, machine: &dyn Probe) -> bool {
        self.place.homeless(machine)
    }

    pub fn keys(&self) -> Vec<SshKey> {
        keys(&self.text)
    }

    pub fn status(&self, wanted: &SshKey) -> KeyStatus {
        let found: Vec<SshKey> = self.keys().into_iter().filter(|known| known.key == wanted.key).collect();
        match found.iter().all(|known| known == wanted) {
            true if found.is_empty() => KeyStatus::Add,
            true => KeyStatus::Exists,
            false => KeyStatus::Update,
        }
    }

    pub fn set(&mut self, wanted: &SshKey) -> KeyStatus {
        let status = self.status(wanted);
        match status {
            KeyStatus::Exists => {}
            KeyStatus::Update => self.each(|known| (known.key == wanted.key).then(|| format!("{}\n", wanted.line()))),
            KeyStatus::Add => {
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.text.push_str(&format!("{}\n", wanted.line()));
            }
        }
        status
    }

    /// Removes a key. Returns whether it existed.
    pub fn remove(&mut self, key: &str) -> bool {
        let there = self.keys().iter().any(|known| known.key == key);
        self.each(|known| (known.key == key).then(String::new));
        there
    }

    pub fn write(&self, machine: &dyn System) -> Result<()> {
        self.place.write(machine, &self.text, 0o600)
    }

    /// Replaces the lines of keys.
    fn each(&mut self, new: impl Fn(&SshKey) -> Option<String>) {
        let line = |line: &str| SshKey::parse(line).and_then(|key| new(&key)).unwrap_or_else(|| line.to_owned());
        self.text = self.text.split_inclusive('\n').map(line).collect();
    }
}

pub fn keys(text: &str) -> Vec<SshKey> {
    text.lines().filter_map(SshKey::parse).filter(SshKey::is_valid).collect()
}

/// Keys in Salt's form.
pub fn shown(keys: &[SshKey], kind: Option<&str>) -> Result<Map> {
    let mut shown = Map::new();
    for known in keys {
        let options = known.options.split(',').filter(|option| !option.is_empty()).map(Value::from).collect();
        let fields = Map::from_iter([
            ("enc".into(), known.enc.as_str().into()),
            ("comment".into(), known.comment.as_str().into()),
            ("options".into(), Value::List(options)),
            ("fingerprint".into(), key::fingerprint(&known.key, kind)?.into()),
        ]);
        shown.insert(known.key.as_str(), fields);
    }
    Ok(shown)
}

/// The keys in a file of the tree or another source; `None` if there is no such file.
pub fn from_source(machine: &dyn Probe, source: &str, saltenv: Option<&str>) -> Result<Option<Vec<SshKey>>> {
    let content = match ContentSource::parse(machine, source, saltenv)? {
        ContentSource::Tree { path, saltenv } => machine.tree().read(&saltenv, &path)?.map(|content| content.to_vec()),
        ContentSource::Url(url) => Some(cp::url_content(machine, &url)?),
        ContentSource::Local(path) => machine.read(Path::new(&path)).ok(),
        ContentSource::Given(_) => None,
    };
    Ok(content.map(|content| keys(&String::from_utf8_lossy(&content))))
}
