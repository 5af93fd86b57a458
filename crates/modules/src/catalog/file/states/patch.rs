//! `file.patch`: applies a patch.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::contents::{self, variables};
use super::source::{self, Proof};
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::catalog::cmd::which;
use crate::machine::{Command, Output, Probe};
use crate::text::words;

/// Applies a patch to a file or a directory, unless that was done before. Needs the program `patch`.
///
/// ```yaml
/// /opt/myfile.txt:
///   file.patch:
///     - source: salt://myfile.patch
/// ```
#[state("file.patch")]
pub struct Patch {
    /// The file or directory.
    name: String,
    /// Where the patch comes from: `salt://…`, `http(s)://…` or a path; of a list, the first that there is.
    source: Value,
    /// The hash that a patch from elsewhere must have.
    source_hash: Value,
    /// The name to look for in a list of hashes.
    source_hash_name: Option<String>,
    /// Take a patch from elsewhere without a hash.
    skip_verify: Flag,
    /// `jinja` if the patch is a template.
    template: Option<String>,
    /// Variables of the template.
    context: Value,
    /// Variables of the template that `context` doesn't name.
    defaults: Value,
    /// More options of `patch`.
    options: Option<String>,
    /// Accepted for compatibility with Salt: a patch that doesn't fit changes nothing at all.
    reject_file: Option<String>,
    /// How many directories to strip off the names in the patch; for directories.
    strip: Option<u32>,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

impl State for Patch {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        super::reading(writes(&self.name), &self.source)
    }
}

impl Patch {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        match () {
            () if name.is_empty() => return Err(Verdict::bad("A file/directory to be patched is required")),
            () if !look::is_absolute(&name) => return Err(Verdict::bad(format!("{name} is not an absolute path"))),
            () if !look::exists(machine, &name) => return Err(Verdict::bad(format!("{name} does not exist"))),
            () => {}
        }
        if let Some(reject) = &self.reject_file {
            if !look::is_absolute(reject) {
                return Err(Verdict::bad(format!("'{reject}' is not an absolute path")));
            }
            if !look::is_directory(machine, look::above(reject)) {
                return Err(Verdict::bad(format!(
                    "Parent directory for reject_file '{reject}' either does not exist, or is not a directory"
                )));
            }
        }
        let (options, strip) = self.options()?;
        let patch = self.patch(machine, step)?;
        let is_directory = look::is_directory(machine, &name);
        let program = which(machine, "patch").ok_or_else(|| Verdict::bad("patch executable not found on minion"))?;
        let argv = |more: &[&str]| {
            // The full path, because the program's messages contain it.
            let mut argv = vec![program.to_string_lossy().into_owned()];
            argv.extend(options.iter().cloned());
            argv.extend(more.iter().map(|word| (*word).to_owned()));
            argv.push("--reject-file=-".to_owned());
            match is_directory {
                true => argv.extend(["-d".to_owned(), name.clone(), format!("--strip={}", strip.unwrap_or(0))]),
                false => argv.push(name.clone()),
            }
            argv
        };
        let look_with = |more: &[&str]| {
            let command = Command { stdin: Some(patch.clone()), ..Command::new(argv(more)) };
            machine.query(&command).map_err(|_| Verdict::bad("patch executable not found on minion"))
        };
        let forward = look_with(&["--forward", "--dry-run"])?;
        if !forward.success() {
            let backward = look_with(&["-R", "-f", "--dry-run"])?;
            if backward.success() {
                return Err(Verdict::good("Patch was already applied").output("path", name));
            }
            let stderr = String::from_utf8_lossy(&forward.stderr);
            if forward.code == 2 && !stderr.trim().is_empty() {
                return Err(Verdict::bad(stderr.trim_end()));
            }
            return Err(Verdict::bad(self.unfit(&forward)));
        }
        let changes = shown(&forward);
        let would = Verdict::would("The patch would be applied").changes(changes.clone());
        let done = Verdict::good("Patch successfully applied").changes(changes).output("path", name.as_str());
        let plan = Plan::brief(done).or("Failed to apply patch: ");
        let command = Command { stdin: Some(patch.clone()), ..Command::new(argv(&["--forward"])) };
        Ok(Decision::Change(plan.then(Action::Run(command)), would))
    }

    /// The user's options without the ones that we set, and the number of parts to strip.
    fn options(&self) -> Result<(Vec<String>, Option<u32>), Verdict> {
        let given = words::split(self.options.as_deref().unwrap_or_default()).map_err(Verdict::bad)?;
        let mut strip = self.strip;
        let (mut kept, mut forbidden) = (Vec::new(), Vec::new());
        let mut rest = given.into_iter();
        while let Some(option) = rest.next() {
            let ours = ["-N", "--forward", "-r", "--reject-file", "-o", "--output"];
            let wrong = |name: &str| {
                Verdict::bad(format!(
                    "Invalid format for '{name}' CLI option. Consider using the 'strip' option for this state."
                ))
            };
            if ours.iter().any(|ours| option.starts_with(ours)) {
                forbidden.push(option);
            } else if let Some(number) = option.strip_prefix("-p") {
                strip = Some(number.parse().map_err(|_| wrong("-p"))?);
            } else if let Some(number) = option.strip_prefix("--strip") {
                let next = if number.is_empty() { rest.next() } else { None };
                let number = next.unwrap_or_else(|| number.trim_start_matches('=').to_owned());
                strip = Some(number.parse().map_err(|_| wrong("-strip"))?);
            } else {
                kept.push(option);
            }
        }
        if !forbidden.is_empty() {
            let text = format!("The following CLI options are not allowed: {}", forbidden.join(", "));
            return Err(Verdict::bad(text));
        }
        Ok((kept, strip))
    }

    fn patch(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Vec<u8>, Verdict> {
        let saltenv = self.saltenv.as_deref().unwrap_or(step.saltenv);
        let hash = if self.source_hash.truth() { self.source_hash.to_string() } else { String::new() };
        let (chosen, hash) = source::choose(machine, &self.source, &hash, saltenv).map_err(Verdict::bad)?;
        let proof = Proof {
            source_hash: &hash,
            source_hash_name: self.source_hash_name.as_deref(),
            skip_verify: self.skip_verify.0,
            dry: false,
            name: &self.name,
        };
        let unable = |text: String| Verdict::bad(format!("Unable to manage file: {text}"));
        let found = source::fetch(machine, &chosen, saltenv, &proof).map_err(|unfit| unable(unfit.text))?;
        let Some(renderer) = self.template.as_deref().filter(|renderer| !renderer.is_empty()) else {
            return Ok(found.bytes.to_vec());
        };
        let text = String::from_utf8_lossy(&found.bytes);
        let context = variables(&self.defaults, &self.context);
        contents::render(machine, renderer, &text, &chosen, saltenv, context).map(String::into_bytes).map_err(unable)
    }

    fn unfit(&self, output: &Output) -> String {
        let mut text = String::from("Patch would not apply cleanly, no changes made. Results of dry-run are below.");
        if self.reject_file.is_none() {
            text.push_str(" Run state again using the reject_file option to save rejects to a persistent file.");
        }
        text.push_str(&format!("\n\n{}", output.text().trim_end()));
        text
    }
}

/// The output of the real run, derived from that of the dry run.
fn shown(output: &Output) -> Map {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().replace("checking file", "patching file");
    Map::from_iter([
        ("pid".into(), output.pid.into()),
        ("retcode".into(), output.code.into()),
        ("stdout".into(), text(&output.stdout).into()),
        ("stderr".into(), text(&output.stderr).into()),
    ])
}
