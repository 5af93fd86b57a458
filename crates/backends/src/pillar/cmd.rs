//! `cmd_yaml` and `cmd_json`: what a command prints.

use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::{Map, Value, json, yaml};
use tokio::process::Command;

use super::{Error, Pillar, Settings, Target, arguments, command, id, map};

pub fn open_yaml(config: &Value, settings: &Settings) -> Result<Box<dyn Pillar>, Error> {
    open(config, settings, |text| yaml::parse(text).map_err(|error| error.to_string()))
}

pub fn open_json(config: &Value, settings: &Settings) -> Result<Box<dyn Pillar>, Error> {
    open(config, settings, |text| match text.trim() {
        "" => Ok(Value::Null),
        text => json::parse(text).map_err(|error| error.to_string()),
    })
}

fn open(config: &Value, settings: &Settings, read: Read) -> Result<Box<dyn Pillar>, Error> {
    let arguments = arguments::named(config, &["command"])?;
    let command = arguments::text(&arguments, "command")?;
    Ok(Box::new(Cmd { command, read, timeout: settings.timeout, limit: settings.limit }))
}

type Read = fn(&str) -> Result<Value, String>;

struct Cmd {
    /// As configured: `%s` stands for the id.
    command: String,
    read: Read,
    timeout: Duration,
    limit: usize,
}

#[async_trait]
impl Pillar for Cmd {
    async fn pillar(&self, target: &Target<'_>) -> Result<Map, Error> {
        // The configuration's own command line goes through a shell, as in Salt; the id can't be more than a word.
        let line = match self.command.contains("%s") {
            true => self.command.replace("%s", id::for_command(target.id)?),
            false => self.command.clone(),
        };
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &line]);
        let printed = command::output(shell, &line, self.timeout, self.limit).await?;
        let malformed = |why: String| Error::Malformed { what: line.clone(), why };
        let text = String::from_utf8(printed).map_err(|_| malformed("it is not UTF-8".into()))?;
        map((self.read)(&text).map_err(malformed)?)
    }
}
