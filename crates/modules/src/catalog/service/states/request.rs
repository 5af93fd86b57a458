//! The arguments that several states of `service` share.

use std::time::Duration;

use rocksalt_core::{Map, Value};

use super::super::{ServiceOptions, ServiceProvider};
use crate::catalog::Verdict;

/// Parses `enable`: true, false, or `None` to leave it unchanged. A text is true only if it is a word for true.
pub fn enable(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::String(text) => {
            Some(text.eq_ignore_ascii_case("true") || text.parse::<f64>().is_ok_and(|number| number > 0.0))
        }
        value => Some(value.truth()),
    }
}

/// Parses seconds in any form.
pub fn seconds(value: &Value) -> Option<f64> {
    value.to_string().parse().ok().filter(|seconds: &f64| *seconds > 0.0 && seconds.is_finite())
}

pub fn timeout(value: &Value) -> Option<Duration> {
    seconds(value).map(Duration::from_secs_f64)
}

/// Salt's verdict for a common mistake.
pub fn slip(low: &Map, name: &str) -> Option<Verdict> {
    low.contains_key("enabled").then(|| {
        Verdict::bad(format!(
            "Service {name} uses non-existent option \"enabled\".  Perhaps \"enable\" option was intended?"
        ))
    })
}

/// Warnings about options that only systemd supports.
pub fn warnings(provider: &dyn ServiceProvider, how: &ServiceOptions) -> Vec<String> {
    if provider.masks().is_some() {
        return Vec::new();
    }
    let asked = [("no_block", how.no_block), ("unmask", how.unmask), ("unmask_runtime", how.unmask_runtime)];
    let asked = asked.into_iter().filter(|(_, asked)| *asked);
    asked.map(|(name, _)| format!("The '{name}' argument is not supported by this platform")).collect()
}

pub fn unavailable(name: &str) -> String {
    format!("The named service {name} is not available")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_enables() {
        assert_eq!(enable(&Value::Null), None);
        assert_eq!((enable(&true.into()), enable(&false.into())), (Some(true), Some(false)));
        assert_eq!(
            (enable(&"True".into()), enable(&"yes".into()), enable(&"1".into())),
            (Some(true), Some(false), Some(true))
        );
        assert_eq!(
            (seconds(&3i64.into()), seconds(&"0.5".into()), seconds(&Value::Null)),
            (Some(3.0), Some(0.5), None)
        );
    }
}
