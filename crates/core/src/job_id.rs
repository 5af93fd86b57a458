//! [`JobId`]: Salt's job id of twenty digits.

use std::fmt;
use std::str::FromStr;

use minicbor::{Decode, Decoder, Encode, decode};

/// The start time of a job in UTC, to the microsecond: `YYYYMMDDhhmmssffffff`.
///
/// It always consists of twenty ASCII digits, so it is safe as the name of a file or key (docs/security-rules.md#r6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode)]
#[cbor(transparent)]
pub struct JobId(#[cbor(with = "minicbor::bytes")] [u8; 20]);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{0}' is not a job id: it has twenty digits, as in 20260131093000123456")]
pub struct Error(String);

impl JobId {
    /// The id of a job that starts at this time, in microseconds since 1970.
    pub fn at(micros: u64) -> JobId {
        let seconds = micros / 1_000_000;
        let (year, month, day) = date((seconds / 86_400) as i64);
        let rest = seconds % 86_400;
        let text = format!(
            "{year:04}{month:02}{day:02}{:02}{:02}{:02}{:06}",
            rest / 3600,
            rest / 60 % 60,
            rest % 60,
            micros % 1_000_000
        );
        let mut digits = [b'0'; 20];
        digits.copy_from_slice(&text.as_bytes()[..20]);
        JobId(digits)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("00000000000000000000")
    }

    /// The start time as Salt shows it: `2026, Jan 31 09:30:00.123456`.
    pub fn start_time(&self) -> String {
        const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let text = self.as_str();
        let month = text[4..6].parse::<usize>().ok().and_then(|n| MONTHS.get(n.wrapping_sub(1)));
        format!(
            "{}, {} {} {}:{}:{}.{}",
            &text[..4],
            month.unwrap_or(&"???"),
            &text[6..8],
            &text[8..10],
            &text[10..12],
            &text[12..14],
            &text[14..]
        )
    }
}

/// Converts days since 1970 to year, month and day (Howard Hinnant's `civil_from_days`).
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Decoding checks the digits, since ids name files and keys.
impl<'b, C> Decode<'b, C> for JobId {
    fn decode(decoder: &mut Decoder<'b>, _: &mut C) -> Result<JobId, decode::Error> {
        let digits = <[u8; 20]>::try_from(decoder.bytes()?).ok().filter(|bytes| bytes.iter().all(u8::is_ascii_digit));
        digits.map(JobId).ok_or_else(|| decode::Error::message("a job id must be twenty digits"))
    }
}

impl FromStr for JobId {
    type Err = Error;

    fn from_str(text: &str) -> Result<JobId, Error> {
        let digits: [u8; 20] = text.as_bytes().try_into().map_err(|_| Error(text.to_owned()))?;
        match digits.iter().all(u8::is_ascii_digit) {
            true => Ok(JobId(digits)),
            false => Err(Error(text.to_owned())),
        }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_are_the_time() {
        assert_eq!(JobId::at(0).as_str(), "19700101000000000000");
        assert_eq!(JobId::at(1_769_851_800_123_456).as_str(), "20260131093000123456");
        assert_eq!(JobId::at(951_782_399_999_999).as_str(), "20000228235959999999");
        assert_eq!(JobId::at(1_769_851_800_123_456).start_time(), "2026, Jan 31 09:30:00.123456");
    }

    #[test]
    fn nothing_else_is_an_id() {
        for text in
            ["", "2026", "../../../etc/passwd0", "２０２６０１３１０９３０００１２３４５６", "2026013109300012345x"]
        {
            assert!(text.parse::<JobId>().is_err(), "{text}");
        }
    }
}
