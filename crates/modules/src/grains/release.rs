//! Versions: ours, and that of the Salt release whose language we implement.

use std::path::Path;

use rocksalt_core::{Map, Value};

use crate::machine::Probe;

/// Formulas compare the version with the one that they need.
const SALT: [i64; 2] = [3008, 3];

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    python(machine, grains);
    grains.insert("saltversion", format!("{}.{}", SALT[0], SALT[1]));
    grains.insert("saltversioninfo", SALT.into_iter().map(Value::Int).collect::<Vec<_>>());
    grains.insert("rocksaltversion", env!("CARGO_PKG_VERSION"));
}

/// Formulas choose packages by the version of Salt's Python; the target's own Python serves the same purpose. The
/// version is part of the program's name, so it need not be started. Without Python the grain is missing.
fn python(machine: &dyn Probe, grains: &mut Map) {
    const PYTHON: &str = "/usr/bin/python3";
    let Ok(target) = machine.read_link(Path::new(PYTHON)) else { return };
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let numbers: Vec<i64> = name.trim_start_matches("python").split('.').filter_map(|part| part.parse().ok()).collect();
    let [major, minor] = numbers.as_slice() else { return };
    let version = [Value::Int(*major), Value::Int(*minor), Value::Int(0), "final".into(), Value::Int(0)];
    grains.insert("pythonversion", Value::List(version.to_vec()));
    grains.insert("pythonexecutable", PYTHON);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn pythons_version_is_in_its_name() {
        let version = |machine: Fake| {
            let mut found = Map::new();
            grains(&machine, &mut found);
            found.get("pythonversion").map(ToString::to_string)
        };
        let link = Fake::new().link("/usr/bin/python3", "python3.11");
        assert_eq!(version(link).as_deref(), Some("[3, 11, 0, 'final', 0]"));
        assert_eq!(version(Fake::new()), None);
        assert_eq!(version(Fake::new().link("/usr/bin/python3", "/opt/pypy")), None);
    }
}
