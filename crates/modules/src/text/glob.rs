//! Shell patterns: Python's `fnmatch` for names, its `glob` for paths.

use std::path::{Path, PathBuf};

pub use rocksalt_core::pattern::glob::{is_pattern, matches};

use crate::machine::Probe;

/// The paths that match, sorted. A star matches neither a slash nor a leading dot.
pub fn paths(machine: &dyn Probe, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from(if pattern.starts_with('/') { "/" } else { "" })];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for above in found {
            if is_pattern(part) {
                let place = if above.as_os_str().is_empty() { Path::new(".") } else { &above };
                let names = machine.list(place).unwrap_or_default();
                let fits = |name: &String| name.starts_with('.') == part.starts_with('.') && matches(part, name);
                next.extend(names.into_iter().filter(fits).map(|name| above.join(name)));
            } else if matches!(machine.stat(&above.join(part), false), Ok(Some(_))) {
                next.push(above.join(part));
            }
        }
        found = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn paths_match_part_by_part() {
        let fake = Fake::new().file("/etc/a.conf", "").file("/etc/d/b.conf", "").file("/etc/.hidden.conf", "");
        let found =
            |pattern: &str| paths(&fake, pattern).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        assert_eq!(found("/etc/*.conf"), ["/etc/a.conf"]);
        assert_eq!(found("/etc/*/b.*"), ["/etc/d/b.conf"]);
        assert_eq!(found("/etc/a.conf"), ["/etc/a.conf"]);
        assert_eq!(found("/etc/.h*"), ["/etc/.hidden.conf"]);
        assert!(found("/none/*").is_empty());
    }
}
