//! Which parts of a state run are shown: Salt's settings `state_output`, `state_verbose` and similar.

use rocksalt_core::{Map, Value, nearest};

use super::super::{Error, python};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `state_output`.
    pub mode: Mode,
    /// `state_output: …_id`: shows the id instead of the name.
    pub by_id: bool,
    /// `state_verbose`: also shows states that succeeded without changes.
    pub verbose: bool,
    /// `state_output_diff`: leaves out states that succeeded without changes.
    pub only_differences: bool,
    /// `state_output_profile`: shows when each state started, and how long it took.
    pub profile: bool,
    /// `state_output_pct`: shows percentages in the summary.
    pub percentages: bool,
    /// `state_tabular`: prints terse lines in columns.
    pub tabular: bool,
    /// `state_output_exclude`: results (`True`, `False`, `None`) that mode `filter` leaves out.
    pub exclude: Vec<String>,
    /// `state_output_terse`: results that mode `filter` shows in one line.
    pub terse: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Full,
    Terse,
    /// Failures in full, the rest terse.
    Mixed,
    /// Failures and changes in full, the rest terse.
    Changes,
    /// As `exclude` and `terse` define.
    Filter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateDisplay {
    Not,
    Terse,
    Full,
}

const MODES: [(&str, Mode); 5] = [
    ("changes", Mode::Changes),
    ("filter", Mode::Filter),
    ("full", Mode::Full),
    ("mixed", Mode::Mixed),
    ("terse", Mode::Terse),
];

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::Full,
            by_id: false,
            verbose: true,
            only_differences: false,
            profile: true,
            percentages: false,
            tabular: false,
            exclude: Vec::new(),
            terse: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads its keys from the configuration; the defaults are Salt's.
    pub fn read(settings: &Map) -> Result<Settings, Error> {
        let default = Settings::default();
        let (mode, by_id) = match settings.get("state_output") {
            None => (default.mode, default.by_id),
            Some(value) => mode(&python::text(value))?,
        };
        Ok(Settings {
            mode,
            by_id,
            verbose: flag(settings, "state_verbose", default.verbose)?,
            only_differences: flag(settings, "state_output_diff", default.only_differences)?,
            profile: flag(settings, "state_output_profile", default.profile)?,
            percentages: flag(settings, "state_output_pct", default.percentages)?,
            tabular: flag(settings, "state_tabular", default.tabular)?,
            exclude: results(settings.get("state_output_exclude")),
            terse: results(settings.get("state_output_terse")),
        })
    }

    pub fn shown(&self, result: &Value, changed: bool) -> StateDisplay {
        let failed = *result == Value::Bool(false);
        let listed = |list: &[String]| list.iter().any(|listed| *listed == python::text(result));
        let terse = match self.mode {
            Mode::Full => false,
            Mode::Terse => true,
            Mode::Mixed => !failed,
            Mode::Changes => result.truth() && !changed,
            Mode::Filter if listed(&self.terse) => true,
            Mode::Filter if listed(&self.exclude) => return StateDisplay::Not,
            Mode::Filter => false,
        };
        if terse { StateDisplay::Terse } else { StateDisplay::Full }
    }
}

fn mode(text: &str) -> Result<(Mode, bool), Error> {
    let lower = text.to_lowercase();
    let (name, by_id) = lower.strip_suffix("_id").map_or((lower.as_str(), false), |name| (name, true));
    match MODES.iter().find(|(known, _)| *known == name) {
        Some((_, mode)) => Ok((*mode, by_id)),
        None => {
            let names = MODES.map(|(name, _)| name);
            let expected = format!("it is one of {}, or one of them with _id", names.join(", "));
            let expected = format!("{expected}{}", nearest::hint(name, names));
            Err(Error::Setting { key: "state_output", value: text.to_owned(), expected })
        }
    }
}

fn flag(settings: &Map, key: &'static str, default: bool) -> Result<bool, Error> {
    match settings.get(key) {
        None => Ok(default),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => {
            Err(Error::Setting { key, value: other.to_string(), expected: "it is true or false".to_owned() })
        }
    }
}

/// Parses `True,None` or a list of them.
fn results(value: Option<&Value>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::List(items)) => items.iter().map(|item| python::text(item).into_owned()).collect(),
        Some(other) => python::text(other).split(',').map(|part| part.trim().to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_setting_is_told_with_the_right_one() {
        let read = |key: &str, value: Value| Settings::read(&Map::from_iter([(key.into(), value)]));
        let error = read("state_output", "tersee".into()).expect_err("there is no such mode").to_string();
        assert!(error.contains("did you mean 'terse'?"), "{error}");
        assert!(read("state_verbose", "maybe".into()).is_err());
        assert_eq!(read("state_output", "Mixed_ID".into()).map(|s| (s.mode, s.by_id)), Ok((Mode::Mixed, true)));
    }
}
