//! `rocksalt links`: the open connections.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use rocksalt_connect::links::Links;
use rocksalt_core::value::Map;
use rocksalt_core::{Value, json};

use super::Context;
use crate::failure::Failure;
use crate::keeper;
use crate::stdout::print_line;

/// Shows the connections that are open between commands, since when, and who uses them.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Option<LinksCommand>,
}

#[derive(Subcommand)]
enum LinksCommand {
    /// Close connections: those of the targets named, or all
    Close {
        /// Their ids; none means all
        targets: Vec<String>,

        /// Remove the agents from the targets too
        #[arg(long)]
        wipe: bool,
    },
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let kept = keeper::running(&context.environment).await?;
    match (options.command, kept) {
        (Some(LinksCommand::Close { targets, wipe }), Some(kept)) => {
            let count = kept.close(&targets, wipe).await?;
            if targets.is_empty() {
                kept.stop().await;
            }
            eprintln!("closed {count} connection{}", if count == 1 { "" } else { "s" });
        }
        (Some(LinksCommand::Close { .. }), None) => eprintln!("no connection is up"),
        (None, None) if context.common.json => print_line!("[]"),
        (None, None) => eprintln!("no connection is up"),
        (None, Some(kept)) => {
            let links = kept.list().await?;
            if links.is_empty() && !context.common.json {
                eprintln!("no connection is up");
            } else {
                show(&links, context.common.json);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(links: &[rocksalt_core::link::Info], as_json: bool) {
    if as_json {
        let all = links.iter().map(|link| {
            let mut map = Map::new();
            map.insert("target", link.target.as_str());
            map.insert("link", link.key.to_string());
            map.insert("since", link.since);
            map.insert("idle", link.idle);
            map.insert("calls", link.calls);
            map.insert("users", Value::List(link.users.iter().map(|user| user.as_str().into()).collect()));
            map.insert("agent", link.agent_kind.name());
            map.insert("agent_version", link.agent_version.as_str());
            map.insert("agent_pid", link.agent_pid);
            Value::Map(map)
        });
        print_line!("{}", json::pretty(&Value::List(all.collect())));
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let rows = links.iter().map(|link| {
        let used = if link.users.is_empty() { format!("idle {}", age(link.idle)) } else { link.users.join(", ") };
        [link.target.clone(), link.key.to_string(), age(now.saturating_sub(link.since)), link.calls.to_string(), used]
    });
    crate::table::print(["TARGET", "LINK", "UP", "CALLS", "USED BY"], rows);
}

/// `12s`, `3m`, `2h`.
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        _ => format!("{}h", seconds / 3600),
    }
}
