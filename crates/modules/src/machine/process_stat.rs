//! [`ProcessStat`]: what the kernel says of a process in one line.

/// The line `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessStat {
    pub pid: u32,
    pub name: String,
    pub state: char,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// Times in clock ticks: user, system, children's user, children's system, waiting for disks.
    pub times: [u64; 5],
    pub nice: i64,
    pub threads: u64,
    /// Start time in clock ticks since boot.
    pub start: u64,
    pub cpu: u64,
}

impl ProcessStat {
    /// The name is in parentheses, and may itself contain parentheses and blanks.
    pub fn parse(line: &str) -> Option<ProcessStat> {
        let (pid, rest) = line.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The state is field 3 of the line, and the first one here.
        let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        Some(ProcessStat {
            pid: pid.trim().parse().ok()?,
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: number(4) as u32,
            group: number(5) as u32,
            session: number(6) as u32,
            times: [number(14), number(15), number(16), number(17), number(42)],
            nice: fields.get(16)?.parse().ok()?,
            threads: number(20),
            start: number(22),
            cpu: number(39),
        })
    }
}
