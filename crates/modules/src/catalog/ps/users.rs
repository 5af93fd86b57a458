//! The logged-in users, from the system's login records.

use std::path::Path;

use crate::machine::Probe;

#[derive(Debug, PartialEq)]
pub struct LoggedInUser {
    pub name: String,
    pub terminal: String,
    pub host: String,
    pub started: i64,
    pub pid: u32,
}

pub fn logins(machine: &dyn Probe) -> Vec<LoggedInUser> {
    let found = ["/run/utmp", "/var/run/utmp"].iter().find_map(|path| machine.read(Path::new(path)).ok());
    parse(&found.unwrap_or_default())
}

/// Parses C structs; on architectures with 64-bit times (ARM, RISC-V) they are a little longer.
fn parse(content: &[u8]) -> Vec<LoggedInUser> {
    const USER: i16 = 7;
    let length = if content.len().is_multiple_of(384) { 384 } else { 400 };
    let at = if length == 384 { 340 } else { 344 };
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let login = |record: &[u8]| {
        let number = |at: usize| u32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        (i16::from_ne_bytes([record[0], record[1]]) == USER).then(|| LoggedInUser {
            name: text(&record[44..76]),
            terminal: text(&record[8..40]),
            host: text(&record[76..332]),
            started: i64::from(number(at)),
            pid: number(4),
        })
    };
    content.chunks_exact(length).filter_map(login).collect()
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    #[test]
    fn logins_are_records_of_users() {
        let mut record = vec![0u8; 384];
        record[0] = 7;
        record[4..8].copy_from_slice(&77u32.to_ne_bytes());
        record[8..13].copy_from_slice(b"pts/0");
        record[44..47].copy_from_slice(b"ann");
        record[76..85].copy_from_slice(b"192.0.2.9");
        record[340..344].copy_from_slice(&1000u32.to_ne_bytes());
        let expected = LoggedInUser {
            name: "ann".into(),
            terminal: "pts/0".into(),
            host: "192.0.2.9".into(),
            started: 1000,
            pid: 77,
        };
        let boot = vec![0u8; 384];
        assert_eq!(parse(&[boot, record].concat()), [expected]);
        assert_eq!(parse(b"junk"), []);
    }
}
