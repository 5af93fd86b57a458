//! [`JobOptions`]: how a job processes its targets. A request has them, and the job's record keeps them for a rerun.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use minicbor::decode::{self, Decoder};
use minicbor::encode::{self, Encoder, Write};
use minicbor::{Decode, Encode};

#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct JobOptions {
    /// How many targets run at a time; all at once if not set.
    #[n(0)]
    pub batch: Option<Batch>,
    /// Seconds to wait after each target of a batch.
    #[n(1)]
    pub batch_wait: f64,
    /// The time limit of the call on each target, in seconds; no limit if not set.
    #[n(2)]
    pub timeout: Option<f64>,
    /// Start no further target after the first failure.
    #[n(3)]
    pub failhard: bool,
    /// Run on this many of the selected targets, chosen at random.
    #[n(4)]
    pub subset: Option<usize>,
    /// Wait if states already run on a target; otherwise the call is refused.
    #[n(5)]
    pub queue: bool,
    /// Send the output of commands, as it is printed, to clients that watch the job.
    #[n(6)]
    pub stream: bool,
    /// Remove the agents from the targets afterwards.
    #[n(7)]
    pub wipe: bool,
}

/// A value that is not valid for an option.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionError {
    #[error("batch '{0}' is neither a number nor a percentage, as in 10 or 25%")]
    Batch(String),
    #[error("{option}: {seconds} is no length of time")]
    Duration { option: &'static str, seconds: f64 },
    #[error("subset 0 would run nothing")]
    Subset,
}

impl JobOptions {
    /// Checks what the types don't ensure: durations and the size of the subset.
    pub fn check(&self) -> Result<(), OptionError> {
        self.batch_wait()?;
        self.timeout()?;
        if self.subset == Some(0) { Err(OptionError::Subset) } else { Ok(()) }
    }

    pub fn batch_wait(&self) -> Result<Duration, OptionError> {
        duration("batch_wait", self.batch_wait)
    }

    /// The time limit; `None` if it isn't set or is 0.
    pub fn timeout(&self) -> Result<Option<Duration>, OptionError> {
        self.timeout.filter(|seconds| *seconds != 0.0).map(|seconds| duration("timeout", seconds)).transpose()
    }
}

fn duration(option: &'static str, seconds: f64) -> Result<Duration, OptionError> {
    Duration::try_from_secs_f64(seconds).map_err(|_| OptionError::Duration { option, seconds })
}

/// How many targets run at a time: `10`, `25%` or `12.5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Batch {
    Count(usize),
    /// A percentage of the selected targets.
    Percent(f64),
}

impl Batch {
    /// The number of targets at a time; at least one.
    pub fn size(self, targets: usize) -> usize {
        match self {
            Batch::Count(count) => count.max(1),
            Batch::Percent(percent) => ((targets as f64 * percent.min(100.0) / 100.0) as usize).max(1),
        }
    }
}

impl FromStr for Batch {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Batch, OptionError> {
        let batch = match text.trim().strip_suffix('%') {
            Some(percent) => {
                let percent = percent.trim().parse().ok().filter(|percent: &f64| percent.is_finite() && *percent > 0.0);
                percent.map(Batch::Percent)
            }
            None => text.trim().parse().ok().filter(|count| *count > 0).map(Batch::Count),
        };
        batch.ok_or_else(|| OptionError::Batch(text.to_owned()))
    }
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Batch::Count(count) => write!(f, "{count}"),
            Batch::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// A batch is stored and sent as text.
impl<C> Encode<C> for Batch {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.str(&self.to_string())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Batch {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Batch, decode::Error> {
        d.str()?.parse().map_err(decode::Error::message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str, targets: usize) -> Option<usize> {
        text.parse::<Batch>().ok().map(|batch| batch.size(targets))
    }

    #[test]
    fn a_batch_is_a_number_or_a_percentage() {
        for (text, count) in [("10", 10), ("25%", 2), ("1%", 1), (" 50 % ", 5), ("900%", 10), ("37.5%", 3), ("7", 7)] {
            assert_eq!(size(text, 10), Some(count), "{text}");
        }
        assert_eq!(size("12.5%", 16), Some(2));
        for text in ["", "x", "-1", "-5%", "0", "0%", "10%%", "1.5", "nan%", "inf%"] {
            assert_eq!(text.parse::<Batch>(), Err(OptionError::Batch(text.into())), "{text}");
        }
    }

    #[test]
    fn a_batch_survives_the_record() {
        for batch in [Batch::Count(3), Batch::Percent(12.5), Batch::Percent(25.0)] {
            let bytes = minicbor::to_vec(batch).expect("encoded");
            assert_eq!(minicbor::decode::<Batch>(&bytes).expect("decoded"), batch);
        }
    }

    #[test]
    fn lengths_of_time_are_checked() {
        let with = |timeout| JobOptions { timeout: Some(timeout), ..JobOptions::default() };
        assert_eq!(with(1.5).timeout(), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(with(0.0).timeout(), Ok(None));
        assert!(with(-1.0).check().is_err() && with(f64::NAN).check().is_err());
        assert!(JobOptions { batch_wait: f64::INFINITY, ..JobOptions::default() }.check().is_err());
        assert!(JobOptions { subset: Some(0), ..JobOptions::default() }.check().is_err());
    }
}
