//! SSH keys: made once with `ssh-keygen`, kept with the base roots, used by every bed.
//!
//! Making fifty host keys for each test would cost more than the hosts. The keys open nothing but throw-away hosts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::{cache, locked};
use crate::error::{Error, FileContext};
use crate::tool;

/// A private key; the public one lies beside it with `.pub`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SshKeyPair {
    pub private: PathBuf,
}

impl SshKeyPair {
    pub(crate) fn public(&self) -> PathBuf {
        suffixed(&self.private, ".pub")
    }

    /// `ssh-ed25519 AAAA…`, without the comment.
    pub(crate) fn public_text(&self) -> Result<String, Error> {
        let path = self.public();
        let text = fs::read_to_string(&path).file("read", &path)?;
        Ok(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
    }
}

/// The kept key of this name, made if it's the first time.
pub(crate) fn kept(name: &str) -> Result<SshKeyPair, Error> {
    let directory = cache()?.join("keys");
    let key = SshKeyPair { private: directory.join(name) };
    if key.public().exists() {
        return Ok(key);
    }
    fs::create_dir_all(&directory).file("create", &directory)?;
    locked(&suffixed(&key.private, ".lock"), || {
        if !key.public().exists() {
            generate(&key.private)?;
        }
        Ok(())
    })?;
    Ok(key)
}

/// A new key at this path, over one that may be there.
pub(crate) fn generate(private: &Path) -> Result<SshKeyPair, Error> {
    let temporary = suffixed(private, ".new");
    for leftover in [temporary.clone(), suffixed(&temporary, ".pub")] {
        let _ = fs::remove_file(leftover);
    }
    tool::run(
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "throw-away", "-f"]).arg(&temporary),
    )?;
    let key = SshKeyPair { private: private.to_path_buf() };
    fs::rename(&temporary, private).file("write", private)?;
    // The public half comes last: where it is, the pair is whole.
    fs::rename(suffixed(&temporary, ".pub"), key.public()).file("write", key.public())?;
    Ok(key)
}

/// Signs a key's public half, as a host's (`-h`) or a user's; the certificate lies beside it.
pub(crate) fn sign(authority: &SshKeyPair, key: &SshKeyPair, host: bool, principals: &[&str]) -> Result<(), Error> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-I", "throw-away", "-n", &principals.join(","), "-s"]).arg(&authority.private);
    if host {
        command.arg("-h");
    }
    tool::run(command.arg(key.public())).map(drop)
}

pub(crate) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
