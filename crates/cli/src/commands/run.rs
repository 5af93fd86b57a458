//! `rocksalt run`: a function on targets.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use rocksalt_client::Client;
use rocksalt_core::job_options::{JobOptions, OptionError};
use rocksalt_core::record::JobRecord;
use rocksalt_core::request::RunRequest;
use rocksalt_core::target::TargetKind;
use rocksalt_core::{Call, JobId, masking};

use super::Context;
use crate::failure::Failure;
use crate::job_follower::{JobControl, JobUpdates, print_job};
use crate::local_controller::{LocalController, LocalJobOptions, not_in_roster};
use crate::printing::{Printing, ResultPrinter};
use crate::stdout::print_line;
use crate::{arguments, call_check, daemon, metadata, roster, times};

/// Runs a function on targets; results are printed as they arrive.
#[derive(Args)]
pub struct Options {
    /// The targets: a glob of ids, unless an option says otherwise
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
    run_options: RunOptions,

    /// Run the words as a shell command, as `salt-ssh -r` does
    #[arg(short = 'r', long = "raw", visible_alias = "raw-shell", help_heading = "How it runs")]
    raw: bool,

    /// Salt-ssh's way to ignore host keys, which does not exist here
    #[arg(short = 'i', long, hide = true)]
    ignore_host_keys: bool,
}

/// How a job goes over its targets, and how its results are printed.
#[derive(Args)]
pub struct RunOptions {
    /// How many targets run at a time: a number, or a percentage such as 25% or 12.5%
    #[arg(short, long, visible_alias = "batch-size", value_name = "N|N%", help_heading = "How it runs")]
    batch: Option<String>,

    /// Seconds to wait after each target of a batch
    #[arg(long, value_name = "SECONDS", help_heading = "How it runs")]
    batch_wait: Option<f64>,

    /// Only this many of the targets, chosen at random
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    subset: Option<usize>,

    /// Seconds that the call may take on each target
    #[arg(short, long, value_name = "SECONDS", help_heading = "How it runs")]
    timeout: Option<f64>,

    /// Start no further target after the first failure (with --batch)
    #[arg(long, help_heading = "How it runs")]
    failhard: bool,

    /// Wait in line where states run on a target already, instead of being refused
    #[arg(long, help_heading = "How it runs")]
    queue: bool,

    /// Data to find the job by: key=value, or a map in YAML; may be given several times
    #[arg(long, value_name = "KEY=VALUE", help_heading = "How it runs")]
    metadata: Vec<String>,

    /// Print the job's id and run it in the background (see `rocksalt jobs`)
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

    /// Print the job's id first, as -v does
    #[arg(long, visible_alias = "verbose", help_heading = "Output")]
    show_jid: bool,

    /// The options and metadata of the job that this one repeats.
    #[arg(skip)]
    inherited: RunRequest,

    #[command(flatten)]
    printing: Printing,
}

impl RunOptions {
    /// Repeats a job: its metadata and options apply unless the command line overrides them.
    pub fn inherit(&mut self, request: RunRequest) {
        self.inherited = request;
    }
}

/// The options for the kind of the target expression. `apply` uses `--pillar` for data, so there only `-I` is
/// available.
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
            pub fn kind(&self) -> TargetKind {
                let given = [
                    (self.list, TargetKind::List),
                    (self.pcre, TargetKind::Pcre),
                    (self.grain, TargetKind::Grain),
                    (self.grain_pcre, TargetKind::GrainPcre),
                    (self.by_pillar, TargetKind::Pillar),
                    (self.pillar_pcre, TargetKind::PillarPcre),
                    (self.nodegroup, TargetKind::Nodegroup),
                    (self.ipcidr, TargetKind::IpCidr),
                    (self.range, TargetKind::Range),
                    (self.compound, TargetKind::Compound),
                ];
                given.into_iter().find(|(given, _)| *given).map_or(TargetKind::Glob, |(_, kind)| kind)
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
    let (args, kwargs) =
        arguments::parse_except(&options.arguments, &options.no_parse).map_err(|error| Failure::caused(&error))?;
    let call = match options.raw {
        true => Call::new("cmd.run")
            .arg([options.function.clone()].into_iter().chain(options.arguments.clone()).collect::<Vec<_>>().join(" ")),
        false => Call { args, kwargs, ..Call::new(&options.function) },
    };
    run_call(context, options.target, options.targeting.kind(), call, options.run_options).await
}

/// Runs a call on targets. The whole command line is checked before anything is sent.
pub async fn run_call(
    context: Context,
    target: String,
    kind: TargetKind,
    mut call: Call,
    mut options: RunOptions,
) -> Result<ExitCode, Failure> {
    options.show_jid |= context.common.diagnostics.verbose > 0;
    let metadata = metadata::of(&options.inherited.metadata, &options.metadata, &mut call)?;
    call_check::check(&call)?;
    let printer = options.printing.printer_for(&context, &call.function)?;
    let timeout = context.config.number("timeout")?.map(|number| number as f64);
    let request = RunRequest {
        target,
        target_kind: kind.name().to_owned(),
        delimiter: options.inherited.delimiter.clone(),
        metadata,
        job: options.job_id,
        options: options.job_options(timeout)?,
        ..RunRequest::of(&call)
    };
    // The controller's own answer needs no daemon, and leaves no job.
    if let Some(result) = call_check::local_answer(&call) {
        return LocalController::open(context).await?.print_answer(&request, &result, printer).await;
    }
    let run = Run { request, background: options.background, show_id: options.show_jid };
    if !run.request.options.wipe
        && let Some(client) = daemon::for_job(&context).await
    {
        return run.through_daemon(client, context, printer).await;
    }
    if run.background {
        return run.in_background(context).await;
    }
    run.in_this_process(context, printer).await
}

impl RunOptions {
    /// The job's options. Those of a repeated job apply unless the command line overrides them.
    fn job_options(&self, configured: Option<f64>) -> Result<JobOptions, Failure> {
        let inherited = &self.inherited.options;
        let timeout = self.timeout.or(inherited.timeout).or(configured).filter(|timeout| *timeout > 0.0);
        let options = JobOptions {
            batch: match &self.batch {
                Some(text) => Some(text.parse().map_err(|error| option_failure(&error))?),
                None => inherited.batch,
            },
            batch_wait: self.batch_wait.unwrap_or(inherited.batch_wait),
            timeout,
            failhard: self.failhard || inherited.failhard,
            subset: self.subset.or(inherited.subset),
            queue: self.queue || inherited.queue,
            stream: self.stream || inherited.stream,
            wipe: self.wipe || inherited.wipe,
        };
        options.check().map_err(|error| option_failure(&error))?;
        Ok(options)
    }
}

/// The error of an option, with its name on the command line.
fn option_failure(error: &OptionError) -> Failure {
    Failure::usage(match error {
        OptionError::Batch(text) => {
            format!("--batch takes a number such as 10 or a share such as 25%, not '{text}'")
        }
        OptionError::Duration { option, seconds } => {
            format!("--{}: {seconds} is no length of time", option.replace('_', "-"))
        }
        OptionError::Subset => "--subset 0 would run nothing".to_owned(),
    })
}

/// A job that is about to be started, wherever it will run.
struct Run {
    request: RunRequest,
    background: bool,
    show_id: bool,
}

impl Run {
    async fn through_daemon(
        self,
        client: Client,
        context: Context,
        mut printer: ResultPrinter,
    ) -> Result<ExitCode, Failure> {
        let Some(job) = client.start(&self.request).await.map_err(|error| daemon::refused(&error))? else {
            return Err(self.no_target(context).await);
        };
        if self.background {
            return print_background_id(job.id);
        }
        self.print_id(&job);
        let mut ids = Vec::new();
        if !job.missing.is_empty()
            && let Ok(roster) = roster::load(&context.common.roster, &context.config, &context.environment).await
        {
            ids.extend(roster.entries.into_iter().map(|entry| entry.id));
        }
        let updates = JobUpdates::of_daemon(&client, job.id);
        let control = JobControl::Daemon(client, job.id);
        let text = |id: &str| not_in_roster(id, ids.iter().map(String::as_str));
        print_job(&job, updates, &control, &mut printer, text).await
    }

    /// Why the daemon found no target: this process reads the roster itself to find the reason.
    async fn no_target(&self, context: Context) -> Failure {
        let failure = match LocalController::open(context).await {
            Ok(local) => local.select(&self.request).await.err(),
            Err(failure) => Some(failure),
        };
        failure.unwrap_or_else(|| {
            Failure::usage(format!("the daemon knows no target that fits '{}'", self.request.target))
                .hint("it read the roster before that was changed; `kill -HUP` or `systemctl reload rocksalt` has it read anew")
        })
    }

    async fn in_this_process(self, context: Context, printer: ResultPrinter) -> Result<ExitCode, Failure> {
        let spool = context.config.spool(&context.environment)?;
        let local = LocalController::open(context).await?;
        let options = LocalJobOptions { spool: Some(spool), ..LocalJobOptions::default() };
        let job = local.start_job(self.request.clone(), options).await?;
        self.print_id(&job.record);
        local.print_job(job, printer).await
    }

    /// Starts the same command again, without a terminal.
    async fn in_background(self, context: Context) -> Result<ExitCode, Failure> {
        let fault = |error: std::io::Error| Failure::usage(format!("can't start it in the background: {error}"));
        let spool = context.config.spool(&context.environment)?;
        // Checked here so that the user sees errors of the roster and the target.
        LocalController::open(context).await?.select(&self.request).await?;
        let id = self.request.job.unwrap_or_else(|| JobId::at(times::now()));
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
        // The id is printed once the job can be found by it.
        while !matches!(spool.job(id), Ok(Some(_))) {
            if let Some(status) = child.try_wait().map_err(fault)? {
                return Err(Failure::usage(format!("it ended in the background before it began ({status})")));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        print_background_id(id)
    }

    fn print_id(&self, job: &JobRecord) {
        if self.show_id {
            let call = self.request.call();
            let (args, kwargs) = masking::mask(&call.function, &call.args, &call.kwargs);
            let shown = arguments::show(&Call { args, kwargs, ..call });
            eprintln!("job {}: {shown} on {} targets", job.id, job.targets.len());
        }
    }
}

fn print_background_id(id: JobId) -> Result<ExitCode, Failure> {
    print_line!("{id}");
    eprintln!("`rocksalt jobs watch {id}` shows what comes of it");
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rocksalt_core::job_options::Batch;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        options: RunOptions,
    }

    fn options(words: &[&str], inherited: JobOptions) -> Result<JobOptions, Failure> {
        let words = std::iter::once("run").chain(words.iter().copied());
        let mut options = Words::try_parse_from(words).expect("the words are options").options;
        options.inherited.options = inherited;
        options.job_options(None)
    }

    #[test]
    fn the_options_of_a_repeated_job_hold_unless_the_command_line_has_others() {
        let before = JobOptions {
            batch: Some(Batch::Percent(12.5)),
            batch_wait: 2.0,
            timeout: Some(30.0),
            failhard: true,
            queue: true,
            ..JobOptions::default()
        };
        assert_eq!(options(&[], before.clone()).ok(), Some(before.clone()));
        let other = options(&["--batch", "3", "--timeout", "0", "--batch-wait", "1"], before.clone()).ok();
        let expected = JobOptions { batch: Some(Batch::Count(3)), timeout: None, batch_wait: 1.0, ..before };
        assert_eq!(other, Some(expected));
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        for words in [["--batch", "0"], ["--batch", "x%"], ["--batch-wait", "inf"], ["--subset", "0"]] {
            assert!(options(&words, JobOptions::default()).is_err(), "{words:?}");
        }
        assert!(options(&["--batch", "12.5%"], JobOptions::default()).is_ok());
    }
}
