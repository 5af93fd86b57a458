//! SELinux.

use rocksalt_core::{Map, Value};

use super::look;
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    // As in Salt, the grain is missing without SELinux's tools.
    if look::program(machine, "selinuxenabled").is_none() && !look::exists(machine, "/sys/fs/selinux/enforce") {
        return;
    }
    let enforce = look::line(machine, "/sys/fs/selinux/enforce");
    let enforced = match enforce.as_deref() {
        Some("1") => "Enforcing",
        Some(_) => "Permissive",
        None => "Disabled",
    };
    let pairs = [("enabled", Value::Bool(enforce.is_some())), ("enforced", enforced.into())];
    let selinux: Map = pairs.into_iter().map(|(name, value)| (name.into(), value)).collect();
    grains.insert("selinux", selinux);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn the_kernel_says_whether_rules_are_enforced() {
        let cases = [("1\n", "Enforcing"), ("0", "Permissive")];
        for (content, word) in cases {
            let mut found = Map::new();
            grains(&Fake::new().file("/sys/fs/selinux/enforce", content), &mut found);
            assert_eq!(
                Value::Map(found).to_string(),
                format!("{{'selinux': {{'enabled': True, 'enforced': '{word}'}}}}")
            );
        }
        let mut found = Map::new();
        grains(&Fake::new(), &mut found);
        assert!(found.is_empty());
    }
}
