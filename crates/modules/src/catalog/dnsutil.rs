//! `dnsutil`: addresses of names, and serial numbers of zones.

use rocksalt_core::{Call, Value};
use rocksalt_macros::function;

use super::dig::Question;
use super::{CatalogFunction, Function, call, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<A>(), entry::<Aaaa>(), entry::<Serial>()];

/// The IPv4 addresses of a name.
///
/// ```text
/// rocksalt '*' dnsutil.A www.example.com
/// ```
#[function("dnsutil.A", reads)]
pub struct A(Question);

impl Function for A {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        self.0.ask(machine, "A")
    }
}

/// The IPv6 addresses of a name.
///
/// ```text
/// rocksalt '*' dnsutil.AAAA www.example.com
/// ```
#[function("dnsutil.AAAA", reads)]
pub struct Aaaa(Question);

impl Function for Aaaa {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        self.0.ask(machine, "AAAA")
    }
}

/// A zone's serial number of the form `2026013101`, kept in a grain.
///
/// ```text
/// rocksalt '*' dnsutil.serial example.com update=True
/// ```
#[function("dnsutil.serial", changes)]
pub struct Serial {
    /// The zone.
    #[default]
    zone: String,
    /// Make a new one, and keep it.
    update: bool,
}

impl Function for Serial {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let key = if self.zone.is_empty() { "dnsserial".to_owned() } else { format!("dnsserial_{}", self.zone) };
        let stored = machine.grains().walk(&key, ":").filter(|value| value.truth()).map(ToString::to_string);
        let present = format!("{}01", today(machine.now()));
        let Some(stored) = stored else {
            return if self.update { keep(machine, key, present) } else { Ok(present) };
        };
        if !self.update {
            return Ok(stored);
        }
        let next = match stored >= present {
            true => match stored.parse::<u64>() {
                Ok(number) => number.saturating_add(1).to_string(),
                Err(_) => {
                    return Err(Error::failed(format!("the grain {key} is '{stored}', which is no serial number")));
                }
            },
            false => present,
        };
        keep(machine, key, next)
    }
}

fn keep(machine: &dyn System, key: String, serial: String) -> Result<String> {
    let answer = call(Call::new("grains.setval").arg(key).arg(Value::from(serial.as_str())), machine);
    answer.problem.map_or(Ok(serial), |problem| Err(problem.into()))
}

/// The day, in UTC, as eight digits.
fn today(now: f64) -> String {
    // Counted from 0000-03-01, so that the leap day ends a year.
    let days = (now / 86_400.0).floor() as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn days_are_the_calendars() {
        for (now, day) in [
            (0.0, "19700101"),
            (951_782_400.0, "20000229"),
            (951_868_800.0, "20000301"),
            (1_767_225_599.0, "20251231"),
            (1_767_225_600.0, "20260101"),
            (4_107_542_400.0, "21000301"),
        ] {
            assert_eq!(today(now), day);
        }
    }

    #[test]
    fn a_stored_serial_goes_on() {
        let grains = [("dnsserial".into(), "2999010105".into()), ("dnsserial_z".into(), "2000010109".into())];
        let machine = Fake::new().directory("/etc").with_grains(grains.into_iter().collect());
        let serial = |zone: &str, update: bool| {
            let call = Call::new("dnsutil.serial").arg(zone).arg(update);
            crate::catalog::call(call, &machine).value.to_string()
        };
        assert_eq!(serial("", false), "2999010105");
        assert_eq!(serial("", true), "2999010106");
        assert_eq!(serial("z", false), "2000010109");
        assert!(serial("z", true).as_str() > "2000010109");
        assert_eq!(serial("new", false).len(), 10);
    }
}
