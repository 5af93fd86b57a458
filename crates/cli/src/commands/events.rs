//! `rocksalt events`: the daemon's event log.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use rocksalt_client::{Client, EventNotice, Events};
use rocksalt_core::record::{EventId, LoggedEvent};
use rocksalt_core::{Event, Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::Context;
use crate::failure::Failure;
use crate::stdout::print_line;
use crate::{arguments, daemon, output, times};

/// Shows the daemon's events: the stored ones, or with --follow new ones.
///
/// Each has a number; `--since NUMBER` continues after it, without gaps or duplicates.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    command: Option<EventsCommand>,

    /// Only those whose tags fit one of these globs: 'salt/job/*'
    tags: Vec<String>,

    /// Wait for new events
    #[arg(long, short)]
    follow: bool,

    /// The events after this number
    #[arg(long, value_name = "NUMBER")]
    since: Option<EventId>,

    /// The last N; with --since or --follow: end after N
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<usize>,
}

#[derive(Subcommand)]
enum EventsCommand {
    /// Put an event into the log
    Fire(Fire),
}

#[derive(Args)]
struct Fire {
    /// Its tag: my/deploy/done
    tag: String,

    /// Its data as name=value; each value is read as YAML
    data: Vec<String>,
}

/// The default number of events.
const USUAL: usize = 50;

/// How many are requested at a time.
const PAGE: usize = 1000;

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let client = daemon::connect(&context).await.map_err(|absent| absent.failure())?;
    if let Some(EventsCommand::Fire(fire)) = options.command {
        return fire.run(&context, &client).await;
    }
    let mut shown =
        EventPrinter { as_json: context.common.json, width: context.style(None).width, last: options.since };
    let mut left = options.count;
    if options.since.is_none() && options.follow {
        // Starts after the newest event, so that no later one is missed.
        shown.last = Some(client.logged(None, &[], 1).await.map_err(|error| daemon::refused(&error))?.newest);
    } else {
        past(&client, &options, &mut shown, &mut left).await?;
    }
    if options.follow && left != Some(0) {
        let mut interrupts = signal(SignalKind::interrupt()).map_err(|error| Failure::usage(error.to_string()))?;
        tokio::select! {
            ended = following(&client, &options.tags, &mut shown, left) => ended?,
            _ = interrupts.recv() => {}
        }
    }
    if let Some(last) = shown.last {
        eprintln!("go on with: --since {last}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints stored events: all after a number, or the newest.
async fn past(
    client: &Client,
    options: &Options,
    shown: &mut EventPrinter,
    left: &mut Option<usize>,
) -> Result<(), Failure> {
    let mut after = options.since;
    let mut end = None;
    loop {
        let usual = if options.since.is_some() { PAGE } else { USUAL };
        let wanted = left.unwrap_or(usual).min(PAGE);
        let page = client.logged(after, &options.tags, wanted).await.map_err(|error| daemon::refused(&error))?;
        // Events that arrive meanwhile are left to --follow.
        let end = *end.get_or_insert(page.newest);
        if let Some(left) = left.as_mut().filter(|_| options.since.is_some() || options.follow) {
            *left -= page.events.len().min(*left);
        }
        for logged in &page.events {
            shown.event(logged);
        }
        if *left == Some(0) {
            return Ok(());
        }
        shown.last = shown.last.max(Some(page.next));
        if options.since.is_none() || page.next >= end {
            return Ok(());
        }
        after = Some(page.next);
    }
}

/// Prints new events, even across restarts of the daemon.
async fn following(
    client: &Client,
    tags: &[String],
    shown: &mut EventPrinter,
    mut left: Option<usize>,
) -> Result<(), Failure> {
    let mut events: Events = client.events(shown.last, tags);
    let mut away = false;
    loop {
        match events.next().await {
            Ok(EventNotice::Event(logged)) => {
                away = false;
                shown.event(&logged);
                if let Some(left) = &mut left {
                    *left -= 1;
                    if *left == 0 {
                        return Ok(());
                    }
                }
            }
            Ok(EventNotice::Gap { first }) => eprintln!("the events before {first} are forgotten; there is a gap"),
            Err(error) if error.is_transient() => {
                if !away {
                    eprintln!("the daemon is away; waiting for it");
                }
                away = true;
                tokio::time::sleep(Duration::from_millis(300)).await;
                events = client.events(shown.last, tags);
            }
            Err(error) => return Err(daemon::refused(&error)),
        }
    }
}

struct EventPrinter {
    as_json: bool,
    width: Option<usize>,
    /// The number of the newest event that was printed.
    last: Option<EventId>,
}

impl EventPrinter {
    fn event(&mut self, logged: &LoggedEvent) {
        // Events that are not stored have no number.
        if logged.id > 0 {
            self.last = self.last.max(Some(logged.id));
        }
        if self.as_json {
            print_line!("{}", json::compact(&described(logged)));
            return;
        }
        let line = line(logged);
        match self.width {
            Some(width) => print_line!("{}", line.chars().take(width).collect::<String>()),
            None => print_line!("{line}"),
        }
    }
}

fn line(logged: &LoggedEvent) -> String {
    let time = &times::iso(logged.stamp)[11..23];
    let number = if logged.id > 0 { logged.id.to_string() } else { "-".to_owned() };
    let data = json::compact(&Value::Map(logged.event.data.clone()));
    output::clean(&format!("{number:>6}  {time}  {}  {data}", logged.event.tag)).replace('\n', " ")
}

fn described(logged: &LoggedEvent) -> Value {
    let mut map = Map::new();
    map.insert("id", logged.id);
    map.insert("time", times::iso(logged.stamp));
    map.insert("tag", logged.event.tag.as_str());
    map.insert("data", logged.event.data.clone());
    map.into()
}

impl Fire {
    async fn run(self, context: &Context, client: &Client) -> Result<ExitCode, Failure> {
        let (args, data) = arguments::parse(&self.data).map_err(|error| Failure::caused(&error))?;
        if let Some(word) = args.first() {
            return Err(Failure::usage(format!("'{word}' is no data of an event")).hint("write it as name=value"));
        }
        let event = Event { tag: self.tag, data };
        let id = client.fire(&event).await.map_err(|error| daemon::refused(&error))?;
        match context.common.json {
            true => print_line!("{}", json::compact(&Map::from_iter([("id".into(), id.into())]).into())),
            false => print_line!("{id}"),
        }
        Ok(ExitCode::SUCCESS)
    }
}
