//! A parser for the subset of DER that certificates need.

/// One value: its tag and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asn1Value<'a> {
    pub tag: u8,
    pub content: &'a [u8],
    /// With tag and length.
    pub whole: &'a [u8],
}

pub const SEQUENCE: u8 = 0x30;

impl<'a> Asn1Value<'a> {
    /// The first value, and the rest.
    pub fn read(bytes: &'a [u8]) -> Option<(Asn1Value<'a>, &'a [u8])> {
        let (tag, length) = (*bytes.first()?, *bytes.get(1)?);
        let (start, length) = match length {
            0..=0x7f => (2, usize::from(length)),
            0x81..=0x84 => {
                let count = usize::from(length & 0x7f);
                let digits = bytes.get(2..2 + count)?;
                (2 + count, digits.iter().fold(0_usize, |sum, digit| sum << 8 | usize::from(*digit)))
            }
            _ => return None,
        };
        let end = start.checked_add(length)?;
        let item = Asn1Value { tag, content: bytes.get(start..end)?, whole: bytes.get(..end)? };
        Some((item, bytes.get(end..)?))
    }

    /// The values inside this one.
    pub fn items(&self) -> Option<Vec<Asn1Value<'a>>> {
        let mut found = Vec::new();
        let mut rest = self.content;
        while !rest.is_empty() {
            let (item, after) = Asn1Value::read(rest)?;
            found.push(item);
            rest = after;
        }
        Some(found)
    }

    /// `1.2.840.113549…`
    pub fn oid(&self) -> Option<String> {
        if self.tag != 6 {
            return None;
        }
        let mut numbers = Vec::new();
        let mut value = 0_u64;
        for byte in self.content {
            value = value.checked_mul(128)? + u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                numbers.push(value);
                value = 0;
            }
        }
        let first = *numbers.first()?;
        let top = (first / 40).min(2);
        let rest = numbers.iter().skip(1).map(u64::to_string);
        Some([top.to_string(), (first - top * 40).to_string()].into_iter().chain(rest).collect::<Vec<_>>().join("."))
    }

    /// A text of any string type, including the old 16-bit ones.
    pub fn text(&self) -> String {
        match self.tag {
            0x1e => {
                let units: Vec<u16> =
                    self.content.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
                String::from_utf16_lossy(&units)
            }
            _ => String::from_utf8_lossy(self.content).into_owned(),
        }
    }

    /// A time in seconds since 1970.
    pub fn time(&self) -> Option<i64> {
        let text = std::str::from_utf8(self.content).ok()?.strip_suffix('Z')?;
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
        let (year, rest) = match self.tag {
            0x17 => {
                let year = number(0, 2)?;
                (if year < 50 { 2000 + year } else { 1900 + year }, 2)
            }
            0x18 => (number(0, 4)?, 4),
            _ => return None,
        };
        let part = |index: usize| number(rest + index * 2, rest + index * 2 + 2);
        let days = days(year, part(0)?, part(1)?);
        Some(days * 86400 + part(2)? * 3600 + part(3)? * 60 + part(4)?)
    }
}

/// Days since 1970 of a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The time in Salt's form: `2026-11-16 04:06:06`.
pub fn shown(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86400) + 719_468, seconds.rem_euclid(86400));
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = years + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let (item, rest) = Asn1Value::read(&[0x30, 3, 2, 1, 5, 9]).expect("a value");
        assert_eq!((item.tag, item.content, rest), (SEQUENCE, &[2, 1, 5][..], &[9][..]));
        assert!(
            Asn1Value::read(&[0x30, 5, 1]).is_none()
                && Asn1Value::read(&[]).is_none()
                && Asn1Value::read(&[4, 0x80]).is_none()
        );
        let oid = Asn1Value::read(&[6, 6, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d]).expect("a value").0.oid();
        assert_eq!(oid.as_deref(), Some("1.2.840.113549"));
        let time = Asn1Value { tag: 0x17, content: b"261116040606Z", whole: &[] }.time().expect("a time");
        assert_eq!(shown(time), "2026-11-16 04:06:06");
        let time = Asn1Value { tag: 0x18, content: b"20500229000000Z", whole: &[] }.time().expect("a time");
        assert_eq!(shown(time), "2050-03-01 00:00:00");
        assert_eq!(shown(0), "1970-01-01 00:00:00");
    }
}
