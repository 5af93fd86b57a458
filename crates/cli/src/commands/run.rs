//! `rocksalt run`: a function on targets.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use rocksalt_controller::job::{self, Job};
use rocksalt_controller::select::Target;
use rocksalt_core::target::Kind;
use rocksalt_core::{Call, JobId};

use super::Context;
use crate::failure::Failure;
use crate::live::Live;
use crate::say::say;
use crate::session::{Printing, Session};
use crate::{arguments, local};

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

    /// Print the job's id and go on in the background; results go to a file
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

    #[command(flatten)]
    printing: Printing,
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
    call: Call,
    options: How,
) -> Result<ExitCode, Failure> {
    local::check(&call)?;
    let printer = options.printing.printer_for(&context, &call.function)?;
    let batch = options.batch.as_deref().map(Batch::parse).transpose()?;
    let seconds = |number: f64, option: &str| {
        Duration::try_from_secs_f64(number)
            .map_err(|_| Failure::usage(format!("{option}: {number} is no length of time")))
    };
    let default_timeout = context.config.number("timeout")?.map(|number| number as f64);
    let timeout = options.timeout.or(default_timeout).filter(|timeout| *timeout > 0.0);
    let timeout = timeout.map(|timeout| seconds(timeout, "--timeout")).transpose()?;
    let batch_wait = seconds(options.batch_wait, "--batch-wait")?;
    let target = Target { kind, text: target, delimiter: ":".into() };

    let id = options.job_id.unwrap_or_else(new_job_id);
    if options.background {
        return background(&context, id);
    }
    let session = Session::open(context).await?;
    let selection = session.select(&target).await?;
    let mut targets = selection.entries;
    if options.subset == Some(0) {
        return Err(Failure::usage("--subset 0 would run nothing"));
    }
    if let Some(count) = options.subset {
        pick(&mut targets, count);
    }
    let how = job::How {
        batch: batch.map(|batch| batch.size(targets.len())),
        batch_wait,
        timeout,
        failhard: options.failhard,
        wipe: options.wipe,
        stream: options.stream,
        progress: Live::is_shown(),
    };
    if options.show_jid {
        eprintln!("job {id}: {} on {} targets", arguments::show(&call), targets.len());
    }
    let job = Job { id, call, targets, how };
    session.run(job, selection.unknown, printer).await
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

pub fn new_job_id() -> JobId {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros());
    JobId::at(micros as u64)
}

/// Starts the same command once more, without a terminal.
fn background(context: &Context, id: JobId) -> Result<ExitCode, Failure> {
    let directory = context.environment.cache_dir.join("jobs");
    let fault = |error: std::io::Error| Failure::usage(format!("can't start it in the background: {error}"));
    make_private(&directory).map_err(fault)?;
    let file: PathBuf = directory.join(format!("{id}.json"));
    let words = std::env::args_os().skip(1).filter(|word| word != "--async");
    let mut command = std::process::Command::new(std::env::current_exe().map_err(fault)?);
    command.args(words).args(["--out", "json", "--static", "--job-id", id.as_str()]).arg("--out-file").arg(&file);
    let null = || std::process::Stdio::null();
    command.stdin(null()).stdout(null()).stderr(null());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(fault)?;
    say!("{id}");
    eprintln!("results will be in {}", file.display());
    Ok(ExitCode::SUCCESS)
}

fn make_private(directory: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
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
