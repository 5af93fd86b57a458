//! The functions that list the keys of a machine and its users.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::place::UserFile;
use crate::catalog::Function;
use crate::catalog::file::Flag;
use crate::machine::{System, accounts};
use crate::{Error, Result};

/// The keys of this host's ssh server.
///
/// ```text
/// rocksalt '*' ssh.host_keys private=False
/// ```
#[function("ssh.host_keys", reads)]
pub struct HostKeys {
    /// Where they are; else in `/etc/ssh`.
    keydir: Option<String>,
    /// Show the secret ones, too.
    #[default(true)]
    private: Flag,
    /// Show certificates, too.
    #[default(true)]
    certs: Flag,
}

impl Function for HostKeys {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let folder = self.keydir.as_deref().unwrap_or("/etc/ssh");
        let names = machine.list(Path::new(folder)).map_err(|error| Error::io("list", folder, &error))?;
        let mut keys = Map::new();
        for name in names {
            let Some((kind, rest)) = name.strip_prefix("ssh_host_").and_then(|rest| rest.split_once("_key")) else {
                continue;
            };
            let shown = match rest {
                "" => self.private.0,
                ".pub" => true,
                "-cert.pub" => self.certs.0,
                _ => false,
            };
            if shown {
                let content = machine.read(&Path::new(folder).join(&name)).unwrap_or_default();
                keys.insert(format!("{kind}{rest}"), String::from_utf8_lossy(&content).trim());
            }
        }
        Ok(keys)
    }
}

/// The public and private keys in users' homes, by user.
///
/// ```text
/// rocksalt '*' ssh.user_keys alice prvfile=False
/// rocksalt '*' ssh.user_keys user='[alice, bob]' pubfile=id_deploy.pub prvfile=False
/// ```
#[function("ssh.user_keys", reads)]
pub struct UserKeys {
    /// A name or a list of names; else all users.
    user: Vec<String>,
    /// The name of a public key; False for none.
    pubfile: Value,
    /// The name of a secret key; False for none.
    prvfile: Value,
}

impl Function for UserKeys {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        const KINDS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
        let mut files = Vec::new();
        for (wanted, ending) in [(&self.pubfile, ".pub"), (&self.prvfile, "")] {
            match wanted {
                Value::String(name) if !name.is_empty() => files.push(name.clone()),
                Value::Bool(false) => {}
                _ => files.extend(KINDS.iter().map(|kind| format!("{kind}{ending}"))),
            }
        }
        let users = match self.user.is_empty() {
            true => accounts::users(machine).into_iter().map(|user| user.name).collect(),
            false => self.user,
        };
        let mut keys = Map::new();
        for user in users {
            let mut found = Map::new();
            for file in &files {
                let path = if file.starts_with('/') { file.clone() } else { format!(".ssh/{file}") };
                let text = UserFile::of(machine, &user, &path.replace('%', "%%")).and_then(|place| place.read(machine));
                if let Ok(Some(text)) = text {
                    found.insert(file.rsplit('/').next().unwrap_or_default(), text.trim());
                }
            }
            if !found.is_empty() {
                keys.insert(user, found);
            }
        }
        Ok(keys)
    }
}
