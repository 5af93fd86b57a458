//! `rocksalt hosts`: the targets of the roster, and which stage of connecting fails on each.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use rocksalt_connect::log::target_span;
use rocksalt_core::link::{AgentKind, LinkFailure, Stage};
use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::value::Map;
use rocksalt_core::{Value, json};
use tokio::task::JoinSet;
use tracing::Instrument;

use super::Context;
use super::run::Targeting;
use crate::failure::{Failure, FailureKind};
use crate::local_controller::LocalController;
use crate::stdout::print_line;
use crate::table;

/// Lists the targets of the roster; with --check connects to each and shows which stage fails.
#[derive(Args)]
pub struct Options {
    /// Only these; default: all
    #[arg(default_value = "*")]
    target: String,

    #[command(flatten)]
    targeting: Targeting,

    /// Connect to each and show which stage fails: address, TCP, greeting, key, login, sudo, agent
    #[arg(long)]
    check: bool,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let as_json = context.common.json;
    let request = RunRequest {
        target: options.target,
        target_kind: options.targeting.kind().name().to_owned(),
        ..RunRequest::default()
    };
    let local = LocalController::open(context).await?;
    let entries = local.select(&request).await?.entries;
    if options.check {
        return check(&local, entries, as_json).await;
    }
    if as_json {
        let all = entries.iter().map(|entry| (entry.id.as_str().into(), describe(entry)));
        print_line!("{}", json::pretty(&Value::Map(all.collect::<Map>())));
    } else {
        let rows = entries.iter().map(|entry| {
            let user = entry.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
            let port = entry.port.map(|port| format!(":{port}")).unwrap_or_default();
            let escalate = entry.escalate.as_ref().map(|wish| format!("{} to {}", wish.method.name(), wish.user));
            [
                entry.id.clone(),
                format!("{user}{}{port}", entry.host),
                entry.transport.clone(),
                escalate.unwrap_or_default(),
                entry.origin.clone(),
            ]
        });
        table::print(["ID", "ADDRESS", "TRANSPORT", "BECOMES", "WRITTEN IN"], rows);
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(entry: &RosterEntry) -> Value {
    let mut map = Map::new();
    map.insert("host", entry.host.as_str());
    map.insert("user", entry.user.clone());
    map.insert("port", entry.port.map(u32::from));
    map.insert("transport", entry.transport.as_str());
    map.insert("becomes", entry.escalate.as_ref().map(|wish| format!("{}:{}", wish.method.name(), wish.user)));
    map.insert("origin", entry.origin.as_str());
    Value::Map(map)
}

/// The last stage that succeeded, and the failure after it.
struct Reached {
    index: usize,
    id: String,
    stages: Vec<Stage>,
    failure: Option<LinkFailure>,
    time: std::time::Duration,
}

async fn check(local: &LocalController, entries: Vec<RosterEntry>, as_json: bool) -> Result<ExitCode, Failure> {
    let mut checking = JoinSet::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let links = Arc::clone(&local.controller.links);
        let span = target_span(&entry.id, None);
        let checked = async move {
            let begun = std::time::Instant::now();
            let stages = Arc::new(Mutex::new(Vec::new()));
            let progress = {
                let stages = Arc::clone(&stages);
                move |stage: Stage| stages.lock().unwrap_or_else(PoisonError::into_inner).push(stage)
            };
            let failure = links.open(&entry, AgentKind::Small, false, Some(&progress)).await.err();
            let stages = stages.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Reached { index, id: entry.id, stages, failure, time: begun.elapsed() }
        };
        checking.spawn(checked.instrument(span));
    }
    let mut all = Vec::new();
    while let Some(Ok(reached)) = checking.join_next().await {
        all.push(reached);
    }
    all.sort_by_key(|reached| reached.index);
    let bad = all.iter().filter(|reached| reached.failure.is_some()).count();
    if as_json {
        let all = all.iter().map(|reached| (reached.id.as_str().into(), as_value(reached)));
        print_line!("{}", json::pretty(&Value::Map(all.collect::<Map>())));
    } else {
        for reached in &all {
            show(reached);
        }
        eprintln!("{} of {} targets are fine", all.len() - bad, all.len());
    }
    if bad > 0 { Err(Failure::silent(FailureKind::Unreached)) } else { Ok(ExitCode::SUCCESS) }
}

fn show(reached: &Reached) {
    match &reached.failure {
        None => print_line!("{}: ok, the agent answers ({} ms)", reached.id, reached.time.as_millis()),
        Some(failure) => {
            let done: Vec<&str> = reached.stages.iter().map(|stage| stage.name()).collect();
            let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
            print_line!("{}: stopped at {}", reached.id, failure.stage.name());
            print_line!("    done: {done}");
            print_line!("    {}", failure.text);
            if let Some(hint) = &failure.hint {
                print_line!("    hint: {hint}");
            }
        }
    }
}

fn as_value(reached: &Reached) -> Value {
    let mut map = Map::new();
    map.insert("ok", reached.failure.is_none());
    map.insert("done", Value::List(reached.stages.iter().map(|stage| stage.name().into()).collect()));
    map.insert("stopped_at", reached.failure.as_ref().map(|failure| failure.stage.name().to_owned()));
    map.insert("text", reached.failure.as_ref().map(|failure| failure.text.clone()));
    map.insert("hint", reached.failure.as_ref().and_then(|failure| failure.hint.clone()));
    map.insert("milliseconds", reached.time.as_millis() as u64);
    Value::Map(map)
}
