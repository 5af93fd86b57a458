//! [`ThisMachine`]: the machine that the command runs on, as a target like any other.

use std::process::ExitCode;
use std::sync::Arc;

use rocksalt_connect::links::LocalLinks;
use rocksalt_connect::pool::{Limits, Pool};
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::link::LinkFailure;
use rocksalt_core::record::TargetOutcome;
use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::target::TargetKind;
use rocksalt_core::{Call, Map, Return, Value, json, yaml};

use crate::commands::Context;
use crate::failure::Failure;
use crate::job_follower::print_warning;
use crate::local_controller::{LocalController, LocalJobOptions};
use crate::printing::ResultPrinter;
use crate::prompt::Terminal;

pub struct ThisMachine {
    pub local: LocalController,
    pub entry: RosterEntry,
    /// Replaces the machine's own grains.
    pub grains: Option<Map>,
}

/// Keys of the configuration that are about reaching other machines, so the target does not get them.
const NOT_MINE: [&str; 5] = ["roster", "roster_file", "roster_defaults", "peer", "links_max"];

impl ThisMachine {
    /// `id` takes precedence over the configuration, and that over the host name.
    pub fn open(context: &Context, id: Option<String>) -> Result<ThisMachine, Failure> {
        // Salt prints this machine's results under the name `local`, whatever its id.
        let mut entry = RosterEntry::new("local", "localhost");
        entry.transport = "local".into();
        entry.origin = "this machine".into();
        let mine = context.config.values().iter().filter(|(key, _)| !NOT_MINE.contains(&&*key.to_string()));
        entry.options.extend(mine.map(|(key, value)| (key.clone(), value.clone())));
        if let Some(directory) = context.config.directory.as_ref().filter(|_| !entry.options.contains_key("config_dir"))
        {
            entry.options.insert("config_dir", directory.display().to_string());
        }
        let grains = context.common.grains.as_deref().map(read_grains).transpose()?;
        let given = grains.as_ref().and_then(|grains| grains.get("id")).map(ToString::to_string);
        let id = id.or_else(|| context.config.text("id")).or(given);
        entry.options.insert("id", id.unwrap_or_else(|| context.environment.local_user.hostname.clone()));
        let links = LocalLinks {
            pool: Arc::new(Pool::new(crate::agents::load(), &context.environment.local_user, Limits::default())),
            prompt: Arc::new(Terminal::default()),
            agent_socket: None,
        };
        let roster = Roster { entries: vec![entry.clone()], nodegroups: Vec::new() };
        let local = LocalController::with(context, roster, Arc::new(links))?;
        Ok(ThisMachine { local, entry, grains })
    }

    /// Runs a call and prints its result.
    pub async fn print_call(
        &self,
        call: &Call,
        options: JobOptions,
        printer: ResultPrinter,
    ) -> Result<ExitCode, Failure> {
        self.local.run_job(RunRequest { options, ..self.request(call) }, self.job_options(), printer).await
    }

    /// Runs a call and returns its result without printing it.
    pub async fn call(&self, call: &Call) -> Result<Return, Failure> {
        let mut job = self.local.start_job(self.request(call), self.job_options()).await?;
        let mut outcome = None;
        while let Some(update) = job.updates.recv().await {
            match update {
                JobUpdate::Done(record) => outcome = Some(record.outcome),
                JobUpdate::Warning { target, text, hint } => print_warning(&target, &text, hint.as_deref()),
                JobUpdate::Note { text, .. } => eprintln!("{}", crate::output::clean(&text)),
                JobUpdate::Ended(_) => break,
                _ => {}
            }
        }
        match outcome {
            Some(TargetOutcome::Returned(result)) => Ok(result),
            Some(TargetOutcome::Unreached { stage, text, hint }) => {
                Err(LinkFailure { hint, ..LinkFailure::new(stage, text) }.into())
            }
            Some(TargetOutcome::Skipped(why) | TargetOutcome::Lost(why)) => Err(Failure::usage(why)),
            None => Err(Failure::usage("there was no result")),
        }
    }

    fn request(&self, call: &Call) -> RunRequest {
        RunRequest {
            target: self.entry.id.clone(),
            target_kind: TargetKind::List.name().to_owned(),
            ..RunRequest::of(call)
        }
    }

    fn job_options(&self) -> LocalJobOptions {
        LocalJobOptions { grains: self.grains.clone(), ..LocalJobOptions::default() }
    }
}

/// Reads grains from JSON or YAML.
fn read_grains(path: &std::path::Path) -> Result<Map, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("can't read the grains {}: {error}", path.display())))?;
    let value = match json::parse(&text) {
        Ok(value) => value,
        Err(_) => yaml::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?,
    };
    // The output of `grains.items --out json` contains the grains below the target's id.
    let value = match value {
        Value::Map(map) if map.len() == 1 && !map.contains_key("id") => {
            let below = map.values().next().filter(|below| below.as_map().is_some()).cloned();
            below.unwrap_or(Value::Map(map))
        }
        other => other,
    };
    match value {
        Value::Map(grains) => Ok(grains),
        other => Err(Failure::usage(format!("{}: grains are a map, not {}", path.display(), other.kind()))
            .hint("`rocksalt call grains.items --out json` shows this machine's")),
    }
}
