//! `rocksalt audit`: the log of requests and their users, a hash chain.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use rocksalt_core::request::ControllerCall;
use rocksalt_core::{Map, Value, json};
use rocksalt_daemon::audit::{self, ChainHead};

use super::Context;
use crate::failure::{Failure, FailureKind};
use crate::output::clean;
use crate::stdout::print_line;
use crate::{daemon, table};

/// The log of requests to the daemon, with their users (docs/access.md).
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Check that no entry was changed, removed or put in; name the first one that is wrong
    ///
    /// A running daemon is asked for the newest entry that the store knows, so that a truncated log is found too. The exit
    /// code is 0 if nothing is wrong, else 2.
    Verify {
        /// Files of the log, the oldest first; default: those of this configuration's daemon
        files: Vec<PathBuf>,

        /// The newest entry as it was noted before: its number and its hash
        #[arg(long, value_name = "NUMBER:HASH")]
        head: Option<String>,
    },
    /// Show the newest entries
    Show {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20)]
        count: usize,

        /// Only what this user did
        #[arg(long)]
        user: Option<String>,

        /// Only what was refused
        #[arg(long)]
        refused: bool,

        /// Files of the log, the oldest first; default: those of this configuration's daemon
        files: Vec<PathBuf>,
    },
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    match options.command {
        AuditCommand::Verify { files, head } => verify(&context, files, head).await,
        AuditCommand::Show { count, user, refused, files } => {
            let wanted = |entry: &Value| {
                let text = |name: &str| entry.walk(name, ":").and_then(Value::as_str).unwrap_or_default();
                user.as_ref().is_none_or(|user| text("user") == user) && (!refused || text("verdict") == "refused")
            };
            show(&context, &of(&context, files)?, count, wanted)
        }
    }
}

async fn verify(context: &Context, given: Vec<PathBuf>, head: Option<String>) -> Result<ExitCode, Failure> {
    let ours = given.is_empty();
    let files = of(context, given)?;
    let mut head = head.map(|text| parse(&text)).transpose()?;
    let mut asked = true;
    if head.is_none() && ours {
        // Asked before the file is read: later entries are only in the file.
        match seen(context).await {
            Some(found) => head = Some(found),
            None => asked = false,
        }
    }
    let report = audit::verify(&files, head.as_ref())
        .map_err(|error| Failure::usage(format!("can't read the audit log: {error}")))?;
    if context.common.json {
        let mut map = Map::new();
        map.insert("entries", report.entries);
        map.insert("first", report.first);
        map.insert("last", report.last);
        map.insert("unfinished", report.unfinished);
        map.insert("store_asked", head.is_some());
        if let Some(fault) = &report.fault {
            map.insert("file", fault.file.to_string_lossy().into_owned());
            map.insert("line", fault.line);
            map.insert("entry", fault.entry.map_or(Value::Null, Value::from));
            map.insert("why", fault.why.as_str());
        }
        print_line!("{}", json::compact(&Value::Map(map)));
    } else {
        if report.entries > 0 {
            print_line!("entries {} to {} are in order", report.first, report.last);
        }
        if report.first > 1 {
            print_line!("the entries before {} are not in these files", report.first);
        }
        if report.unfinished {
            print_line!("the last line is not finished: the daemon is writing it, or died while it did");
        }
        if !asked {
            print_line!("the store was not asked how far it has seen the log: no daemon runs here");
        }
        if let Some(fault) = &report.fault {
            let entry = fault.entry.map(|entry| format!(", entry {entry}")).unwrap_or_default();
            print_line!("BROKEN: {}, line {}{entry}: {}", fault.file.display(), fault.line, clean(&fault.why));
        }
    }
    match report.fault {
        None => Ok(ExitCode::SUCCESS),
        Some(_) => Err(Failure::silent(FailureKind::Function)),
    }
}

/// The newest entry that the store knows, from a running daemon.
async fn seen(context: &Context) -> Option<ChainHead> {
    let client = daemon::connect(context).await.ok()?;
    let ran =
        client.wheel(&ControllerCall { function: "audit.head".into(), ..ControllerCall::default() }).await.ok()?;
    let result = ran.result?;
    let number = result.walk("number", ":").and_then(Value::as_i64)?;
    let hash = result.walk("hash", ":").and_then(Value::as_str)?;
    Some(ChainHead { number: u64::try_from(number).ok()?, hash: hash.to_owned() })
}

fn parse(text: &str) -> Result<ChainHead, Failure> {
    let parts = text.split_once(':').and_then(|(number, hash)| Some((number.parse().ok()?, hash)));
    match parts {
        Some((number, hash)) if hash.len() == 64 => Ok(ChainHead { number, hash: hash.to_ascii_lowercase() }),
        _ => Err(Failure::usage(format!("'{text}' is not the number and the hash of an entry: 1234:64 hex digits"))),
    }
}

fn of(context: &Context, given: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    if !given.is_empty() {
        return Ok(given);
    }
    let directory = context.config.state_dir(&context.environment);
    let files = audit::files(&directory).unwrap_or_default();
    match files.is_empty() {
        false => Ok(files),
        true => Err(Failure::usage(format!("there is no audit log in {}", directory.display()))
            .hint("a daemon begins one when it starts; or name the file")),
    }
}

fn show(
    context: &Context,
    files: &[PathBuf],
    count: usize,
    wanted: impl Fn(&Value) -> bool,
) -> Result<ExitCode, Failure> {
    let mut entries = std::collections::VecDeque::new();
    for file in files {
        let fault = |error: std::io::Error| Failure::usage(format!("can't read {}: {error}", file.display()));
        for line in BufReader::new(File::open(file).map_err(fault)?).lines() {
            // `verify` reports malformed lines.
            let Ok(entry) = json::parse(&line.map_err(fault)?) else { continue };
            if wanted(&entry) {
                entries.push_back(entry);
                if entries.len() > count {
                    entries.pop_front();
                }
            }
        }
    }
    if context.common.json {
        entries.iter().for_each(|entry| print_line!("{}", json::compact(entry)));
        return Ok(ExitCode::SUCCESS);
    }
    let rows = entries.iter().map(|entry| {
        let text =
            |name: &str| entry.walk(name, ":").map(|value| clean(&value.to_string()).to_string()).unwrap_or_default();
        let what = ["kind", "function", "target", "jid"].map(text);
        let what = what.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        let verdict = match (text("verdict").as_str(), text("why")) {
            ("refused", why) => format!("refused: {why}"),
            (_, why) if !why.is_empty() => why,
            (other, _) => other.to_owned(),
        };
        [text("n"), text("time"), text("user"), text("from"), what, verdict]
    });
    table::print(["#", "time", "user", "from", "what", "verdict"], rows);
    Ok(ExitCode::SUCCESS)
}
