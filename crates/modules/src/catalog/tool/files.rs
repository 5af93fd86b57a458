//! Changes files for a tool: writes, links, and makes their parent directories.

use std::path::Path;

use crate::grains::look;
use crate::machine::System;
use crate::{Error, Result};

/// Writes a file, and makes its parent directories.
pub fn write(machine: &dyn System, path: &str, content: &[u8], mode: Option<u32>) -> Result<()> {
    make_parents(machine, path)?;
    machine.write(Path::new(path), content, mode).map_err(|error| Error::io("write", path, &error))
}

/// Makes the parent directories of a path.
pub fn make_parents(machine: &dyn System, path: &str) -> Result<()> {
    match Path::new(path).parent() {
        Some(above) => make_directories(machine, &above.to_string_lossy(), 0o755),
        None => Ok(()),
    }
}

/// Makes a directory and its parents; existing ones stay unchanged.
pub fn make_directories(machine: &dyn System, path: &str, mode: u32) -> Result<()> {
    let missing: Vec<&Path> =
        Path::new(path).ancestors().take_while(|path| !look::is_directory(machine, &path.to_string_lossy())).collect();
    for path in missing.into_iter().rev() {
        // Another process may have made it meanwhile.
        match machine.make_dir(path, mode) {
            Err(error) if !look::is_directory(machine, &path.to_string_lossy()) => {
                return Err(Error::io("make the directory", path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes the link under a temporary name and renames it, so that the path always exists.
pub fn replace_link(machine: &dyn System, target: &str, link: &str) -> Result<()> {
    let fresh = format!("{link}.rocksalt-{}", std::process::id());
    let made = machine.symlink(Path::new(target), Path::new(&fresh));
    made.map_err(|error| Error::io("make the link", &fresh, &error))?;
    machine.rename(Path::new(&fresh), Path::new(link)).map_err(|error| {
        let _ = machine.remove(Path::new(&fresh));
        Error::io("replace", link, &error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Probe};

    #[test]
    fn a_link_takes_the_place_of_another() {
        let machine = Fake::new().link("/etc/l", "/old");
        replace_link(&machine, "/new", "/etc/l").expect("it can be made");
        assert_eq!(machine.read_link(Path::new("/etc/l")).expect("a link"), Path::new("/new"));
        assert_eq!(look::names(&machine, "/etc"), ["l"]);
    }
}
