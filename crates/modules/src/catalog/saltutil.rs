//! `saltutil`: the running calls of a target, and refreshing its caches.

use rocksalt_core::frame::Ask;
use rocksalt_core::{JobId, Map, Value};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry, publish};
use crate::machine::{ActiveCall, StopSignal, System};
use crate::text::glob;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<ClearCache>(),
    entry::<Cmd>(),
    entry::<FindJob>(),
    entry::<IsRunning>(),
    entry::<KillAllJobs>(),
    entry::<KillJob>(),
    entry::<ListExtmods>(),
    entry::<RefreshGrains>(),
    entry::<RefreshModules>(),
    entry::<RefreshPillar>(),
    entry::<RunningJobs>(),
    entry::<SignalJob>(),
    entry::<SyncAll>(),
    entry::<Sync>(),
    entry::<TermAllJobs>(),
    entry::<TermJob>(),
];

/// The calls that run on the target now.
///
/// ```text
/// rocksalt '*' saltutil.running
/// ```
#[function("saltutil.running", reads, repeatable, about_jobs, small)]
pub struct RunningJobs {}

impl Function for RunningJobs {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        Ok(others(machine).iter().map(shown).collect())
    }
}

/// The calls of a function that run on the target now.
///
/// ```text
/// rocksalt '*' saltutil.is_running state.highstate
/// ```
#[function("saltutil.is_running", reads, repeatable, about_jobs, small)]
pub struct IsRunning {
    /// The function's name; may be a shell pattern.
    fun: String,
}

impl Function for IsRunning {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        Ok(others(machine).iter().filter(|running| glob::matches(&self.fun, &running.function)).map(shown).collect())
    }
}

/// The call of a job that runs on the target; an empty map if there is none.
///
/// ```text
/// rocksalt '*' saltutil.find_job 20260131093000123456
/// ```
#[function("saltutil.find_job", reads, repeatable, about_jobs, small)]
pub struct FindJob {
    /// The job's id.
    jid: String,
}

impl Function for FindJob {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let job = job(&self.jid)?;
        Ok(others(machine).iter().find(|running| running.job == Some(job)).map(shown).unwrap_or_default())
    }
}

/// Terminates the call of a job (SIGTERM).
///
/// ```text
/// rocksalt '*' saltutil.term_job 20260131093000123456
/// ```
#[function("saltutil.term_job", changes, about_jobs, small)]
pub struct TermJob {
    /// The job's id.
    jid: String,
}

impl Function for TermJob {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        stop(machine, &self.jid, StopSignal::Term)
    }
}

/// Kills the call of a job (SIGKILL).
///
/// ```text
/// rocksalt '*' saltutil.kill_job 20260131093000123456
/// ```
#[function("saltutil.kill_job", changes, about_jobs, small)]
pub struct KillJob {
    /// The job's id.
    jid: String,
}

impl Function for KillJob {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        stop(machine, &self.jid, StopSignal::Kill)
    }
}

/// Sends a signal to the call of a job.
///
/// ```text
/// rocksalt '*' saltutil.signal_job 20260131093000123456 15
/// ```
#[function("saltutil.signal_job", changes, about_jobs, small)]
pub struct SignalJob {
    /// The job's id.
    jid: String,
    /// 9 or 15, or its name.
    sig: String,
}

impl Function for SignalJob {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let how = match self.sig.to_ascii_uppercase().trim_start_matches("SIG") {
            "9" | "KILL" => StopSignal::Kill,
            "15" | "TERM" => StopSignal::Term,
            _ => {
                return Err(Error::arguments(format!("a call can't be sent the signal {}", self.sig))
                    .hint("known are 15 (TERM) and 9 (KILL)"));
            }
        };
        stop(machine, &self.jid, how)
    }
}

/// Terminates all calls that run on the target (SIGTERM).
///
/// ```text
/// rocksalt '*' saltutil.term_all_jobs
/// ```
#[function("saltutil.term_all_jobs", changes, about_jobs, small)]
pub struct TermAllJobs {}

impl Function for TermAllJobs {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let jobs = others(machine).into_iter().filter_map(|running| running.job);
        jobs.map(|job| stop(machine, job.as_str(), StopSignal::Term)).collect()
    }
}

/// Kills all calls that run on the target (SIGKILL).
///
/// ```text
/// rocksalt '*' saltutil.kill_all_jobs
/// ```
#[function("saltutil.kill_all_jobs", changes, about_jobs, small)]
pub struct KillAllJobs {}

impl Function for KillAllJobs {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let jobs = others(machine).into_iter().filter_map(|running| running.job);
        jobs.map(|job| stop(machine, job.as_str(), StopSignal::Kill)).collect()
    }
}

/// Gathers the target's grains again.
///
/// ```text
/// rocksalt '*' saltutil.refresh_grains
/// ```
#[function("saltutil.refresh_grains", changes)]
pub struct RefreshGrains {
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for RefreshGrains {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        machine.refresh_grains();
        Ok(true)
    }
}

/// Returns `True`: functions are part of the program and never stale.
///
/// ```text
/// rocksalt '*' saltutil.refresh_modules
/// ```
#[function("saltutil.refresh_modules", changes, also("saltutil.refresh_beacons", "saltutil.refresh_matchers"))]
pub struct RefreshModules {
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for RefreshModules {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Returns `True`: the target doesn't cache the pillar.
///
/// ```text
/// rocksalt '*' saltutil.refresh_pillar
/// ```
#[function("saltutil.refresh_pillar", changes, also("saltutil.pillar_refresh"))]
pub struct RefreshPillar {
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    wait: bool,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    timeout: Value,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    clean_cache: Value,
}

impl Function for RefreshPillar {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// The external modules, of which there are none.
///
/// ```text
/// rocksalt '*' saltutil.list_extmods
/// ```
#[function("saltutil.list_extmods", reads)]
pub struct ListExtmods {}

impl Function for ListExtmods {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Ok(Map::new())
    }
}

/// Returns what was synchronised: nothing, since nothing has to be sent to targets.
///
/// ```text
/// rocksalt '*' saltutil.sync_modules
/// ```
#[function(
    "saltutil.sync_modules",
    changes,
    also(
        "saltutil.sync_beacons",
        "saltutil.sync_clouds",
        "saltutil.sync_engines",
        "saltutil.sync_executors",
        "saltutil.sync_grains",
        "saltutil.sync_log_handlers",
        "saltutil.sync_matchers",
        "saltutil.sync_output",
        "saltutil.sync_pillar",
        "saltutil.sync_proxymodules",
        "saltutil.sync_renderers",
        "saltutil.sync_returners",
        "saltutil.sync_sdb",
        "saltutil.sync_serializers",
        "saltutil.sync_states",
        "saltutil.sync_thorium",
        "saltutil.sync_tops",
        "saltutil.sync_utils",
        "saltutil.sync_wrapper"
    )
)]
pub struct Sync {
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    saltenv: Value,
    /// Gather the grains again.
    #[default(true)]
    refresh: bool,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    extmod_whitelist: Value,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    extmod_blacklist: Value,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    clean_pillar_cache: bool,
}

impl Function for Sync {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        if self.refresh {
            machine.refresh_grains();
        }
        Ok(Vec::new())
    }
}

/// Returns what was synchronised: nothing of any kind, since nothing has to be sent to targets.
///
/// ```text
/// rocksalt '*' saltutil.sync_all
/// ```
#[function("saltutil.sync_all", changes)]
pub struct SyncAll {
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    saltenv: Value,
    /// Gather the grains again.
    #[default(true)]
    refresh: bool,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    extmod_whitelist: Value,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    extmod_blacklist: Value,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    clean_pillar_cache: bool,
}

impl Function for SyncAll {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        if self.refresh {
            machine.refresh_grains();
        }
        Ok(KINDS.iter().map(|kind| ((*kind).into(), Value::List(Vec::new()))).collect())
    }
}

/// Removes the target's cache.
///
/// ```text
/// rocksalt '*' saltutil.clear_cache
/// ```
#[function("saltutil.clear_cache", changes)]
pub struct ClearCache {}

impl Function for ClearCache {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let place = super::cp::directory(machine);
        for name in machine.list(&place).unwrap_or_default() {
            let path = place.join(name);
            machine.remove(&path).map_err(|error| Error::io("remove", &path, &error))?;
        }
        Ok(true)
    }
}

/// Runs a function on other targets, if the controller's rules for peers allow it.
///
/// ```text
/// rocksalt '*' saltutil.cmd 'web*' test.ping
/// rocksalt '*' saltutil.cmd 'web*' cmd.run '[uptime]' timeout=10
/// ```
#[function("saltutil.cmd", changes)]
pub struct Cmd {
    /// Which targets.
    tgt: String,
    /// The function.
    fun: String,
    /// Its arguments by position.
    arg: Value,
    /// How long to wait, in seconds.
    timeout: Option<u32>,
    /// What kind of target expression it is.
    #[default("glob")]
    tgt_type: String,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    ret: Value,
    /// Its arguments by name.
    kwarg: Option<Map>,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    ssh: bool,
}

impl Function for Cmd {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let mut call = publish::call(&self.fun, &self.arg)?;
        call.kwargs.extend(self.kwarg.unwrap_or_default());
        let timeout = self.timeout.unwrap_or(publish::PATIENCE);
        machine.controller().ask(Ask::Publish {
            target: self.tgt,
            target_type: self.tgt_type,
            call: Box::new(call),
            timeout,
        })
    }
}

/// The kinds of extensions that Salt knows.
const KINDS: [&str; 20] = [
    "beacons",
    "clouds",
    "engines",
    "executors",
    "grains",
    "log_handlers",
    "matchers",
    "modules",
    "output",
    "pillar",
    "proxymodules",
    "renderers",
    "returners",
    "sdb",
    "serializers",
    "states",
    "thorium",
    "tops",
    "utils",
    "wrapper",
];

/// The running calls without those of `saltutil`, which would always list themselves.
fn others(machine: &dyn System) -> Vec<ActiveCall> {
    machine.running().into_iter().filter(|running| !running.function.starts_with("saltutil.")).collect()
}

fn shown(running: &ActiveCall) -> Map {
    let mut map = Map::new();
    map.insert("jid", running.job.map_or(Value::Null, |job| job.as_str().into()));
    map.insert("fun", running.function.as_str());
    map.insert("arg", running.args.clone());
    map.insert("pid", std::process::id());
    map.insert("since", running.since);
    map
}

fn job(text: &str) -> Result<JobId> {
    text.trim().parse().map_err(|error: rocksalt_core::job_id::Error| Error::arguments(error.to_string()))
}

/// Salt's text about the stopped call; empty if nothing ran.
fn stop(machine: &dyn System, jid: &str, how: StopSignal) -> Result<String> {
    let job = job(jid)?;
    let number = if how == StopSignal::Kill { 9 } else { 15 };
    Ok(match machine.stop(job, how) {
        true => format!("Signal {number} sent to job {job} at pid {}", std::process::id()),
        false => String::new(),
    })
}
