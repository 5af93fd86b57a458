//! `rocksalt call`: a function on this machine.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rocksalt_connect::agents::Agents;
use rocksalt_connect::links::Own;
use rocksalt_connect::pool::{Limits, Pool};
use rocksalt_controller::job::{How, Job};
use rocksalt_core::Call;
use rocksalt_core::roster::{Entry, Roster};

use super::Context;
use crate::failure::Failure;
use crate::prompt::Terminal;
use crate::session::{Printing, Session};
use crate::{arguments, local};

/// Runs a function on this machine, through an agent of its own as on any other.
#[derive(Args)]
pub struct Options {
    /// What to run: `test.ping`, `grains.items` …
    function: String,

    /// Its arguments: by position, or as name=value; each is read as YAML
    #[arg(allow_negative_numbers = true)]
    arguments: Vec<String>,

    /// This machine's id; default: the configuration's `id`, else the host name
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Show what commands print as they print it
    #[arg(long, help_heading = "Output")]
    stream: bool,

    #[command(flatten)]
    printing: Printing,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let (args, kwargs) = arguments::parse(&options.arguments).map_err(|error| Failure::caused(&error))?;
    let call = Call { args, kwargs, ..Call::new(&options.function) };
    local::check(&call)?;
    let printer = options.printing.printer(&context)?;
    // Salt prints this machine's results under the name `local`, whatever its id.
    let mut entry = Entry::new("local", "localhost");
    entry.transport = "local".into();
    entry.origin = "rocksalt call".into();
    let id =
        options.id.or_else(|| context.config.text("id")).unwrap_or_else(|| context.environment.person.hostname.clone());
    entry.options.insert("id", id);
    for key in ["grains", "cachedir", "saltenv", "hosts.file"] {
        if let Some(value) = context.config.get(key) {
            entry.options.insert(key, value.clone());
        }
    }
    let links = Own {
        pool: Arc::new(Pool::new(Agents::default(), &context.environment.person, Limits::default())),
        prompt: Arc::new(Terminal::default()),
        agent_socket: None,
    };
    let roster = Roster { entries: vec![entry.clone()], nodegroups: Vec::new() };
    let session = Session::with(&context, roster, Arc::new(links))?;
    let how = How { stream: options.stream, ..How::default() };
    let job = Job { id: super::run::new_job_id(), call, targets: vec![entry], how };
    session.run(job, Vec::new(), printer).await
}
