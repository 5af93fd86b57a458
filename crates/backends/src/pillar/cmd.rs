//! `cmd_yaml` and `cmd_json`: the output of a command.

use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::{Map, Value, json, yaml};
use tokio::process::Command;

use super::{Error, PillarSource, PillarTarget, Settings, arguments, command, expect_map, id};

pub fn open_yaml(config: &Value, settings: &Settings) -> Result<Box<dyn PillarSource>, Error> {
    open(config, settings, |text| yaml::parse(text).map_err(|error| error.to_string()))
}

pub fn open_json(config: &Value, settings: &Settings) -> Result<Box<dyn PillarSource>, Error> {
    open(config, settings, |text| match text.trim() {
        "" => Ok(Value::Null),
        text => json::parse(text).map_err(|error| error.to_string()),
    })
}

fn open(config: &Value, settings: &Settings, read: ParseOutput) -> Result<Box<dyn PillarSource>, Error> {
    let arguments = arguments::named(config, &["command"])?;
    let command = arguments::text(&arguments, "command")?;
    Ok(Box::new(CommandPillar { command, read, timeout: settings.timeout, limit: settings.limit }))
}

type ParseOutput = fn(&str) -> Result<Value, String>;

struct CommandPillar {
    /// As configured: `%s` stands for the id.
    command: String,
    read: ParseOutput,
    timeout: Duration,
    limit: usize,
}

#[async_trait]
impl PillarSource for CommandPillar {
    async fn pillar(&self, target: &PillarTarget<'_>) -> Result<Map, Error> {
        // The configured command line is run by a shell, as in Salt; the id is checked to be a single word.
        let line = match self.command.contains("%s") {
            true => self.command.replace("%s", id::for_command(target.id)?),
            false => self.command.clone(),
        };
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &line]);
        let printed = command::output(shell, &line, self.timeout, self.limit).await?;
        let malformed = |why: String| Error::Malformed { what: line.clone(), why };
        let text = String::from_utf8(printed).map_err(|_| malformed("it is not UTF-8".into()))?;
        expect_map((self.read)(&text).map_err(malformed)?)
    }
}
