//! `rocksalt access`: who may do what, and why.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use rocksalt_core::json;
use rocksalt_core::request::RunRequest;
use rocksalt_daemon::access::AccessPolicy;

use super::Context;
use crate::arguments;
use crate::config::FILE;
use crate::failure::{Failure, FailureKind};
use crate::local_controller::LocalController;
use crate::stdout::print_line;

/// Who may do what over the network, by `external_auth` of the configuration (docs/access.md).
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: AccessCommand,
}

#[derive(Subcommand)]
enum AccessCommand {
    /// Explain whether a user may run a function on a target, and which rules were applied
    ///
    /// Reads the configuration as it is now, whether a daemon runs or not. The exit code is 0 if it is allowed, else 2.
    Explain(Explain),
}

#[derive(Args)]
struct Explain {
    user: String,

    /// `test.ping`; `runner.jobs.active` and `wheel.key.accept` mean functions of the controller
    function: String,

    /// The target, as in `rocksalt run`
    #[arg(default_value = "*")]
    target: String,

    /// Arguments of the function, as in `rocksalt run`
    arguments: Vec<String>,

    /// How the user logs in; default: each of the ways that external_auth has
    #[arg(long)]
    eauth: Option<String>,

    /// A group that the user is in; may be given several times
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,

    /// How the target is meant: glob, list, pcre, grain, compound, nodegroup …
    #[arg(long, value_name = "KIND", default_value = "glob")]
    target_kind: String,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let AccessCommand::Explain(asked) = options.command;
    let (args, kwargs) = arguments::parse(&asked.arguments).map_err(|error| Failure::caused(&error))?;
    let (config, as_json) = (context.config.values().clone(), context.common.json);
    let place = context.config.directory.clone().unwrap_or_default().join(FILE);
    let controller = LocalController::open(context).await?.controller;
    let access = AccessPolicy::read(&config, &controller.nodegroups);
    let access = access.map_err(|why| Failure::usage(format!("{}: {why}", place.display())))?;
    let run = RunRequest {
        function: asked.function,
        args,
        kwargs,
        target: asked.target,
        target_kind: asked.target_kind,
        ..RunRequest::default()
    };
    let told = access.explain(&asked.user, asked.eauth.as_deref(), &asked.groups, &run, &controller).await;
    let told = told.map_err(|refusal| Failure::usage(refusal.text))?;
    if as_json {
        print_line!("{}", json::compact(&told.to_value()));
    } else {
        for line in &told.lines {
            print_line!("{line}");
        }
        let verdict = if told.allowed { "allowed" } else { "refused" };
        match &told.only {
            Some(only) => print_line!("{verdict}, on {}", only.join(", ")),
            None => print_line!("{verdict}"),
        }
    }
    if told.allowed { Ok(ExitCode::SUCCESS) } else { Err(Failure::silent(FailureKind::Function)) }
}
