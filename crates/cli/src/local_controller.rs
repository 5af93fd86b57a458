//! [`LocalController`]: the controller in the process of a command, for jobs that no daemon runs.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_backends::files;
use rocksalt_backends::pillar::{DirectoryCompiler, ExternalPillars, Settings, kinds};
use rocksalt_connect::links::Links;
use rocksalt_controller::execution::AnswersFor;
use rocksalt_controller::grains_cache::GrainsCache;
use rocksalt_controller::jobs::{self, JobService, SelectedTargets, StartOptions, select_targets};
use rocksalt_controller::peer::Rules;
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_controller::select::TargetSelector;
use rocksalt_controller::spool::{Spool, SpoolRecords};
use rocksalt_controller::{Controller, Receive};
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::link::{AgentKind, LinkFailure, Stage};
use rocksalt_core::record::{Account, JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::Roster;
use rocksalt_core::target::{Nodegroups, TargetKind};
use rocksalt_core::{Map, Return, Value};
use tokio::sync::mpsc;

use crate::commands::Context;
use crate::config::Config;
use crate::failure::Failure;
use crate::job_follower::{JobControl, JobUpdates, print_job};
use crate::job_summary::JobSummary;
use crate::printing::ResultPrinter;
use crate::progress_line::ProgressLine;
use crate::{keeper, roster, times};

pub struct LocalController {
    pub controller: Arc<Controller>,
    /// This machine's name, for the records.
    hostname: String,
}

impl LocalController {
    /// Reads the roster and prepares the links; does not connect yet.
    pub async fn open(context: Context) -> Result<LocalController, Failure> {
        let roster = roster::load(&context.common.roster, &context.config, &context.environment).await?;
        let links = keeper::links(&context.environment, &context.config).await?;
        LocalController::with(&context, roster, links)
    }

    pub fn with(context: &Context, roster: Roster, links: Arc<dyn Links>) -> Result<LocalController, Failure> {
        let config = &context.config;
        let mut nodegroups = match config.get("nodegroups") {
            Some(value) => Nodegroups::from_value(value).map_err(|error| Failure::caused(&error))?,
            None => Nodegroups::new(),
        };
        for (name, text) in &roster.nodegroups {
            nodegroups.insert(name, text);
        }
        let cache = config.text("cache_dir").map(|path| config.path(&path, &context.environment));
        let cache = cache.unwrap_or_else(|| context.environment.cache_dir.clone());
        let fresh = Duration::from_secs(config.number("grains_cache_seconds")?.unwrap_or(86_400));
        let receive = config.flag("file_recv")?.then_some(Receive {
            directory: cache.join("minions"),
            most: config.number("file_recv_max_size")?.unwrap_or(100) * 1_000_000,
        });
        let files = files::open("roots", &config.roots("file_roots", &context.environment)?);
        let pillar = pillar(context, &cache, &nodegroups, &links)?;
        let controller = Controller {
            roster,
            nodegroups,
            links,
            files: files.map_err(|error| Failure::caused(&error))?.into(),
            options: state_options(config),
            pillar,
            grains_cache: GrainsCache { directory: cache.join("grains"), fresh },
            peer: Rules::parse(&config.map("peer")?).map_err(|error| Failure::caused(&error))?,
            receive,
            agent_kind: |call| if rocksalt_catalog::is_small(call) { AgentKind::Small } else { AgentKind::Whole },
            local_answer: crate::call_check::local_answer,
            user: context.environment.local_user.name.clone(),
        };
        let hostname = context.environment.local_user.hostname.clone();
        Ok(LocalController { controller: Arc::new(controller), hostname })
    }

    /// The targets of a request. If there are none, the error lists the targets that exist.
    pub async fn select(&self, request: &RunRequest) -> Result<SelectedTargets, Failure> {
        let selected =
            select_targets(&self.controller, request, None).await.map_err(|error| Failure::caused(&error))?;
        if selected.is_empty() { Err(self.no_target(&selected.target)) } else { Ok(selected) }
    }

    fn no_target(&self, target: &TargetSelector) -> Failure {
        let ids: Vec<&str> = self.controller.roster.entries.iter().map(|entry| entry.id.as_str()).collect();
        if ids.is_empty() {
            return Failure::usage("the roster has no targets").hint("add some to it, or use --host user@address");
        }
        let near = rocksalt_core::nearest::hint(&target.text, ids.iter().copied());
        let more = if ids.len() > 8 { format!(" and {} more", ids.len() - 8) } else { String::new() };
        if target.kind == TargetKind::Glob && target.text.contains(',') {
            return Failure::usage(format!("no target fits '{}'", target.text)).hint("a list of ids needs -L");
        }
        Failure::usage(format!("no target fits '{}'{near}", target.text))
            .hint(format!("there are {}{more}; `rocksalt hosts` lists them", ids[..ids.len().min(8)].join(", ")))
    }

    /// Starts a job in this process.
    pub async fn start_job(&self, request: RunRequest, options: LocalJobOptions) -> Result<LocalJob, Failure> {
        let selected = self.select(&request).await?;
        let records = SpoolRecords::new(options.spool, times::now, self.hostname.clone());
        // A call ends with this process, so no target keeps a result for it.
        let jobs = Arc::new(JobService::with(Arc::new(records), jobs::Settings { recall: None }));
        let (observer, updates) = mpsc::unbounded_channel();
        let account = Account::local(&*self.controller.user);
        let start = StartOptions {
            account: &account,
            answers: options.answers,
            observer: Some(observer),
            no_progress: !ProgressLine::is_shown(),
            grains: options.grains,
        };
        let started = jobs.start_selected(&self.controller, request, selected, start).await;
        let record = started.map_err(|error| Failure::caused(&error))?;
        Ok(LocalJob { jobs, record, updates })
    }

    /// Prints a job until it has ended. Returns the job's exit code.
    pub async fn print_job(&self, job: LocalJob, mut printer: ResultPrinter) -> Result<ExitCode, Failure> {
        let LocalJob { jobs, record, updates } = job;
        let control = JobControl::Local(jobs, record.id);
        let text = |id: &str| self.not_in_roster(id);
        let printed = print_job(&record, JobUpdates::Local(updates), &control, &mut printer, text).await;
        if record.options.wipe {
            self.controller.links.close(&record.targets, true).await?;
        }
        printed
    }

    /// Runs a job without a record, and prints it.
    pub async fn run_job(
        &self,
        request: RunRequest,
        options: LocalJobOptions,
        printer: ResultPrinter,
    ) -> Result<ExitCode, Failure> {
        let job = self.start_job(request, options).await?;
        self.print_job(job, printer).await
    }

    /// Prints the controller's own answer for every target.
    pub async fn print_answer(
        &self,
        request: &RunRequest,
        result: &Return,
        mut printer: ResultPrinter,
    ) -> Result<ExitCode, Failure> {
        let selected = self.select(request).await?;
        let total = selected.entries.len() + selected.unknown.len() + selected.missing.len();
        let mut summary = JobSummary::of(total);
        let unknown = selected.unknown.into_iter().map(|(entry, failure)| (entry.id, failure.into()));
        let missing = selected.missing.into_iter().map(|id| {
            let failure = LinkFailure::new(Stage::Settings, self.not_in_roster(&id));
            (id, failure.into())
        });
        let answered = selected.entries.into_iter().map(|entry| (entry.id, TargetOutcome::Returned(result.clone())));
        for (target, outcome) in unknown.chain(missing).chain(answered) {
            summary.count(&outcome);
            printer.outcome(ReturnRecord::new(target, outcome));
        }
        let order: Vec<String> = self.controller.roster.entries.iter().map(|entry| entry.id.clone()).collect();
        printer.end(&order);
        summary.end(printer.human)
    }

    fn not_in_roster(&self, id: &str) -> String {
        not_in_roster(id, self.controller.roster.entries.iter().map(|entry| entry.id.as_str()))
    }
}

/// Options that only some jobs have.
#[derive(Default)]
pub struct LocalJobOptions {
    /// Where the job is recorded; `None` records nothing.
    pub spool: Option<Spool>,
    /// Replaces the controller's own answers to requests of the targets' functions.
    pub answers: Option<Arc<AnswersFor>>,
    /// Replaces the target's own grains.
    pub grains: Option<Map>,
}

/// A job that this process runs.
pub struct LocalJob {
    pub jobs: Arc<JobService<SpoolRecords>>,
    pub record: JobRecord,
    pub updates: mpsc::UnboundedReceiver<JobUpdate>,
}

pub fn not_in_roster<'a>(id: &str, known: impl Iterator<Item = &'a str>) -> String {
    format!("it is not in the roster{}", rocksalt_core::nearest::hint(id, known))
}

/// The sources of pillar, as configured.
fn pillar(context: &Context, cache: &Path, nodegroups: &Nodegroups, links: &Arc<dyn Links>) -> Result<Pillar, Failure> {
    let config = &context.config;
    let roots = config.roots("pillar_roots", &context.environment)?;
    let files = files::open("roots", &roots).map_err(|error| Failure::caused(&error))?;
    let ext_pillar = config.get("ext_pillar").unwrap_or(&Value::Null);
    let mut options = config.values().clone();
    options.insert("ext_pillar_kinds", kinds(ext_pillar).into_iter().map(Value::from).collect::<Vec<_>>());
    let compiler = Arc::new(Compiler { links: Arc::clone(links), options });
    let mut settings = Settings {
        cache: cache.join("git_pillar"),
        nodegroups: nodegroups.clone(),
        roots,
        merge_lists: config.flag("pillar_merge_lists")?,
        compile: Some(Arc::clone(&compiler) as Arc<dyn DirectoryCompiler>),
        ..Settings::default()
    };
    if let Some(branch) = config.text("git_pillar_base") {
        settings.base_branch = branch;
    }
    let external = ExternalPillars::new(ext_pillar, &settings);
    Ok(Pillar { files: files.into(), external: Arc::new(external), compiler })
}

/// The options that targets need to compile and run states; no others are sent.
fn state_options(config: &Config) -> Map {
    let known = STATE_OPTIONS.iter().filter_map(|key| Some(((*key).into(), config.get(key)?.clone())));
    known.collect()
}

const STATE_OPTIONS: [&str; 26] = [
    "default_top",
    "env_order",
    "failhard",
    "global_state_conditions",
    "jinja_env",
    "jinja_lstrip_blocks",
    "jinja_sls_env",
    "jinja_trim_blocks",
    "nodegroups",
    "pillar_includes_override_sls",
    "pillar_merge_lists",
    "pillar_source_merging_strategy",
    "pillarenv",
    "renderer",
    "renderer_blacklist",
    "renderer_whitelist",
    "saltenv",
    "state_aggregate",
    "state_auto_order",
    "state_events",
    "state_mode",
    "state_top",
    "state_top_saltenv",
    "state_width",
    "test",
    "top_file_merging_strategy",
];
