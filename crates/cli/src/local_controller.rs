//! A command's way from a job to printed results.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_backends::files;
use rocksalt_backends::pillar::{ExternalPillars, PillarCompiler, Settings, kinds};
use rocksalt_connect::links::Links;
use rocksalt_controller::execution::{AnswersFor, CancelSignal, Job};
use rocksalt_controller::grains_cache::GrainsCache;
use rocksalt_controller::peer::Rules;
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_controller::select::{Selection, Target};
use rocksalt_controller::{Controller, Receive, spool};
use rocksalt_core::link::{AgentKind, Failure as Unreached, Stage};
use rocksalt_core::record::{JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::roster::{Entry, Roster};
use rocksalt_core::target::{Kind, Nodegroups};
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog;
use tokio::sync::mpsc;

use crate::commands::Context;
use crate::config::Config;
use crate::failure::Failure;
use crate::job_follower::{News, Stop, follow};
use crate::job_summary::JobSummary;
use crate::printing::Printer;
use crate::{keeper, local, roster, times};

pub struct LocalController {
    pub controller: Arc<Controller>,
}

impl LocalController {
    /// Reads the roster and gets the links ready; nothing is connected yet.
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
            agent_kind: |call| if catalog::is_small(call) { AgentKind::Small } else { AgentKind::Whole },
            own: crate::local::answer,
            user: context.environment.local_user.name.clone(),
        };
        Ok(LocalController { controller: Arc::new(controller) })
    }

    /// Whom a target means; an error that says what there is, if it is nobody.
    pub async fn select(&self, target: &Target) -> Result<Selection, Failure> {
        let mut selection = self.controller.select(target).await.map_err(|error| Failure::caused(&error))?;
        if target.kind == Kind::List && !selection.entries.is_empty() {
            let named = target.text.split(',').map(str::trim).filter(|id| !id.is_empty());
            for id in named.filter(|id| self.controller.roster.get(id).is_none()) {
                let ids = self.controller.roster.entries.iter().map(|entry| entry.id.as_str());
                let failure = Unreached::new(Stage::Settings, not_in_roster(id, ids));
                selection.unknown.push((Entry::new(id, id), failure));
            }
        }
        if selection.entries.is_empty() && selection.unknown.is_empty() {
            return Err(self.nobody(target));
        }
        Ok(selection)
    }

    fn nobody(&self, target: &Target) -> Failure {
        let ids: Vec<&str> = self.controller.roster.entries.iter().map(|entry| entry.id.as_str()).collect();
        if ids.is_empty() {
            return Failure::usage("the roster has no targets").hint("add some to it, or use --host user@address");
        }
        let near = rocksalt_core::nearest::hint(&target.text, ids.iter().copied());
        let more = if ids.len() > 8 { format!(" and {} more", ids.len() - 8) } else { String::new() };
        if target.kind == Kind::Glob && target.text.contains(',') {
            return Failure::usage(format!("no target fits '{}'", target.text)).hint("a list of ids needs -L");
        }
        Failure::usage(format!("no target fits '{}'{near}", target.text))
            .hint(format!("there are {}{more}; `rocksalt hosts` lists them", ids[..ids.len().min(8)].join(", ")))
    }

    /// Runs a job and prints what comes of it.
    pub async fn run(&self, job: Job, unknown: Vec<(Entry, Unreached)>, printer: Printer) -> Result<ExitCode, Failure> {
        self.run_with(job, unknown, printer, Extras::default()).await
    }

    /// As `run`, with what only some commands have.
    pub async fn run_with(
        &self,
        job: Job,
        unknown: Vec<(Entry, Unreached)>,
        mut printer: Printer,
        extras: Extras,
    ) -> Result<ExitCode, Failure> {
        let mut summary = JobSummary::of(job.targets.len() + unknown.len());
        let order: Vec<String> = self.controller.roster.entries.iter().map(|entry| entry.id.clone()).collect();
        for (entry, failure) in unknown {
            summary.unreached += 1;
            printer.failure(&entry.id, failure.stage.name(), &why_unknown(&failure), failure.hint.as_deref());
        }
        let wipe = job.how.wipe.then(|| job.targets.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>());
        if let Some(result) = local::answer(&job.call) {
            for entry in &job.targets {
                let outcome = TargetOutcome::Returned(result.clone());
                summary.count(&outcome);
                let target = entry.id.clone();
                printer.outcome(ReturnRecord { target, outcome, ended: 0, outputter: None, cut_from: None });
            }
        } else {
            self.follow(job, extras, &mut summary, &mut printer).await?;
        }
        printer.end(&order);
        if let Some(targets) = wipe {
            self.controller.links.close(&targets, true).await?;
        }
        summary.end(printer.human)
    }

    async fn follow(
        &self,
        job: Job,
        extras: Extras,
        summary: &mut JobSummary,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let (sender, updates) = mpsc::unbounded_channel();
        let cancel_signal = CancelSignal::default();
        let targets = job.targets.iter().map(|entry| entry.id.clone()).collect();
        let function = job.call.function.clone();
        let controller = Arc::clone(&self.controller);
        let running = tokio::spawn({
            let cancel_signal = cancel_signal.clone();
            async move { controller.run(job, extras.answers, sender, cancel_signal).await }
        });
        let mut news = News::Here { updates, function, entry: extras.entry.map(Box::new) };
        let followed =
            follow(&mut news, &Stop::Here(cancel_signal, running.abort_handle()), targets, summary, printer).await;
        if let News::Here { entry: Some(entry), .. } = news {
            let state = if summary.interrupted { JobState::Cancelled } else { JobState::Done };
            // A record that can't be kept must not end the run.
            let _ = entry.end(state, times::now());
        }
        followed.map(drop)
    }
}

/// What only some runs of a job have.
#[derive(Default)]
pub struct Extras {
    /// Other answers to what the targets' functions ask.
    pub answers: Option<Arc<AnswersFor>>,
    /// Where it is kept.
    pub entry: Option<spool::Entry>,
}

pub fn not_in_roster<'a>(id: &str, known: impl Iterator<Item = &'a str>) -> String {
    format!("it is not in the roster{}", rocksalt_core::nearest::hint(id, known))
}

/// Why a target that was named could not be asked at all.
pub fn why_unknown(failure: &Unreached) -> String {
    match failure.stage {
        Stage::Settings => failure.text.clone(),
        _ => format!("its grains are not known, and it can't be asked: {}", failure.text),
    }
}

/// Where the pillar comes from, as configured.
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
        compile: Some(Arc::clone(&compiler) as Arc<dyn PillarCompiler>),
        ..Settings::default()
    };
    if let Some(branch) = config.text("git_pillar_base") {
        settings.base_branch = branch;
    }
    let external = ExternalPillars::new(ext_pillar, &settings);
    Ok(Pillar { files: files.into(), external: Arc::new(external), compiler })
}

/// What targets need to know of the configuration to compile and run states; the rest is nobody's business.
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
