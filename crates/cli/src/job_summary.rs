//! [`JobSummary`]: counts the outcomes of a job, and determines the exit code.

use std::process::ExitCode;

use rocksalt_core::record::TargetOutcome;

use crate::failure::{Failure, FailureKind};

#[derive(Default)]
pub struct JobSummary {
    pub total: usize,
    fine: usize,
    failed: usize,
    pub unreached: usize,
    skipped: usize,
    pub interrupted: bool,
}

impl JobSummary {
    pub fn of(total: usize) -> JobSummary {
        JobSummary { total, ..JobSummary::default() }
    }

    pub fn count(&mut self, outcome: &TargetOutcome) {
        match outcome {
            TargetOutcome::Returned(result) if result.success() => self.fine += 1,
            TargetOutcome::Returned(_) => self.failed += 1,
            TargetOutcome::Unreached { .. } | TargetOutcome::Lost(_) => self.unreached += 1,
            TargetOutcome::Skipped(_) => self.skipped += 1,
        }
    }

    /// The number of targets without an outcome, as after a second Ctrl-C.
    fn left(&self) -> usize {
        self.total.saturating_sub(self.fine + self.failed + self.unreached + self.skipped)
    }

    /// Prints a line if there are several targets and something failed.
    pub fn end(&self, human: bool) -> Result<ExitCode, Failure> {
        let left = self.left();
        let kind = match self {
            JobSummary { interrupted: true, .. } => FailureKind::Interrupted,
            JobSummary { unreached: 1.., .. } => FailureKind::Unreached,
            JobSummary { failed: 1.., .. } | JobSummary { skipped: 1.., .. } => FailureKind::Function,
            _ if left > 0 => FailureKind::Unreached,
            _ => return Ok(ExitCode::SUCCESS),
        };
        if human && self.total > 1 {
            let parts = [
                (self.failed, "failed"),
                (self.unreached, "not reached"),
                (self.skipped, "skipped"),
                (left, "not waited for"),
            ];
            let parts: Vec<String> =
                parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
            eprintln!("{} of {} targets fine; {}", self.fine, self.total, parts.join(", "));
        }
        Err(Failure::silent(kind))
    }
}
