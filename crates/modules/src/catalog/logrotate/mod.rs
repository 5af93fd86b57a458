//! `logrotate`: how logs are rotated.

mod conf;

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::{function, state};

use self::conf::{Conf, number};
use super::file::followed;
use super::{CatalogFunction, Decision, Function, State, StateEntry, Step, Thing, Touches, Verdict, entry, state};
use crate::catalog::{Action, Plan};
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<Get>(), entry::<SetFunction>(), entry::<ShowConf>()];

pub const STATES: &[StateEntry] = &[state::<Set>()];

/// All settings, with those of files that are included.
///
/// ```text
/// rocksalt '*' logrotate.show_conf
/// ```
#[function("logrotate.show_conf", reads)]
pub struct ShowConf {
    /// The file.
    #[default("/etc/logrotate.conf")]
    conf_file: String,
}

impl Function for ShowConf {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(Conf::read(machine, &self.conf_file)?.shown())
    }
}

/// The value of a setting, or of one for a log; False if there is none.
///
/// ```text
/// rocksalt '*' logrotate.get rotate
/// rocksalt '*' logrotate.get /var/log/wtmp rotate
/// ```
#[function("logrotate.get", reads)]
pub struct Get {
    /// The setting, or the log.
    key: String,
    /// The log's setting.
    value: Option<String>,
    /// The file.
    #[default("/etc/logrotate.conf")]
    conf_file: String,
}

impl Function for Get {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(Conf::read(machine, &self.conf_file)?.get(&self.key, self.value.as_deref()))
    }
}

/// Sets a setting, or one for a log.
///
/// ```text
/// rocksalt '*' logrotate.set rotate 2
/// rocksalt '*' logrotate.set /var/log/wtmp rotate 2
/// ```
#[function("logrotate.set", changes)]
pub struct SetFunction {
    /// The setting, or the log.
    key: String,
    /// The setting's value, or the log's setting.
    #[required]
    value: Value,
    /// The value of the log's setting; true for a word without one, false to remove it.
    setting: Value,
    /// The file.
    #[default("/etc/logrotate.conf")]
    conf_file: String,
}

impl Function for SetFunction {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let request = SettingRequest { key: &self.key, value: &self.value, setting: &self.setting };
        let conf = Conf::read(machine, &self.conf_file)?;
        if request.found(&conf) != request.wanted() {
            let (path, text) = request.text(&conf)?;
            let real = followed(machine, Path::new(&path));
            machine.write(&real, text.as_bytes(), None).map_err(|error| Error::io("write", &path, &error))?;
        }
        Ok(true)
    }
}

/// Makes sure that a setting, or one for a log, has a value.
///
/// ```yaml
/// keep four:
///   logrotate.set:
///     - key: /var/log/wtmp
///     - value: rotate
///     - setting: 4
/// ```
#[state("logrotate.set", strict, required("key", "value"))]
pub struct Set {
    /// A name for the step; it has no other meaning.
    #[allow(dead_code, reason = "it means nothing")]
    name: String,
    /// The setting, or the log.
    key: String,
    /// The setting's value, or the log's setting.
    #[required]
    value: Value,
    /// The value of the log's setting; true for a word without one, false to remove it.
    setting: Value,
    /// The file.
    #[default("/etc/logrotate.conf")]
    conf_file: String,
}

impl State for Set {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let request = SettingRequest { key: &self.key, value: &self.value, setting: &self.setting };
        let conf = match Conf::read(machine, &self.conf_file) {
            Ok(conf) => conf,
            // An earlier step may install the package.
            Err(error) if step.test => return Ok(Decision::Settled(Verdict::would(error.to_string()))),
            Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
        };
        let (old, new) = (request.found(&conf), request.wanted());
        let (which, what) = match self.setting.is_null() {
            true => (format!("Command '{}'", self.key), format!("command '{}'", self.key)),
            false => (
                format!("Block '{}' command '{}'", self.key, self.value),
                format!("block '{}' command '{}'", self.key, self.value),
            ),
        };
        if old == new {
            return Ok(Decision::Settled(Verdict::good(format!("{which} already has value: {new}"))));
        }
        let changes = super::change(old, new.clone());
        let (path, text) = request.text(&conf)?;
        let path = followed(machine, Path::new(&path)).to_string_lossy().into_owned();
        let done = Verdict::good(format!("Set {what} value: {new}")).changes(changes.clone());
        let plan =
            Plan::brief(done).then(Action::Write { path, content: text.into_bytes(), mode: None, parents: false });
        Ok(Decision::Change(plan, Verdict::would(format!("{which} will be set to value: {new}")).changes(changes)))
    }

    fn touches(&self) -> Touches {
        let touches = Touches::nothing().writes(Thing::Path(self.conf_file.clone()));
        touches.writes(Thing::Path("/etc/logrotate.d".into()))
    }
}

/// A setting, or one of a log's block, as requested from the function and the state.
struct SettingRequest<'a> {
    key: &'a str,
    value: &'a Value,
    setting: &'a Value,
}

impl SettingRequest<'_> {
    fn wanted(&self) -> Value {
        number(if self.setting.is_null() { self.value } else { self.setting })
    }

    fn found(&self, conf: &Conf) -> Value {
        match self.setting.is_null() {
            true => conf.get(self.key, None),
            false => conf.get(self.key, Some(&self.value.to_string())),
        }
    }

    fn text(&self, conf: &Conf) -> Result<(String, String)> {
        let odd = |text: &str| text.is_empty() || text.contains(['\n', '\r', '{', '}']);
        if [self.key, &self.value.to_string(), &self.wanted().to_string()].into_iter().any(odd) {
            return Err(Error::arguments("a setting of logrotate is one line, and not empty"));
        }
        match self.setting.is_null() {
            true => conf.set(self.key, &self.wanted()),
            false => conf.set_in(self.key, &self.value.to_string(), &self.wanted()),
        }
    }
}
