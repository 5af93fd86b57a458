//! `file.serialize`: writes data to a file.

use std::path::Path;

use rocksalt_core::merge::{Strategy, merge_maps};
use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::contents::lookup;
use super::difference::Ignored;
use super::install::FileInstall;
use super::permissions::{self, PermissionsSpec};
use super::{Decision, Flag, State, Step, Touches, Verdict, backup, encoding, look, writes};
use crate::Result;
use crate::machine::Probe;
use crate::text::serialize;

/// Makes sure that a file holds data, written as YAML, JSON or the like.
///
/// ```yaml
/// /etc/dummy/package.json:
///   file.serialize:
///     - dataset:
///         name: naive
///         engine: node 0.4.1
///     - serializer: json
///     - merge_if_exists: True
/// ```
#[state("file.serialize")]
pub struct Serialize {
    /// The file's path.
    name: String,
    /// The data.
    dataset: Value,
    /// The path of the data in the pillar.
    dataset_pillar: Option<String>,
    /// The user it belongs to.
    user: Value,
    /// The group it belongs to.
    group: Value,
    /// Its mode in octal digits.
    mode: Value,
    /// `minion` keeps the old content in the target's cache.
    backup: Value,
    /// Create parent directories.
    makedirs: Flag,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    show_changes: Flag,
    /// Create the file if it doesn't exist.
    #[default(true)]
    create: Flag,
    /// Keep what the file has and the data doesn't.
    merge_if_exists: Flag,
    /// The file's encoding; UTF-8 by default.
    encoding: Option<String>,
    /// What to do about letters that it lacks: `strict`, `ignore`, `replace` …
    encoding_errors: Option<String>,
    /// `yaml`, `json`, `configparser`, `toml`.
    serializer: Option<String>,
    /// The same as `serializer`.
    formatter: Option<String>,
    /// Options of the serializer: `indent`, `sort_keys` …
    serializer_opts: Value,
    /// Accepted for compatibility with Salt; there are none.
    deserializer_opts: Value,
    /// A command that must accept the new content; its file's name is added.
    check_cmd: Value,
    /// Where it finds the new content.
    tmp_dir: Option<String>,
    /// How the name of that file ends.
    tmp_ext: Option<String>,
}

impl State for Serialize {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let mut decision = self.decide(machine, step).unwrap_or_else(Decision::Settled);
        if self.deserializer_opts.truth() && !self.merge_if_exists {
            let text = "The 'deserializer_opts' option is ignored unless merge_if_exists is set to True.";
            let verdicts = match &mut decision {
                Decision::Settled(verdict) => vec![verdict],
                Decision::Change(plan, verdict) => vec![&mut plan.done, verdict],
            };
            verdicts.into_iter().for_each(|verdict| verdict.warnings.push(text.into()));
        }
        Ok(decision)
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Serialize {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.serialize"));
        }
        if !self.create && !look::is_file(machine, &name) {
            return Err(Verdict::good(format!("File {name} is not present and is not set for creation")));
        }
        if self.serializer.is_some() && self.formatter.is_some() {
            return Err(Verdict::bad("Only one of serializer and formatter are allowed"));
        }
        let format = self.serializer.as_deref().or(self.formatter.as_deref()).unwrap_or("yaml").to_lowercase();
        let dataset = self.data(machine)?;
        if !serialize::FORMATS.contains(&&*format) {
            return Err(Verdict::bad(format!(
                "The {format} serializer could not be found. It either does not exist or its prerequisites are not \
                 installed."
            )));
        }
        let (dataset, merged) = self.merged(machine, &name, &format, dataset)?;
        let content = self.content(&format, &dataset)?;
        if let Some(fault) = permissions::check_owners(machine, &self.user, &self.group, step.test) {
            return Err(Verdict::bad(fault));
        }
        let install = FileInstall {
            name: &name,
            content: Some(content),
            from_source: false,
            request: PermissionsSpec {
                user: self.user.clone(),
                group: self.group.clone(),
                mode: permissions::mode(&self.mode),
                follow: true,
                ..PermissionsSpec::default()
            },
            makedirs: self.makedirs.0,
            dir_mode: None,
            backup: backup::wanted(machine, &self.backup),
            show_changes: self.show_changes.0,
            new_file_diff: false,
            ignored: Ignored::default(),
            check: self
                .check_cmd
                .truth()
                .then(|| (self.check_cmd.to_string(), self.tmp_dir.clone(), self.tmp_ext.clone().unwrap_or_default())),
        };
        Ok(self.worded(install.decide(machine, step.test), &name, merged, step.test))
    }

    fn data(&self, machine: &dyn Probe) -> Result<Value, Verdict> {
        let path = self.dataset_pillar.as_deref().filter(|path| !path.is_empty());
        if self.dataset.truth() && path.is_some() {
            return Err(Verdict::bad("Only one of 'dataset' and 'dataset_pillar' is permitted"));
        }
        if let Some(path) = path {
            let pillar = machine.pillar().map_err(|error| Verdict::bad(error.to_string()))?;
            return Ok(lookup(&pillar, path, ":").cloned().unwrap_or_else(|| "".into()));
        }
        if self.dataset.is_null() {
            return Err(Verdict::bad("Neither 'dataset' nor 'dataset_pillar' was defined"));
        }
        Ok(self.dataset.clone())
    }

    /// The data as the file's bytes.
    fn content(&self, format: &str, dataset: &Value) -> Result<Vec<u8>, Verdict> {
        let text = serialize::serialize(format, dataset, &self.options(format));
        let text = text.map_err(|text| Verdict::bad(format!("Failed to serialize the data: {text}")))? + "\n";
        match self.encoding.as_deref().filter(|encoding| !encoding.is_empty()) {
            Some(encoding) => encoding::encode(&text, encoding, self.encoding_errors.as_deref().unwrap_or("strict"))
                .map_err(|text| Verdict::bad(format!("Unable to manage file: {text}"))),
            None => Ok(text.into_bytes()),
        }
    }

    fn options(&self, format: &str) -> Map {
        let mut options = usual(format);
        if self.encoding.is_some() && format == "yaml" {
            options.insert("allow_unicode", true);
        }
        // As in Salt, only a list of maps with one key each is valid.
        for map in self.serializer_opts.as_list().unwrap_or_default().iter().filter_map(Value::as_map) {
            options.extend(map.clone());
        }
        options
    }

    /// The data merged with that of the file, and the difference.
    fn merged(
        &self,
        machine: &dyn Probe,
        name: &str,
        format: &str,
        dataset: Value,
    ) -> Result<(Value, Option<Map>), Verdict> {
        if !self.merge_if_exists || !look::is_file(machine, name) {
            return Ok((dataset, None));
        }
        let content = machine
            .read(Path::new(name))
            .map_err(|error| Verdict::bad(crate::catalog::plan::errno_text(&error, name)))?;
        let existing = serialize::deserialize(format, &String::from_utf8_lossy(&content)).map_err(|error| {
            Verdict::bad(match error {
                serialize::Error::OnlyWritten => {
                    format!("merge_if_exists is not supported for the {format} serializer")
                }
                error => format!("Failed to deserialize existing data: {error}"),
            })
        })?;
        if existing.is_null() {
            return Ok((dataset, None));
        }
        let merged = match (&existing, dataset) {
            (Value::Map(old), Value::Map(new)) => merge_maps(old.clone(), new, Strategy::Recurse, false).into(),
            (_, new) => new,
        };
        if merged == existing {
            let text = format!("The file {name} is in the correct state");
            return Err(Verdict::good(text).output("path", name));
        }
        let changes = match (&existing, &merged) {
            (Value::Map(old), Value::Map(new)) => Some(changes(old, new)),
            _ => None,
        };
        Ok((merged, changes))
    }

    /// The decision in the words of this state, with the difference of the data for that of the text.
    fn worded(&self, decision: Decision, name: &str, merged: Option<Map>, test: bool) -> Decision {
        let settled = format!("The file {name} is in the correct state");
        match decision {
            Decision::Settled(verdict) if test && verdict.result == Some(true) => {
                Decision::Settled(Verdict { comment: settled, ..verdict })
            }
            Decision::Settled(verdict) => Decision::Settled(verdict),
            Decision::Change(mut plan, mut would) => {
                would.comment = match would.changes.is_empty() {
                    true => settled,
                    false => format!("Dataset will be serialized and stored into {name}"),
                };
                if !would.changes.is_empty() && !self.show_changes {
                    would.changes.insert("diff", super::difference::HIDDEN);
                } else if let Some(difference) = merged {
                    plan.done.changes.insert("diff", difference.clone());
                    would.changes.insert("diff", difference);
                }
                Decision::Change(plan, would)
            }
        }
    }
}

/// Salt's default options for a serializer.
fn usual(format: &str) -> Map {
    let mut options = Map::new();
    match format {
        "json" => {
            options.insert("indent", 2i64);
            options.insert("separators", vec![Value::from(","), ": ".into()]);
            options.insert("sort_keys", true);
        }
        "yaml" => drop(options.insert("default_flow_style", false)),
        _ => {}
    }
    options
}

fn changes(old: &Map, new: &Map) -> Map {
    let mut changes = Map::new();
    for (key, value) in new.iter() {
        match (old.get_value(key), value) {
            (Some(known), value) if known == value => {}
            (Some(Value::Map(old)), Value::Map(new)) => {
                changes.insert(key.clone(), self::changes(old, new));
            }
            (known, value) => {
                let known = known.cloned().unwrap_or_else(|| "<_null_>".into());
                changes.insert(key.clone(), Map::from_iter([("new".into(), value.clone()), ("old".into(), known)]));
            }
        }
    }
    changes
}
