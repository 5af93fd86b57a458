//! [`LogLimit`]: how many diagnostic lines a target may send.

use std::time::Instant;

/// The number of lines that may arrive at once.
const BURST: f64 = 4000.0;
/// The number of lines per second after that.
const RATE: f64 = 500.0;

/// A token bucket for one link: a hostile target must not flood a terminal, a disk or the memory with lines.
pub struct LogLimit {
    tokens: f64,
    last: Instant,
    dropped: u64,
}

impl LogLimit {
    pub fn new(now: Instant) -> LogLimit {
        LogLimit { tokens: BURST, last: now, dropped: 0 }
    }

    /// Whether a line may pass. Returns the number of lines that were dropped before it, or `None` to drop it too.
    pub fn admit(&mut self, now: Instant) -> Option<u64> {
        let seconds = now.saturating_duration_since(self.last).as_secs_f64();
        self.tokens = (self.tokens + seconds * RATE).min(BURST);
        self.last = now;
        if self.tokens < 1.0 {
            self.dropped += 1;
            return None;
        }
        self.tokens -= 1.0;
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_cut_and_counted() {
        let start = Instant::now();
        let mut limit = LogLimit::new(start);
        let passed = (0..100_000).filter(|_| limit.admit(start).is_some()).count();
        assert_eq!(passed, BURST as usize);
        assert_eq!(limit.admit(start + Duration::from_secs(1)), Some(96_000));
        assert_eq!(limit.admit(start + Duration::from_secs(1)), Some(0));
    }
}
