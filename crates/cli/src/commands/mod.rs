//! The commands, one file each.
//!
//! To add one: a file with its options and a `run`, a variant of [`RocksaltCommand`] and a line in [`run_command`].

mod access;
mod apply;
mod audit;
mod call;
mod check;
mod completions;
mod cp;
mod doc;
mod events;
mod hosts;
mod init;
mod jobs;
mod links;
mod man;
mod matching;
mod pillar;
mod render;
pub mod run;
mod serve;
pub mod state;
mod users;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::config::Config;
use crate::environment::ProcessEnvironment;
use crate::failure::{Failure, FailureKind};
use crate::{diagnostics, keeper, roster, salt_names};

/// Configuration management and remote execution over SSH
///
/// The short form leaves `run` out: rocksalt '*' test.ping
#[derive(Parser)]
#[command(name = "rocksalt", version, arg_required_else_help = true, after_help = AFTER_HELP, infer_long_args = false)]
struct Cli {
    #[command(flatten)]
    common: Common,

    #[command(subcommand)]
    command: RocksaltCommand,
}

const AFTER_HELP: &str = "\
Examples:
  rocksalt init infra && cd infra        a small project, explained in its files
  rocksalt '*' test.ping                 who answers?
  rocksalt -G os:Debian cmd.run uptime   targets by what they are
  rocksalt --host root@10.0.0.5 '*' grains.items
  rocksalt apply 'web*' nginx --test     what would these states change?
  rocksalt doc cmd.run                   what a function does and takes
  rocksalt jobs                          the jobs and their results
  rocksalt hosts --check                 which stage of connecting fails, and why?

Exit codes: 0 all fine, 1 nothing was sent (usage, configuration, roster),
2 a function failed, 3 a target was not reached, 130 interrupted.";

#[derive(Args, Clone)]
pub struct Common {
    /// The directory of rocksalt.yml and the roster; default: this project's, the user's, /etc/rocksalt
    #[arg(short = 'c', long, global = true, value_name = "DIR", env = "ROCKSALT_CONFIG_DIR")]
    pub config_dir: Option<PathBuf>,

    /// Use these grains for this machine: a file, JSON or YAML (state, pillar, render, match, call)
    #[arg(long, global = true, value_name = "FILE")]
    pub grains: Option<PathBuf>,

    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// Seconds that connections stay open after the command; 0 closes them at its end
    #[arg(long, global = true, value_name = "SECONDS")]
    pub persist: Option<u64>,

    /// Run without the daemon, even if one runs (also: ROCKSALT_DAEMON=off)
    #[arg(long, global = true)]
    pub no_daemon: bool,

    /// Use colours even if the output is not a terminal
    #[arg(long, global = true, visible_alias = "force-color", overrides_with = "no_colour")]
    pub force_colour: bool,

    /// No colours
    #[arg(long, global = true, visible_alias = "no-color")]
    pub no_colour: bool,

    #[command(flatten)]
    pub diagnostics: diagnostics::DiagnosticsOptions,

    #[command(flatten)]
    pub roster: roster::Options,
}

#[derive(Subcommand)]
enum RocksaltCommand {
    /// Run a function on targets
    Run(run::Options),
    /// Explain who may do what
    Access(access::Options),
    /// Apply states to targets
    Apply(apply::Options),
    /// Show the log of who did what, and check that nobody has changed it
    Audit(audit::Options),
    /// Run a function on this machine
    Call(call::Options),
    /// Find errors in state files, without touching any machine
    Check(check::Options),
    /// Copy files to targets, or back from them
    Cp(cp::Options),
    /// Show what functions do and take
    Doc(doc::Options),
    /// Show the daemon's events, or add one
    Events(events::Options),
    /// List the targets of the roster, or check which stage of connecting fails on each
    Hosts(hosts::Options),
    /// Write a small, commented project
    Init(init::Options),
    /// Find jobs, show their results, watch, cancel and rerun them
    Jobs(jobs::Options),
    /// Show the open connections, or close them
    Links(links::Options),
    /// Test whether target expressions match this machine
    Match(matching::Options),
    /// Show this machine's pillar
    Pillar(pillar::Options),
    /// Render a template and show the result
    Render(render::Options),
    /// Serve jobs, events and the HTTP API
    Serve(serve::Options),
    /// Compile states and show each stage, or apply them, on this machine
    State(state::Options),
    /// Add, change and remove users who log in to the daemon
    Users(users::Options),
    /// Print a completion script for a shell
    Completions(completions::Options),
    /// Print the manual page
    Man,
    /// Keep connections between commands (started automatically)
    #[command(hide = true)]
    Keeper,
}

pub fn main(words: Vec<OsString>) -> ExitCode {
    let command = Cli::command();
    let subcommands: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).chain(["help".to_owned()]).collect();
    let takes_value = |option: &str| {
        // `-vv` and `-ldebug` are short options with their values.
        if option.starts_with("-v") || (option.starts_with("-l") && option.len() > 2) {
            return Some(false);
        }
        command
            .get_arguments()
            .find(|argument| fits(argument, option))
            .map(|argument| argument.get_action().takes_values())
    };
    let words = salt_names::short_form(salt_names::translate(words), &subcommands, takes_value);
    if let Some(unknown) = salt_names::lone_word(&words) {
        let near = rocksalt_core::nearest::hint(&unknown, subcommands.iter().map(String::as_str));
        return Failure::usage(format!("'{unknown}' is no command{near}"))
            .hint(format!("as a target it needs a function: rocksalt '{unknown}' test.ping"))
            .report();
    }
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // clap's exit code for an invalid command line is 2; ours is 1.
            return ExitCode::from(if error.use_stderr() { FailureKind::Usage.code() } else { 0 });
        }
    };
    match run_command(cli) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn fits(argument: &clap::Arg, option: &str) -> bool {
    let long = option.strip_prefix("--");
    let short = option.strip_prefix('-').filter(|rest| rest.chars().count() == 1).and_then(|rest| rest.chars().next());
    (long.is_some()
        && (argument.get_long() == long
            || argument.get_all_aliases().unwrap_or_default().iter().any(|alias| Some(*alias) == long)))
        || (short.is_some() && argument.get_short() == short)
}

/// The context of every command.
pub struct Context {
    pub common: Common,
    pub environment: ProcessEnvironment,
    pub config: Config,
}

fn run_command(cli: Cli) -> Result<ExitCode, Failure> {
    // These need no configuration, and must work even if it is invalid.
    match &cli.command {
        RocksaltCommand::Completions(options) => return completions::run(options, Cli::command()),
        RocksaltCommand::Man => return man::run(&Cli::command()),
        RocksaltCommand::Init(options) => return init::run(options),
        RocksaltCommand::Doc(options) => return doc::run(options, &cli.common),
        _ => {}
    }
    let environment = ProcessEnvironment::read();
    if matches!(cli.command, RocksaltCommand::Serve(_)) {
        serve::prepare(&cli.common, &environment)?;
    }
    let config = Config::read(cli.common.config_dir.as_deref(), &environment, cli.common.persist);
    // Links can be listed and closed even if the configuration is invalid.
    let config = if matches!(cli.command, RocksaltCommand::Links(_)) {
        config.unwrap_or_else(|_| Config::none())
    } else {
        config?
    };
    let context = Context { common: cli.common, environment, config };
    let is_keeper = matches!(cli.command, RocksaltCommand::Keeper);
    // The daemon has its own log settings; the keeper sends its lines to the commands that request them.
    if !is_keeper && !matches!(cli.command, RocksaltCommand::Serve(_)) {
        context.common.diagnostics.start(&context.config, &context.environment)?;
    }
    if is_keeper {
        // Detached from the terminal: Ctrl-C and a closed window must only reach commands.
        let _ = rustix::process::setsid();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8))
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("can't start: {error}")))?;
    let code = runtime.block_on(async {
        match cli.command {
            RocksaltCommand::Run(options) => run::run(context, options).await,
            RocksaltCommand::Call(options) => call::run(context, options).await,
            RocksaltCommand::Access(options) => access::run(context, options).await,
            RocksaltCommand::Audit(options) => audit::run(context, options).await,
            RocksaltCommand::Users(options) => users::run(context, options).await,
            RocksaltCommand::Apply(options) => apply::run(context, options).await,
            RocksaltCommand::Check(options) => check::run(context, options).await,
            RocksaltCommand::Match(options) => matching::run(context, options).await,
            RocksaltCommand::Pillar(options) => pillar::run(context, options).await,
            RocksaltCommand::Render(options) => render::run(context, options).await,
            RocksaltCommand::Serve(options) => serve::run(context, options).await,
            RocksaltCommand::State(options) => state::run(context, options).await,
            RocksaltCommand::Cp(options) => cp::run(context, options).await,
            RocksaltCommand::Events(options) => events::run(context, options).await,
            RocksaltCommand::Jobs(options) => jobs::run(context, options).await,
            RocksaltCommand::Hosts(options) => hosts::run(context, options).await,
            RocksaltCommand::Links(options) => links::run(context, options).await,
            RocksaltCommand::Keeper => {
                keeper::serve(&context.environment, &context.config).await.map(|()| ExitCode::SUCCESS)
            }
            RocksaltCommand::Completions(_)
            | RocksaltCommand::Man
            | RocksaltCommand::Init(_)
            | RocksaltCommand::Doc(_) => Ok(ExitCode::SUCCESS),
        }
    });
    // A hanging connection must not delay the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(100));
    code
}

impl Context {
    pub fn style(&self, indent: Option<i32>) -> crate::output::Style {
        let wished = match (self.common.force_colour, self.common.no_colour) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        crate::environment::style(wished, indent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds, for example, two options with the same name.
    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
