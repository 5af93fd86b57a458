//! `rocksalt run`: a function on targets.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use rocksalt_client::Client;
use rocksalt_controller::execution::{self, Job};
use rocksalt_controller::select::Target;
use rocksalt_controller::spool::{self, Spool};
use rocksalt_core::link::{Failure as Unreached, Stage};
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::Entry;
use rocksalt_core::target::Kind;
use rocksalt_core::{Call, JobId, Value, masking};

use super::Context;
use crate::failure::Failure;
use crate::job_follower::{News, Stop, follow};
use crate::job_summary::JobSummary;
use crate::local_controller::{Extras, LocalController, not_in_roster, why_unknown};
use crate::printing::{Printer, Printing};
use crate::progress_line::ProgressLine;
use crate::stdout::print_line;
use crate::{arguments, daemon, local, metadata, roster, times};

/// Runs a function on targets; results are printed as they arrive.
#[derive(Args)]
pub struct Options {
    /// Whom it means: a glob of ids, unless an option says otherwise
    target: String,

    /// What to run: `test.ping`, `cmd.run` … (see `rocksalt doc`)
    function: String,

    /// Its arguments: by position, or as name=value; each is read as YAML. Words that start with a
    /// dash come behind `--`
    #[arg(allow_negative_numbers = true)]
    arguments: Vec<String>,

    /// Take these arguments as texts, not as YAML: names with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    no_parse: Vec<String>,

    #[command(flatten)]
    targeting: Targeting,

    #[command(flatten)]
    how: How,

    /// Run the words as a shell command, as `salt-ssh -r` does
    #[arg(short = 'r', long = "raw", visible_alias = "raw-shell", help_heading = "How it runs")]
    raw: bool,

    /// Salt-ssh's way to ignore host keys, which does not exist here
    #[arg(short = 'i', long, hide = true)]
    ignore_host_keys: bool,
}

/// How a call goes over its targets, and how its results are printed.
#[derive(Args)]
pub struct How {
    /// So many targets at a time: a number, or a share such as 25%
    #[arg(short, long, visible_alias = "batch-size", value_name = "N|N%", help_heading = "How it runs")]
    batch: Option<String>,

    /// Seconds to wait after each target of a batch
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, help_heading = "How it runs")]
    batch_wait: f64,

    /// Only so many of the targets, picked at random
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    subset: Option<usize>,

    /// Seconds that the call may take on each target
    #[arg(short, long, value_name = "SECONDS", help_heading = "How it runs")]
    timeout: Option<f64>,

    /// No further target after the first failure (with --batch)
    #[arg(long, help_heading = "How it runs")]
    failhard: bool,

    /// Wait in line where a run of states is under way on a target, instead of being refused
    #[arg(long, help_heading = "How it runs")]
    queue: bool,

    /// What the job can be found by again: key=value, or a map in YAML; may be given several times
    #[arg(long, value_name = "KEY=VALUE", help_heading = "How it runs")]
    metadata: Vec<String>,

    /// Print the job's id and go on in the background (see `rocksalt jobs`)
    #[arg(long = "async", help_heading = "How it runs")]
    background: bool,

    /// Leave nothing behind on the targets: the agent is removed and the connection closed
    #[arg(short, long, help_heading = "How it runs")]
    wipe: bool,

    /// Show what commands print as they print it
    #[arg(long, help_heading = "Output")]
    stream: bool,

    /// The id of the job, for `saltutil.find_job`
    #[arg(long, value_name = "JOB", hide = true)]
    job_id: Option<JobId>,

    /// Print the job's id first
    #[arg(long, visible_alias = "verbose", short = 'v', help_heading = "Output")]
    show_jid: bool,

    /// The metadata of the job that this one repeats.
    #[arg(skip)]
    inherited: Value,

    #[command(flatten)]
    printing: Printing,
}

impl How {
    /// Metadata that hold where the command line says nothing else.
    pub fn inherit(&mut self, metadata: &Value) {
        self.inherited = metadata.clone();
    }
}

/// How the target expression is meant. `apply` has `--pillar` for data, so there it is only `-I`.
macro_rules! targeting {
    ($name:ident, $(#[$pillar:meta])+) => {
        #[derive(Args)]
        #[group(multiple = false)]
        pub struct $name {
            /// The target is a list of ids, with commas between
            #[arg(short = 'L', long, help_heading = "Targets")]
            list: bool,
            /// … a regular expression
            #[arg(short = 'E', long, help_heading = "Targets")]
            pcre: bool,
            /// … a grain: os:Debian
            #[arg(short = 'G', long, help_heading = "Targets")]
            grain: bool,
            /// … a grain, by regular expression
            #[arg(short = 'P', long, help_heading = "Targets")]
            grain_pcre: bool,
            /// … a pillar value: role:web
            $(#[$pillar])+
            by_pillar: bool,
            /// … a pillar value, by regular expression
            #[arg(short = 'J', long, help_heading = "Targets")]
            pillar_pcre: bool,
            /// … a nodegroup
            #[arg(short = 'N', long, help_heading = "Targets")]
            nodegroup: bool,
            /// … an address or a network: 10.0.0.0/8
            #[arg(short = 'S', long, help_heading = "Targets")]
            ipcidr: bool,
            /// … a range: web[01-10]
            #[arg(short = 'R', long, help_heading = "Targets")]
            range: bool,
            /// … compound: 'G@os:Debian and web*'
            #[arg(short = 'C', long, help_heading = "Targets")]
            compound: bool,
        }

        impl $name {
            pub fn kind(&self) -> Kind {
                let wished = [
                    (self.list, Kind::List),
                    (self.pcre, Kind::Pcre),
                    (self.grain, Kind::Grain),
                    (self.grain_pcre, Kind::GrainPcre),
                    (self.by_pillar, Kind::Pillar),
                    (self.pillar_pcre, Kind::PillarPcre),
                    (self.nodegroup, Kind::Nodegroup),
                    (self.ipcidr, Kind::IpCidr),
                    (self.range, Kind::Range),
                    (self.compound, Kind::Compound),
                ];
                wished.into_iter().find(|(given, _)| *given).map_or(Kind::Glob, |(_, kind)| kind)
            }
        }

    };
}

targeting!(Targeting, #[arg(short = 'I', long = "pillar", help_heading = "Targets")]);
targeting!(ApplyTargeting, #[arg(short = 'I', help_heading = "Targets")]);

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    if options.ignore_host_keys {
        return Err(Failure::usage("host keys are never ignored")
            .hint("`accept_new: True` in the roster takes a key at the first contact and remembers it"));
    }
    // All of the command line is understood before anything is sent anywhere.
    let (args, kwargs) =
        arguments::parse_except(&options.arguments, &options.no_parse).map_err(|error| Failure::caused(&error))?;
    let call = match options.raw {
        true => Call::new("cmd.run")
            .arg([options.function.clone()].into_iter().chain(options.arguments.clone()).collect::<Vec<_>>().join(" ")),
        false => Call { args, kwargs, ..Call::new(&options.function) },
    };
    perform(context, options.target, options.targeting.kind(), call, options.how).await
}

/// Runs a call on targets, once all of the command line is understood.
pub async fn perform(
    context: Context,
    target: String,
    kind: Kind,
    mut call: Call,
    options: How,
) -> Result<ExitCode, Failure> {
    let metadata = metadata::of(&options.inherited, &options.metadata, &mut call)?;
    local::check(&call)?;
    let printer = options.printing.printer_for(&context, &call.function)?;
    let batch = options.batch.as_deref().map(Batch::parse).transpose()?;
    let seconds = |number: f64, option: &str| {
        Duration::try_from_secs_f64(number)
            .map_err(|_| Failure::usage(format!("{option}: {number} is no length of time")))
    };
    let default_timeout = context.config.number("timeout")?.map(|number| number as f64);
    let timeout = options.timeout.or(default_timeout).filter(|timeout| *timeout > 0.0);
    if options.subset == Some(0) {
        return Err(Failure::usage("--subset 0 would run nothing"));
    }
    let wish = Wish {
        target: Target { kind, text: target, delimiter: ":".into() },
        batch_wait: seconds(options.batch_wait, "--batch-wait")?,
        timeout: timeout.map(|timeout| seconds(timeout, "--timeout")).transpose()?,
        queue: options.queue || call.kwargs.get("queue").is_some_and(Value::truth),
        call,
        metadata,
        batch,
        options,
    };
    // What the controller answers itself needs no daemon, and leaves no job.
    let is_own = local::answer(&wish.call).is_some();
    if !wish.options.wipe
        && !is_own
        && let Some(client) = daemon::for_job(&context).await
    {
        return wish.through(client, context, printer).await;
    }
    if wish.options.background {
        return wish.in_background(context).await;
    }
    wish.here(context, printer, !is_own).await
}

/// A call on targets, with how it shall go.
struct Wish {
    target: Target,
    call: Call,
    metadata: Value,
    queue: bool,
    batch: Option<Batch>,
    batch_wait: Duration,
    timeout: Option<Duration>,
    options: How,
}

impl Wish {
    /// A daemon runs it, and keeps it.
    async fn through(self, client: Client, context: Context, mut printer: Printer) -> Result<ExitCode, Failure> {
        let run = RunRequest {
            function: self.call.function.clone(),
            args: self.call.args.clone(),
            kwargs: self.call.kwargs.clone(),
            target: self.target.text.clone(),
            target_kind: self.target.kind.name().to_owned(),
            delimiter: Some(self.target.delimiter.clone()),
            timeout: self.timeout.map(|timeout| timeout.as_secs_f64()),
            batch: self.options.batch.clone(),
            batch_wait: self.batch_wait.as_secs_f64(),
            failhard: self.options.failhard,
            stream: self.options.stream,
            subset: self.options.subset,
            metadata: self.metadata.clone(),
            job: self.options.job_id,
            queue: self.queue,
            returners: Vec::new(),
        };
        let Some(job) = client.start(&run).await.map_err(|error| daemon::refused(&error))? else {
            return Err(self.nobody(context).await);
        };
        if self.options.background {
            return told_in_background(job.id);
        }
        self.show_id(job.id, job.targets.len());
        let mut summary = JobSummary::of(job.targets.len() + job.missing.len());
        if !job.missing.is_empty() {
            let roster = roster::load(&context.common.roster, &context.config, &context.environment).await;
            let ids: Vec<String> =
                roster.map(|all| all.entries.into_iter().map(|entry| entry.id).collect()).unwrap_or_default();
            for id in &job.missing {
                summary.unreached += 1;
                printer.failure(id, Stage::Settings.name(), &not_in_roster(id, ids.iter().map(String::as_str)), None);
            }
        }
        let mut news = News::of_daemon(&client, job.id);
        let stop = Stop::Daemon(client, job.id);
        let followed = follow(&mut news, &stop, job.targets.clone(), &mut summary, &mut printer).await;
        printer.end(&job.targets);
        followed?;
        summary.end(printer.human)
    }

    /// What there is instead, by this process's own look at the roster.
    async fn nobody(&self, context: Context) -> Failure {
        let looked = match LocalController::open(context).await {
            Ok(session) => session.select(&self.target).await.err(),
            Err(failure) => Some(failure),
        };
        looked.unwrap_or_else(|| {
            Failure::usage(format!("the daemon knows no target that fits '{}'", self.target.text))
                .hint("it read the roster before that was changed; `kill -HUP` or `systemctl reload rocksalt` has it read anew")
        })
    }

    /// This process runs it, and leaves a record.
    async fn here(self, context: Context, printer: Printer, keep: bool) -> Result<ExitCode, Failure> {
        let spool = context.config.spool(&context.environment)?;
        let hostname = context.environment.local_user.hostname.clone();
        let user = context.environment.local_user.name.clone();
        let session = LocalController::open(context).await?;
        let selection = session.select(&self.target).await?;
        let mut targets = selection.entries;
        if let Some(count) = self.options.subset {
            pick(&mut targets, count);
        }
        let started = times::now();
        let id = self.options.job_id.unwrap_or_else(|| JobId::at(started));
        let entry = keep.then(|| {
            let (args, kwargs) = masking::mask(&self.call.function, &self.call.args, &self.call.kwargs);
            let (missing, unasked): (Vec<_>, Vec<_>) =
                selection.unknown.iter().partition(|(_, failure)| failure.stage == Stage::Settings);
            let record = JobRecord {
                id,
                function: self.call.function.clone(),
                args,
                kwargs,
                target: self.target.text.clone(),
                target_kind: self.target.kind.name().to_owned(),
                targets: targets
                    .iter()
                    .chain(unasked.iter().map(|(entry, _)| entry))
                    .map(|entry| entry.id.clone())
                    .collect(),
                missing: missing.iter().map(|(entry, _)| entry.id.clone()).collect(),
                user,
                metadata: masking::masked(&self.metadata),
                started,
                state: JobState::Running,
                ended: None,
                owner: hostname,
            };
            kept(&spool, record, self.options.job_id.is_some(), &unasked)
        });
        let entry = entry.transpose()?.flatten();
        let id = entry.as_ref().map_or(id, |entry| entry.job.id);
        let how = execution::How {
            batch: self.batch.as_ref().map(|batch| batch.size(targets.len())),
            batch_wait: self.batch_wait,
            timeout: self.timeout,
            failhard: self.options.failhard,
            wipe: self.options.wipe,
            stream: self.options.stream,
            progress: ProgressLine::is_shown(),
            receipts: None,
        };
        self.show_id(id, targets.len());
        let job = Job { id, call: self.call, targets, how };
        session.run_with(job, selection.unknown, printer, Extras { entry, ..Extras::default() }).await
    }

    /// Starts the same command once more, without a terminal.
    async fn in_background(self, context: Context) -> Result<ExitCode, Failure> {
        let fault = |error: std::io::Error| Failure::usage(format!("can't start it in the background: {error}"));
        let spool = context.config.spool(&context.environment)?;
        // What is wrong with the roster or the target is said here, where somebody reads it.
        LocalController::open(context).await?.select(&self.target).await?;
        let id = self.options.job_id.unwrap_or_else(|| JobId::at(times::now()));
        let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let mut behind = words.split_off(end);
        words.retain(|word| word != "--async");
        words.extend(["--no-daemon", "--job-id", id.as_str()].map(OsString::from));
        words.append(&mut behind);
        let mut command = std::process::Command::new(std::env::current_exe().map_err(fault)?);
        let null = || std::process::Stdio::null();
        command.args(words).stdin(null()).stdout(null()).stderr(null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(fault)?;
        // Whoever has the id can ask for the job.
        while !matches!(spool.job(id), Ok(Some(_))) {
            if let Some(status) = child.try_wait().map_err(fault)? {
                return Err(Failure::usage(format!("it ended in the background before it began ({status})")));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        told_in_background(id)
    }

    fn show_id(&self, id: JobId, targets: usize) {
        if self.options.show_jid {
            eprintln!("job {id}: {} on {targets} targets", arguments::show(&self.call));
        }
    }
}

/// Its record; `None` where none can be kept, which must not end the run.
fn kept(
    spool: &Spool,
    record: JobRecord,
    chosen: bool,
    unasked: &[&(Entry, Unreached)],
) -> Result<Option<spool::Entry>, Failure> {
    let (id, started) = (record.id, record.started);
    let mut entry = match spool.begin(record, !chosen) {
        Ok(entry) => entry,
        Err(error) if chosen && error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!("there is a job {id} already")));
        }
        Err(_) => return Ok(None),
    };
    for (target, failure) in unasked {
        let hint = failure.hint.clone();
        let outcome =
            TargetOutcome::Unreached { stage: failure.stage.name().to_owned(), text: why_unknown(failure), hint };
        let target = target.id.clone();
        let _ = entry.returned(&ReturnRecord { target, outcome, ended: started, outputter: None, cut_from: None });
    }
    // Now and then is enough: a few more than wished harm nobody.
    if started % 32 == 0 {
        let _ = spool.prune(started);
    }
    Ok(Some(entry))
}

fn told_in_background(id: JobId) -> Result<ExitCode, Failure> {
    print_line!("{id}");
    eprintln!("`rocksalt jobs watch {id}` shows what comes of it");
    Ok(ExitCode::SUCCESS)
}

/// `10` or `25%`.
enum Batch {
    Count(usize),
    Percent(f64),
}

impl Batch {
    fn parse(text: &str) -> Result<Batch, Failure> {
        let parsed = match text.strip_suffix('%') {
            Some(share) => share.trim().parse().ok().filter(|share| *share > 0.0).map(Batch::Percent),
            None => text.trim().parse().ok().filter(|count| *count > 0).map(Batch::Count),
        };
        parsed.ok_or_else(|| {
            Failure::usage(format!("--batch takes a number such as 10 or a share such as 25%, not '{text}'"))
        })
    }

    fn size(&self, targets: usize) -> usize {
        match self {
            Batch::Count(count) => *count,
            Batch::Percent(share) => ((targets as f64 * share / 100.0) as usize).max(1),
        }
    }
}

/// Keeps so many, picked at random, in their order.
fn pick<T>(items: &mut Vec<T>, count: usize) {
    use std::hash::BuildHasher;
    let random = std::collections::hash_map::RandomState::new();
    let mut places: Vec<usize> = (0..items.len()).collect();
    places.sort_by_key(|place| random.hash_one(place));
    places.truncate(count);
    let mut place = 0;
    items.retain(|_| {
        place += 1;
        places.contains(&(place - 1))
    });
}

/// Runs a call on targets without a word.
pub async fn quietly(context: Context, target: String, kind: Kind, call: Call) -> Result<(), Failure> {
    let session = LocalController::open(context).await?;
    let selection = session.select(&Target { kind, text: target, delimiter: ":".into() }).await?;
    let job = Job { id: new_job_id(), call, targets: selection.entries, how: execution::How::default() };
    let (updates, _news) = tokio::sync::mpsc::unbounded_channel();
    session.controller.run(job, None, updates, execution::CancelSignal::default()).await;
    Ok(())
}

pub fn new_job_id() -> JobId {
    JobId::at(times::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_nothing() {
        assert_eq!(Batch::parse("25%").map(|batch| batch.size(3)).ok(), Some(1));
        assert_eq!(Batch::parse("50%").map(|batch| batch.size(9)).ok(), Some(4));
        assert_eq!(Batch::parse("7").map(|batch| batch.size(3)).ok(), Some(7));
        assert!(Batch::parse("0").is_err() && Batch::parse("x%").is_err() && Batch::parse("-1").is_err());
    }

    #[test]
    fn a_subset_keeps_the_order() {
        let mut items: Vec<u32> = (0..100).collect();
        pick(&mut items, 10);
        assert_eq!(items.len(), 10);
        assert!(items.is_sorted());
    }
}
