//! Configured grains: from the target's grains file, or its configuration.

use std::path::{Path, PathBuf};

use rocksalt_core::{Map, Value, yaml};

use super::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The files in order of increasing precedence. Ours is the last, and the one that is written.
const SALT_FILE: &str = "/etc/salt/grains";
const FILE: &str = "/etc/rocksalt/grains";

/// Files first, then the configuration. An invalid file must not prevent everything else.
pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    for path in [PathBuf::from(SALT_FILE), path(machine)] {
        grains.extend(read(machine, &path).unwrap_or_default());
    }
    if let Some(own) = machine.options().get("grains").and_then(Value::as_map) {
        grains.extend(own.clone());
    }
}

/// The file that functions write to: in the directory of the configuration file if there is one.
pub fn path(machine: &dyn Probe) -> PathBuf {
    let Some(conf) = machine.options().get("conf_file").and_then(Value::as_str).filter(|conf| conf.starts_with('/'))
    else {
        return FILE.into();
    };
    if look::is_directory(machine, conf) {
        return Path::new(conf).join("grains");
    }
    Path::new(conf).with_file_name("grains")
}

/// The grains in the file; none if it does not exist.
pub fn read(machine: &dyn Probe, path: &Path) -> Result<Map> {
    let Some(text) = look::text(machine, &path.to_string_lossy()) else { return Ok(Map::new()) };
    match yaml::parse(&text) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(Error::failed(format!("Unable to read existing grains file: {}: {error}", path.display()))
            .hint("mend or remove the file; nothing was written")),
    }
}

/// Changes the file, keeps the rest of its content, and drops the gathered grains.
pub fn change(machine: &dyn System, change: impl FnOnce(&mut Map)) -> Result<()> {
    let path = path(machine);
    let mut grains = read(machine, &path)?;
    change(&mut grains);
    let folder = path.parent().unwrap_or(Path::new("/"));
    make_dirs(machine, folder)?;
    let text = yaml::emit(&Value::Map(grains));
    machine.write(&path, text.as_bytes(), None).map_err(|error| Error::io("write", &path, &error))?;
    machine.refresh_grains();
    Ok(())
}

fn make_dirs(machine: &dyn System, folder: &Path) -> Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|above| !look::exists(machine, &above.to_string_lossy())).collect();
    for above in missing.into_iter().rev() {
        machine.make_dir(above, 0o755).map_err(|error| Error::io("make", above, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn the_configuration_wins_over_files() {
        let options: Map =
            [("grains".into(), Map::from_iter([("a".into(), 3i64.into())]).into())].into_iter().collect();
        let machine =
            Fake::new().file(SALT_FILE, "a: 1\nb: 1\nc: 1\n").file(FILE, "a: 2\nb: 2\n").with_options(options);
        let mut found = Map::new();
        grains(&machine, &mut found);
        assert_eq!(Value::Map(found).to_string(), "{'a': 3, 'b': 2, 'c': 1}");
    }

    #[test]
    fn a_change_keeps_the_rest_and_a_broken_file_stays() {
        let machine = Fake::new().directory("/etc");
        change(&machine, |grains| drop(grains.insert("roles", vec![Value::from("web")]))).expect("it can be written");
        change(&machine, |grains| drop(grains.insert("dc", "one"))).expect("it can be written");
        let found = read(&machine, Path::new(FILE)).expect("it can be read");
        assert_eq!(Value::Map(found).to_string(), "{'roles': ['web'], 'dc': 'one'}");

        let broken = Fake::new().file(FILE, "a: [1\n");
        let error = change(&broken, |grains| drop(grains.insert("a", 1i64))).expect_err("it can't be understood");
        assert!(error.to_string().starts_with("Unable to read existing grains file"), "{error}");
        assert_eq!(look::text(&broken, FILE).as_deref(), Some("a: [1\n"));
    }
}
