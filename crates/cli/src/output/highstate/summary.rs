//! The summary below the states: counts and times.

use rocksalt_core::Value;

use super::super::palette::Palette;
use super::Settings;
use super::state::StateResult;

#[derive(Default)]
pub struct Summary {
    good: usize,
    failed: usize,
    /// In a dry run: the number of states that would make changes.
    differs: usize,
    other: usize,
    pub changed: usize,
    pub warnings: usize,
    milliseconds: f64,
    longest_parallel: f64,
}

impl Summary {
    pub fn add(&mut self, state: &StateResult<'_>, changed: bool) {
        match state.result() {
            Value::Bool(true) => self.good += 1,
            Value::Bool(false) => self.failed += 1,
            Value::Null => self.differs += 1,
            _ => self.other += 1,
        }
        self.changed += usize::from(changed);
        // Parallel states took as long as the longest of them.
        if state.is_parallel() {
            self.longest_parallel = self.longest_parallel.max(state.milliseconds());
        } else {
            self.milliseconds += state.milliseconds();
        }
    }

    pub fn lines(&self, host: &str, settings: &Settings, palette: &Palette) -> Vec<String> {
        let end = palette.end;
        let largest = [self.good, self.failed, self.differs, self.other, self.warnings].into_iter().max().unwrap_or(0);
        let digits = if largest == 0 { 0 } else { largest.to_string().len() };
        let width = "Succeeded: ".len() + digits;
        let rule = "-".repeat(width);
        let count = |colour: &str, label: &str, count: &str| {
            format!("{colour}{label}: {count:>0$}{end}", width.saturating_sub(label.len() + 2))
        };
        let failed_colour = if self.failed > 0 { palette.red } else { palette.cyan };
        let total = self.good + self.failed + self.differs + self.other;

        let mut lines = vec![
            format!("{}\nSummary for {host}\n{rule}{end}", palette.cyan),
            count(palette.green, "Succeeded", &(self.good + self.differs).to_string()) + &self.notes(palette),
            count(failed_colour, "Failed", &self.failed.to_string()),
        ];
        if settings.percentages && total > 0 {
            lines.push(count(palette.green, "Success %", &percentage(self.good + self.differs, total)));
            lines.push(count(failed_colour, "Failure %", &percentage(self.failed, total)));
        }
        if self.warnings > 0 {
            lines.push(count(palette.light_red, "Warnings", &self.warnings.to_string()));
        }
        lines.push(format!("{}{rule}\nTotal states run: {total:>1$}{end}", palette.cyan, width - 7));
        if settings.profile {
            let (time, unit) = match self.milliseconds + self.longest_parallel {
                time if time > 999.0 => (time / 1000.0, "s"),
                time => (time, "ms"),
            };
            lines.push(format!("{}Total run time: {time:>1$.3} {unit}{end}", palette.cyan, width - 5));
        }
        lines
    }

    /// ` (unchanged=1, changed=2)`; "unchanged" is Salt's word for changes that a dry run did not make.
    fn notes(&self, palette: &Palette) -> String {
        let mut notes = Vec::new();
        if self.differs > 0 {
            notes.push(format!("{}unchanged={}{}", palette.light_yellow, self.differs, palette.end));
        }
        if self.changed > 0 {
            notes.push(format!("{}changed={}{}", palette.green, self.changed, palette.end));
        }
        if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
    }
}

/// With one or two digits after the point: `66.67`, `100.0`.
fn percentage(part: usize, total: usize) -> String {
    let text = format!("{:.2}", part as f64 / total as f64 * 100.0);
    text.strip_suffix('0').map_or_else(|| text.clone(), str::to_owned)
}
