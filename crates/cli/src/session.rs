//! A command's way from a job to printed results.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rocksalt_backends::files;
use rocksalt_backends::pillar::{Compile, External, Settings, kinds};
use rocksalt_connect::links::Links;
use rocksalt_controller::facts::Facts;
use rocksalt_controller::job::{AnswersFor, Job, Outcome, Stopper, Update};
use rocksalt_controller::peer::Rules;
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_controller::select::{Selection, Target};
use rocksalt_controller::{Controller, Receive};
use rocksalt_core::frame::Stream;
use rocksalt_core::link::{Extent, Failure as Unreached, Stage};
use rocksalt_core::roster::{Entry, Roster};
use rocksalt_core::target::{Kind, Nodegroups};
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::commands::Context;
use crate::config::Config;
use crate::failure::{self, Failure};
use crate::live::Live;
use crate::output::{self, Outputter, Style};
use crate::{keeper, local, roster};

/// How results are printed.
#[derive(Args, Clone, Debug, Default)]
pub struct Printing {
    /// The outputter: nested, json, yaml, txt, table, raw, quiet …
    #[arg(long, visible_alias = "output", value_name = "NAME", help_heading = "Output")]
    pub out: Option<String>,

    /// How states are printed: full, terse, mixed, changes or filter
    #[arg(long, value_name = "FORM", help_heading = "Output")]
    pub state_output: Option<String>,

    /// Print all results together at the end, as one
    #[arg(short = 's', long = "static", help_heading = "Output")]
    pub together: bool,

    /// Write the results to a file
    #[arg(long, visible_alias = "output-file", value_name = "FILE", help_heading = "Output")]
    pub out_file: Option<PathBuf>,

    /// Indent by so many spaces
    #[arg(
        long,
        visible_alias = "output-indent",
        value_name = "N",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub out_indent: Option<i32>,
}

/// Functions whose results are those of states.
const STATE_RUNS: [&str; 8] = [
    "state.apply",
    "state.high",
    "state.highstate",
    "state.low",
    "state.single",
    "state.sls",
    "state.sls_id",
    "state.test",
];

impl Printing {
    pub fn printer(&self, context: &Context) -> Result<Printer, Failure> {
        self.printer_for(context, "")
    }

    /// The printer for a function's results: those of states are printed as such.
    pub fn printer_for(&self, context: &Context, function: &str) -> Result<Printer, Failure> {
        let usual = if STATE_RUNS.contains(&function) { "highstate" } else { "nested" };
        let name = match (&self.out, context.common.json) {
            (Some(name), _) => name.clone(),
            (None, true) => "json".into(),
            (None, false) => context.config.text("output").unwrap_or_else(|| usual.into()),
        };
        let mut settings = context.config.values().clone();
        if let Some(form) = &self.state_output {
            settings.insert("state_output", form.as_str());
        }
        let outputter = output::open_with(&name, &settings).map_err(|error| {
            let names = output::names().collect::<Vec<_>>().join(", ");
            Failure::caused(&error).hint(format!("there are: {names}"))
        })?;
        let mut style = context.style(self.out_indent);
        let file = match &self.out_file {
            None => None,
            Some(path) => {
                style = Style { indent: self.out_indent, ..Style::default() };
                let file = std::fs::File::create(path);
                Some(file.map_err(|error| Failure::usage(format!("can't write {}: {error}", path.display())))?)
            }
        };
        // People read nested; programs read the rest, and must not find our remarks in it.
        let human = matches!(name.as_str(), "nested" | "highstate" | "table" | "txt");
        Ok(Printer { outputter, style, together: self.together, file, human, results: Map::new() })
    }
}

pub struct Printer {
    outputter: Box<dyn Outputter>,
    style: Style,
    together: bool,
    file: Option<std::fs::File>,
    human: bool,
    results: Map,
}

impl Printer {
    pub fn one(&mut self, id: &str, value: Value, success: bool) {
        if self.together {
            self.results.insert(id, value);
            return;
        }
        let text = match success {
            true => self.outputter.one(id, &value, &self.style),
            false => self.outputter.failed(id, &value, &self.style),
        };
        self.write(&text);
    }

    /// Data that belong to no target.
    pub fn bare(&mut self, value: &Value) {
        let text = self.outputter.bare(value, &self.style);
        self.write(&text);
    }

    /// Prints what was kept back. `order` is the roster's.
    pub fn end(&mut self, order: &[String]) {
        if self.together {
            let mut sorted = Map::new();
            for id in order {
                if let Some(value) = self.results.remove(id) {
                    sorted.insert(id.as_str(), value);
                }
            }
            sorted.extend(std::mem::take(&mut self.results));
            let text = self.outputter.all(&sorted, &self.style);
            self.write(&text);
        }
    }

    pub fn failure(&mut self, id: &str, stage: &str, text: &str, hint: Option<&str>) {
        let value = if self.human {
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            Value::String(format!("ERROR ({stage}): {text}{hint}"))
        } else {
            let mut error = Map::new();
            error.insert("stage", stage);
            error.insert("text", text);
            error.insert("hint", hint.map(str::to_owned));
            Value::Map(Map::from_iter([("_error".into(), Value::Map(error))]))
        };
        self.one(id, value, false);
    }

    fn write(&mut self, text: &str) {
        // Whoever closed the pipe wants no more; that is no error.
        let _ = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()),
        };
    }
}

pub struct Session {
    pub controller: Arc<Controller>,
}

impl Session {
    /// Reads the roster and gets the links ready; nothing is connected yet.
    pub async fn open(context: Context) -> Result<Session, Failure> {
        let roster = roster::load(&context.common.roster, &context.config, &context.environment).await?;
        let links = keeper::links(&context.environment, &context.config).await?;
        Session::with(&context, roster, links)
    }

    pub fn with(context: &Context, roster: Roster, links: Arc<dyn Links>) -> Result<Session, Failure> {
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
            facts: Facts { directory: cache.join("grains"), fresh },
            peer: Rules::parse(&config.map("peer")?).map_err(|error| Failure::caused(&error))?,
            receive,
            extent: |call| if catalog::is_small(call) { Extent::Small } else { Extent::Whole },
            own: crate::local::answer,
            user: context.environment.person.name.clone(),
        };
        Ok(Session { controller: Arc::new(controller) })
    }

    /// Whom a target means; an error that says what there is, if it is nobody.
    pub async fn select(&self, target: &Target) -> Result<Selection, Failure> {
        let mut selection = self.controller.select(target).await.map_err(|error| Failure::caused(&error))?;
        if target.kind == Kind::List && !selection.entries.is_empty() {
            let named = target.text.split(',').map(str::trim).filter(|id| !id.is_empty());
            for id in named.filter(|id| self.controller.roster.get(id).is_none()) {
                let ids = self.controller.roster.entries.iter().map(|entry| entry.id.as_str());
                let near = rocksalt_core::nearest::hint(id, ids);
                let failure = Unreached::new(Stage::Settings, format!("it is not in the roster{near}"));
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
        self.run_with(job, unknown, printer, None).await
    }

    /// As `run`, with other answers to what the targets' functions ask.
    pub async fn run_with(
        &self,
        job: Job,
        unknown: Vec<(Entry, Unreached)>,
        mut printer: Printer,
        answers: Option<Arc<AnswersFor>>,
    ) -> Result<ExitCode, Failure> {
        let mut tally = Tally { total: job.targets.len() + unknown.len(), ..Tally::default() };
        let order: Vec<String> = self.controller.roster.entries.iter().map(|entry| entry.id.clone()).collect();
        for (entry, failure) in unknown {
            tally.unreached += 1;
            let text = match failure.stage {
                Stage::Settings => failure.text.clone(),
                _ => format!("its grains are not known, and it can't be asked: {}", failure.text),
            };
            printer.failure(&entry.id, failure.stage.name(), &text, failure.hint.as_deref());
        }
        let wipe = job.how.wipe.then(|| job.targets.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>());
        if let Some(result) = local::answer(&job.call) {
            for entry in &job.targets {
                tally.count(&Outcome::Returned(result.clone()));
                print_outcome(&mut printer, &entry.id, Outcome::Returned(result.clone()));
            }
        } else {
            self.follow(job, answers, &mut tally, &mut printer).await;
        }
        printer.end(&order);
        if let Some(targets) = wipe {
            self.controller.links.close(&targets, true).await?;
        }
        tally.end(printer.human)
    }

    async fn follow(&self, job: Job, answers: Option<Arc<AnswersFor>>, tally: &mut Tally, printer: &mut Printer) {
        let (updates, mut news) = mpsc::unbounded_channel();
        let stopper = Stopper::default();
        let mut live = Live::new(job.targets.iter().map(|entry| entry.id.clone()).collect());
        let controller = Arc::clone(&self.controller);
        let running = tokio::spawn({
            let stopper = stopper.clone();
            async move { controller.run(job, answers, updates, stopper).await }
        });
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        // One for the whole time: what comes between two rounds of the loop must not be lost.
        let mut interrupts = signal(SignalKind::interrupt()).ok();
        loop {
            tokio::select! {
                update = news.recv() => match update {
                    None => break,
                    Some(Update::Begun { id }) => live.begun(&id),
                    Some(Update::Output { id, stream: Stream::Progress, bytes }) => live.progress(&id, &bytes),
                    Some(Update::Output { id, bytes, .. }) => live.above(|| show_piece(&id, &bytes)),
                    Some(Update::Note { id, text }) => live.above(|| eprintln!("{id}: {}", output::clean(&text))),
                    Some(Update::Event { id, event }) => live.above(|| eprintln!("event from {id}: {}", output::clean(&event.tag))),
                    Some(Update::Done { id, outcome }) => {
                        live.done(&id);
                        tally.count(&outcome);
                        live.above(|| print_outcome(printer, &id, outcome));
                    }
                },
                _ = tick.tick() => live.draw(),
                () = interrupted(&mut interrupts) => {
                    live.clear();
                    let out = live.out();
                    if tally.interrupted {
                        eprintln!("leaving at once; may still run on: {}", out.join(", "));
                        running.abort();
                        break;
                    }
                    tally.interrupted = true;
                    eprintln!("stopping; waiting for: {} (Ctrl-C again to leave at once)", out.join(", "));
                    stopper.stop();
                }
            }
        }
        live.clear();
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
        compile: Some(Arc::clone(&compiler) as Arc<dyn Compile>),
        ..Settings::default()
    };
    if let Some(branch) = config.text("git_pillar_base") {
        settings.base_branch = branch;
    }
    let external = External::new(ext_pillar, &settings);
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

async fn interrupted(interrupts: &mut Option<Signal>) {
    match interrupts {
        Some(interrupts) => drop(interrupts.recv().await),
        None => std::future::pending().await,
    }
}

fn show_piece(id: &str, bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        eprintln!("{id}| {}", output::clean(line));
    }
}

fn print_outcome(printer: &mut Printer, id: &str, outcome: Outcome) {
    match outcome {
        Outcome::Returned(result) => match result.problem {
            None => {
                let success = result.success();
                printer.one(id, result.value, success);
            }
            Some(problem) => {
                let stage = match problem.kind {
                    rocksalt_core::call::ProblemKind::UnknownFunction => "unknown function",
                    rocksalt_core::call::ProblemKind::Arguments => "arguments",
                    rocksalt_core::call::ProblemKind::Failed => "failed",
                    rocksalt_core::call::ProblemKind::Cancelled => "cancelled",
                    rocksalt_core::call::ProblemKind::TimedOut => "timed out",
                    rocksalt_core::call::ProblemKind::Refused => "refused",
                    rocksalt_core::call::ProblemKind::Rebooting => "rebooting",
                };
                printer.failure(id, stage, &problem.text, problem.hint.as_deref());
            }
        },
        Outcome::Unreached(failure) => {
            printer.failure(id, failure.stage.name(), &failure.text, failure.hint.as_deref())
        }
        Outcome::Skipped(reason) => printer.failure(id, "skipped", reason, None),
    }
}

#[derive(Default)]
struct Tally {
    total: usize,
    fine: usize,
    failed: usize,
    unreached: usize,
    skipped: usize,
    interrupted: bool,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Returned(result) if result.success() => self.fine += 1,
            Outcome::Returned(_) => self.failed += 1,
            Outcome::Unreached(_) => self.unreached += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
    }

    fn end(&self, human: bool) -> Result<ExitCode, Failure> {
        let kind = match self {
            Tally { interrupted: true, .. } => failure::Kind::Interrupted,
            Tally { unreached: 1.., .. } => failure::Kind::Unreached,
            Tally { failed: 1.., .. } | Tally { skipped: 1.., .. } => failure::Kind::Function,
            _ => return Ok(ExitCode::SUCCESS),
        };
        if human && self.total > 1 {
            // Whoever presses Ctrl-C twice leaves some behind.
            let left = self.total - self.fine - self.failed - self.unreached - self.skipped;
            let parts = [
                (self.failed, "failed"),
                (self.unreached, "not reached"),
                (self.skipped, "skipped"),
                (left, "not waited for"),
            ];
            let parts: Vec<String> =
                parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
            eprintln!("{} of {} targets fine; {}", self.fine, self.total, parts.join(", "));
        }
        Err(Failure::silent(kind))
    }
}
