//! The live line: how many are done, who is still out and for how long.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nothing is drawn before this: a quick command needs no line.
const PATIENCE: Duration = Duration::from_millis(800);

pub struct Live {
    /// Not done yet, with the time since when they are worked on.
    out: Vec<(String, Option<Instant>)>,
    total: usize,
    started: Instant,
    terminal: bool,
    drawn: bool,
}

impl Live {
    pub fn new(ids: Vec<String>) -> Live {
        let total = ids.len();
        let out = ids.into_iter().map(|id| (id, None)).collect();
        Live { out, total, started: Instant::now(), terminal: std::io::stderr().is_terminal(), drawn: false }
    }

    pub fn begun(&mut self, id: &str) {
        if let Some((_, since)) = self.out.iter_mut().find(|(out, _)| out == id) {
            *since = Some(Instant::now());
        }
    }

    pub fn done(&mut self, id: &str) {
        self.out.retain(|(out, _)| out != id);
    }

    /// Who is being worked on.
    pub fn out(&self) -> Vec<String> {
        self.out.iter().filter(|(_, since)| since.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// Prints something above the line.
    pub fn above(&mut self, print: impl FnOnce()) {
        self.clear();
        print();
    }

    pub fn clear(&mut self) {
        if self.drawn {
            self.drawn = false;
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    pub fn draw(&mut self) {
        if !self.terminal || self.out.is_empty() || self.started.elapsed() < PATIENCE {
            return;
        }
        let line = line(&self.out, self.total, self.started.elapsed(), crate::environment::width());
        self.drawn = true;
        let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        let _ = std::io::stderr().flush();
    }
}

fn line(out: &[(String, Option<Instant>)], total: usize, time: Duration, width: usize) -> String {
    let mut line = format!("{}/{total} done, {}s", total - out.len(), time.as_secs());
    let mut names = out.iter().filter_map(|(id, since)| Some((id, since.as_ref()?.elapsed().as_secs())));
    let mut separator = "; waiting for ";
    let count = names.clone().count();
    for (shown, (id, seconds)) in (&mut names).enumerate() {
        let next = format!("{separator}{id} ({seconds}s)");
        let rest = format!(" and {} more", count - shown);
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

    #[test]
    fn the_line_fits_the_terminal() {
        let now = Instant::now();
        let out: Vec<_> = (0..50).map(|number| (format!("host-number-{number}"), Some(now))).collect();
        let line = line(&out, 100, Duration::from_secs(3), 80);
        assert!(line.starts_with("50/100 done, 3s; waiting for host-number-0 (0s)"), "{line}");
        assert!(line.ends_with("more") && line.len() < 80, "{line}");
    }
}
