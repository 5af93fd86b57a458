//! Identifies a boot of the machine.

use rocksalt_modules::machine::Probe;

/// Differs after every boot. A container keeps the boot id of its host's kernel, so the start time of the first process
/// is part of it.
pub fn identity(machine: &dyn Probe) -> String {
    let read = |path: &str| machine.read(std::path::Path::new(path)).unwrap_or_default();
    let kernel = String::from_utf8_lossy(&read("/proc/sys/kernel/random/boot_id")).trim().to_owned();
    let stat = String::from_utf8_lossy(&read("/proc/1/stat")).into_owned();
    // The name in parentheses may contain anything. Field 22 is the 20th after it.
    let began = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19).map(str::to_owned));
    format!("{kernel}/{}", began.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use rocksalt_modules::machine::Fake;

    use super::*;

    #[test]
    fn a_restart_of_either_is_another_start() {
        let machine = |id: &str, began: u64| {
            let stat = format!("1 (a ) b) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 {began} 1 2");
            identity(&Fake::new().file("/proc/sys/kernel/random/boot_id", format!("{id}\n")).file("/proc/1/stat", stat))
        };
        assert_eq!(machine("abc", 17), "abc/17");
        assert_ne!(machine("abc", 17), machine("abc", 18));
        assert_ne!(machine("abc", 17), machine("abd", 17));
    }
}
