//! [`add`]: records a host's key, for `accept-new`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use russh::keys::PublicKey;

use super::known_host::{hashed, name};

/// Appends a line, in one write, so that lines of concurrent writers don't mix. Creates the file (0600)
/// and its directory (0700) if they don't exist. With `hash` the name is stored as a hash.
pub fn add(path: &Path, host: &str, port: u16, key: &PublicKey, hash: bool) -> io::Result<()> {
    let name = name(host, port);
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || ",*?!|#@".contains(c)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' cannot stand in known_hosts")));
    }
    let name = if hash { hashed(&name, &salt()?) } else { name };
    let mut key = key.clone();
    key.set_comment("");
    let key = key.to_openssh().map_err(io::Error::other)?;

    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
        && !fs::exists(folder)?
    {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let start = if ends_in_newline(&mut file)? { "" } else { "\n" };
    file.write_all(format!("{start}{name} {}\n", key.trim_end()).as_bytes())?;
    file.sync_data()
}

fn ends_in_newline(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}

fn salt() -> io::Result<[u8; 20]> {
    let mut salt = [0; 20];
    File::open("/dev/urandom")?.read_exact(&mut salt)?;
    Ok(salt)
}
