//! SSH keys: created once with `ssh-keygen`, stored with the base roots, used by every bed.
//!
//! Generating fifty host keys for each test would take longer than starting the hosts. The keys open only throw-away
//! hosts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::{cache, locked};
use crate::error::{Error, FileContext};
use crate::tool;

/// A private key; the public key is in the file beside it that ends in `.pub`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SshKeyPair {
    pub private: PathBuf,
}

impl SshKeyPair {
    pub(crate) fn public(&self) -> PathBuf {
        suffixed(&self.private, ".pub")
    }

    /// The public key as `ssh-ed25519 AAAA…`, without the comment.
    pub(crate) fn public_text(&self) -> Result<String, Error> {
        let path = self.public();
        let text = fs::read_to_string(&path).file("read", &path)?;
        Ok(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
    }
}

/// Returns the stored key of this name; generates it the first time.
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

/// Generates a key at this path; an existing one is overwritten.
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
    // The public key is written last: if it exists, the pair is complete.
    fs::rename(suffixed(&temporary, ".pub"), key.public()).file("write", key.public())?;
    Ok(key)
}

/// Signs a public key as a host's (with `host`) or a user's. The certificate is written beside it.
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
