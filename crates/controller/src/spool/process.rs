//! [`Process`]: the process that runs a job. Its start time distinguishes it from a later one with the same id.

use std::fs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub id: u32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
}

impl Process {
    pub fn own() -> Process {
        let id = std::process::id();
        Process { id, start: start(id).unwrap_or(0) }
    }

    pub fn is_alive(self) -> bool {
        start(self.id) == Some(self.start)
    }
}

/// `None` if there is no such process, or only a zombie.
fn start(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name is in parentheses and may contain parentheses itself.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one() {
        let own = Process::own();
        assert!(own.start > 0 && own.is_alive());
        assert!(!Process { start: own.start + 1, ..own }.is_alive());
        let mut child = std::process::Command::new("true").spawn().expect("there is true");
        let before = Process { id: child.id(), start: start(child.id()).unwrap_or(1) };
        child.wait().expect("it ends");
        assert!(!before.is_alive());
    }
}
