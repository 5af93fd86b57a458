//! Reads systemd's version and features from its own library.
//!
//! `systemctl --version` prints the same, but starting it takes longer than gathering all other grains.

use std::path::Path;

use memchr::memmem;
use rocksalt_core::Map;

use super::{grain, look};
use crate::machine::Probe;

/// The size of each read of the library, and the overlap of two reads.
const PIECE: usize = 256 * 1024;
const OVERLAP: usize = 4 * 1024;

/// `None` if there is no such library, or the text isn't found in it.
pub fn version(machine: &dyn Probe) -> Option<Map> {
    let (path, version) = library(machine)?;
    let features = features(machine, &path)?;
    Some(grain(&version, &features))
}

/// The name of the library: `libsystemd-shared-252.so`, or with a distribution's own number after the version.
fn library(machine: &dyn Probe) -> Option<(String, String)> {
    let several = look::names(machine, "/usr/lib").into_iter().filter(|name| name.ends_with("-linux-gnu"));
    let several = several.map(|name| format!("/usr/lib/{name}/systemd"));
    let mut all = several.chain(["/usr/lib/systemd", "/usr/lib64/systemd", "/lib/systemd"].map(str::to_owned));
    all.find_map(|directory| {
        look::names(machine, &directory).into_iter().find_map(|name| {
            let rest = name.strip_prefix("libsystemd-shared-")?.strip_suffix(".so")?;
            let version: String = rest.chars().take_while(char::is_ascii_digit).collect();
            (!version.is_empty()).then(|| (format!("{directory}/{name}"), version))
        })
    })
}

/// The text of all features: `+PAM -AUDIT …` up to the terminating zero byte.
fn features(machine: &dyn Probe, path: &str) -> Option<String> {
    let mut offset = 0;
    loop {
        let piece = machine.read_at(Path::new(path), offset, PIECE).ok()?;
        let found = memmem::find_iter(&piece, b"PAM ").find_map(|place| {
            let text = piece.get(place.checked_sub(1)?..)?;
            let text = std::str::from_utf8(&text[..memchr::memchr(0, text)?]).ok()?;
            let switches = text.split(' ').all(|word| word.starts_with(['+', '-']) || word.contains('='));
            (switches && text.contains(" +")).then(|| text.to_owned())
        });
        if found.is_some() || piece.len() < PIECE {
            return found;
        }
        offset += (PIECE - OVERLAP) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn the_text_is_found_wherever_it_lies() {
        for before in [0, 10, PIECE - 20, 3 * PIECE] {
            let mut content = vec![b'x'; before];
            content.extend(b"\0SPAM eggs\0+PAM +AUDIT -GNUTLS default-hierarchy=unified\0");
            content.extend(vec![b'y'; 100]);
            let machine = Fake::new().file("/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so", content);
            let found = version(&machine).map(|map| rocksalt_core::Value::Map(map).to_string());
            let expected = "{'version': '252', 'features': '+PAM +AUDIT -GNUTLS default-hierarchy=unified'}";
            assert_eq!(found.as_deref(), Some(expected), "{before}");
        }
        assert!(version(&Fake::new()).is_none());
    }
}
