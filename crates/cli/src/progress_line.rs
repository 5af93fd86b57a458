//! [`ProgressLine`]: how many targets have ended, which still run, for how long, and their progress.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rocksalt_core::{Value, json};

/// The line is drawn only after this time: a short command needs none.
const PATIENCE: Duration = Duration::from_millis(800);

pub struct ProgressLine {
    /// The targets that have not ended.
    out: Vec<PendingTarget>,
    total: usize,
    started: Instant,
    terminal: bool,
}

/// True while the line is on the terminal. A writer to the terminal holds the lock.
static DRAWN: Mutex<bool> = Mutex::new(false);

/// Writes to standard error; erases the progress line first, which the next tick redraws.
pub fn write_above(bytes: &[u8]) -> std::io::Result<()> {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut stderr = std::io::stderr();
    if std::mem::take(&mut *drawn) {
        stderr.write_all(b"\r\x1b[K")?;
    }
    stderr.write_all(bytes)
}

struct PendingTarget {
    id: String,
    /// When the call was sent.
    since: Option<Instant>,
    /// The progress of its run of states: `40/110 file.managed /etc/motd`.
    progress: Option<String>,
}

impl ProgressLine {
    /// Whether there is a terminal.
    pub fn is_shown() -> bool {
        std::io::stderr().is_terminal()
    }

    pub fn new(ids: Vec<String>) -> ProgressLine {
        let total = ids.len();
        let out = ids.into_iter().map(|id| PendingTarget { id, since: None, progress: None }).collect();
        ProgressLine { out, total, started: Instant::now(), terminal: ProgressLine::is_shown() }
    }

    pub fn begun(&mut self, id: &str) {
        if let Some(target) = self.find(id) {
            target.since = Some(Instant::now());
        }
    }

    pub fn done(&mut self, id: &str) {
        self.out.retain(|target| target.id != id);
    }

    /// Sets the progress of a run: an object with `done`, `total`, `running` and `waiting`.
    pub fn progress(&mut self, id: &str, progress: &[u8]) {
        let Ok(Ok(progress)) = std::str::from_utf8(progress).map(json::parse) else { return };
        if let Some(target) = self.find(id) {
            target.progress = Some(describe(&progress));
        }
    }

    fn find(&mut self, id: &str) -> Option<&mut PendingTarget> {
        self.out.iter_mut().find(|target| target.id == id)
    }

    /// The targets that are running.
    pub fn running(&self) -> Vec<String> {
        self.out.iter().filter(|target| target.since.is_some()).map(|target| target.id.clone()).collect()
    }

    /// Prints something above the line.
    pub fn above(&mut self, print: impl FnOnce()) {
        self.clear();
        print();
    }

    pub fn clear(&mut self) {
        let _ = write_above(b"");
    }

    pub fn draw(&mut self) {
        if !self.terminal || self.out.is_empty() || self.started.elapsed() < PATIENCE {
            return;
        }
        let line = line(&self.out, self.total, self.started.elapsed(), crate::environment::width());
        let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
        *drawn = true;
        let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        let _ = std::io::stderr().flush();
    }
}

fn describe(progress: &Value) -> String {
    let number = |key: &str| progress.walk(key, ":").and_then(Value::as_i64).unwrap_or_default();
    let running = progress.walk("running", ":").and_then(Value::as_list).unwrap_or_default();
    let mut text = format!("{}/{} states", number("done"), number("total"));
    if let Some(first) = running.first() {
        text += &format!(": {}", crate::output::clean(&first.to_string()));
    }
    if running.len() > 1 {
        text += &format!(" and {} more", running.len() - 1);
    }
    text.replace('\n', " ")
}

fn line(out: &[PendingTarget], total: usize, time: Duration, width: usize) -> String {
    let seconds = |target: &PendingTarget| target.since.map(|since| since.elapsed().as_secs());
    if let ([target], 1) = (out, total) {
        let progress = target.progress.as_deref().unwrap_or("waiting");
        let line = format!("{}: {progress}, {}s", target.id, time.as_secs());
        return line.chars().take(width.saturating_sub(1)).collect();
    }
    let mut line = format!("{}/{total} done, {}s", total - out.len(), time.as_secs());
    let names: Vec<(String, u64)> = out
        .iter()
        .filter_map(|target| {
            let progress = target.progress.as_deref().map(|text| text.split(" states").next().unwrap_or_default());
            let name = progress.map_or_else(|| target.id.clone(), |progress| format!("{} {progress}", target.id));
            Some((name, seconds(target)?))
        })
        .collect();
    let mut separator = "; waiting for ";
    for (shown, (name, seconds)) in names.iter().enumerate() {
        let next = format!("{separator}{name} ({seconds}s)");
        let rest = format!(" and {} more", names.len() - shown);
        if line.chars().count() + next.chars().count() + rest.chars().count() >= width {
            line += &rest;
            break;
        }
        line += &next;
        separator = ", ";
    }
    line.chars().take(width.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(id: String) -> PendingTarget {
        PendingTarget { id, since: Some(Instant::now()), progress: None }
    }

    #[test]
    fn the_line_fits_the_terminal() {
        let out: Vec<_> = (0..50).map(|number| target(format!("host-number-{number}"))).collect();
        let line = line(&out, 100, Duration::from_secs(3), 80);
        assert!(line.starts_with("50/100 done, 3s; waiting for host-number-0 (0s)"), "{line}");
        assert!(line.ends_with("more") && line.len() < 80, "{line}");
    }

    #[test]
    fn a_run_says_how_far_it_is() {
        let mut live = ProgressLine::new(vec!["web1".into()]);
        live.begun("web1");
        live.progress("web1", br#"{"done": 3, "total": 110, "running": ["file.managed /etc/motd"]}"#);
        assert_eq!(line(&live.out, 1, Duration::from_secs(2), 80), "web1: 3/110 states: file.managed /etc/motd, 2s");
    }
}
