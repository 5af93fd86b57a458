//! The functions of `docker`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::engine::{Engine, sound};
use super::states::condition;
use super::{CatalogFunction, Function, entry};
use crate::catalog::file::Flag;
use crate::machine::System;
use crate::text::words;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<Exists>(),
    entry::<InspectContainer>(),
    entry::<InspectImage>(),
    entry::<InspectNetwork>(),
    entry::<InspectVolume>(),
    entry::<Kill>(),
    entry::<ListContainers>(),
    entry::<ListTags>(),
    entry::<Logs>(),
    entry::<Pause>(),
    entry::<Pull>(),
    entry::<Restart>(),
    entry::<Rm>(),
    entry::<Rmi>(),
    entry::<Run>(),
    entry::<Start>(),
    entry::<StateOf>(),
    entry::<Stop>(),
    entry::<Unpause>(),
    entry::<Version>(),
];

/// Whether there is such a container.
///
/// ```text
/// rocksalt '*' docker.exists web
/// ```
#[function("docker.exists", reads)]
pub struct Exists {
    /// The container's name.
    name: String,
}

impl Function for Exists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let engine = Engine::find(machine)?;
        Ok(engine.inspect(machine, "container", sound(&self.name)?)?.is_some())
    }
}

/// The details of a container.
///
/// ```text
/// rocksalt '*' docker.inspect_container web
/// ```
#[function("docker.inspect_container", reads)]
pub struct InspectContainer {
    /// Its name.
    name: String,
}

impl Function for InspectContainer {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let engine = Engine::find(machine)?;
        found(&engine, machine, "container", &self.name)
    }
}

/// The details of an image.
///
/// ```text
/// rocksalt '*' docker.inspect_image nginx:1.25
/// ```
#[function("docker.inspect_image", reads)]
pub struct InspectImage {
    /// Its name.
    name: String,
}

impl Function for InspectImage {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let engine = Engine::find(machine)?;
        found(&engine, machine, "image", &self.name)
    }
}

/// The details of a network.
///
/// ```text
/// rocksalt '*' docker.inspect_network back
/// ```
#[function("docker.inspect_network", reads)]
pub struct InspectNetwork {
    /// Its name.
    name: String,
}

impl Function for InspectNetwork {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let engine = Engine::find(machine)?;
        found(&engine, machine, "network", &self.name)
    }
}

/// The details of a volume.
///
/// ```text
/// rocksalt '*' docker.inspect_volume back
/// ```
#[function("docker.inspect_volume", reads)]
pub struct InspectVolume {
    /// Its name.
    name: String,
}

impl Function for InspectVolume {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let engine = Engine::find(machine)?;
        found(&engine, machine, "volume", &self.name)
    }
}

/// Kills a container.
///
/// ```text
/// rocksalt '*' docker.kill web
/// ```
#[function("docker.kill", changes)]
pub struct Kill {
    /// The container's name.
    name: String,
}

impl Function for Kill {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let engine = Engine::find(machine)?;
        act(&engine, machine, &["kill"], &self.name)
    }
}

/// The names of the containers that run, or of all.
///
/// ```text
/// rocksalt '*' docker.list_containers
/// rocksalt '*' docker.list_containers all=True
/// ```
#[function("docker.list_containers", reads)]
pub struct ListContainers {
    /// Include those that don't run.
    all: Flag,
}

impl Function for ListContainers {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let engine = Engine::find(machine)?;
        let words: &[&str] =
            if self.all.0 { &["ps", "--all", "--format={{.Names}}"] } else { &["ps", "--format={{.Names}}"] };
        Ok(lines(&engine.ask(machine, words)?))
    }
}

/// The names and tags of all images.
///
/// ```text
/// rocksalt '*' docker.list_tags
/// ```
#[function("docker.list_tags", reads)]
pub struct ListTags {}

impl Function for ListTags {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let engine = Engine::find(machine)?;
        let printed = engine.ask(machine, &["images", "--format={{.Repository}}:{{.Tag}}"])?;
        Ok(lines(&printed).into_iter().filter(|name| !name.contains("<none>")).collect())
    }
}

/// The logs of a container.
///
/// ```text
/// rocksalt '*' docker.logs web
/// rocksalt '*' docker.logs web tail=20
/// ```
#[function("docker.logs", reads)]
pub struct Logs {
    /// The container's name.
    name: String,
    /// Only the last lines.
    tail: Option<u64>,
}

impl Function for Logs {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let engine = Engine::find(machine)?;
        let tail = self.tail.map(|count| format!("--tail={count}"));
        let words: Vec<&str> = ["logs"].into_iter().chain(tail.as_deref()).chain([sound(&self.name)?]).collect();
        engine.ask(machine, &words)
    }
}

/// Pauses a container.
///
/// ```text
/// rocksalt '*' docker.pause web
/// ```
#[function("docker.pause", changes)]
pub struct Pause {
    /// The container's name.
    name: String,
}

impl Function for Pause {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let engine = Engine::find(machine)?;
        act(&engine, machine, &["pause"], &self.name)
    }
}

/// Pulls an image, and returns its details.
///
/// ```text
/// rocksalt '*' docker.pull nginx:1.25
/// ```
#[function("docker.pull", changes)]
pub struct Pull {
    /// Its name and tag.
    image: String,
}

impl Function for Pull {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let engine = Engine::find(machine)?;
        engine.tell(machine, &["pull", sound(&self.image)?])?;
        found(&engine, machine, "image", &self.image)
    }
}

/// Stops a container and starts it again.
///
/// ```text
/// rocksalt '*' docker.restart web
/// ```
#[function("docker.restart", changes)]
pub struct Restart {
    /// The container's name.
    name: String,
}

impl Function for Restart {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let engine = Engine::find(machine)?;
        act(&engine, machine, &["restart"], &self.name)
    }
}

/// Removes a container.
///
/// ```text
/// rocksalt '*' docker.rm web
/// rocksalt '*' docker.rm web force=True
/// ```
#[function("docker.rm", changes)]
pub struct Rm {
    /// The container's name.
    name: String,
    /// Even if it runs.
    force: Flag,
}

impl Function for Rm {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let engine = Engine::find(machine)?;
        let words: &[&str] = if self.force.0 { &["rm", "--force"] } else { &["rm"] };
        let words: Vec<&str> = words.iter().copied().chain([sound(&self.name)?]).collect();
        engine.tell(machine, &words)?;
        Ok(true)
    }
}

/// Removes images.
///
/// ```text
/// rocksalt '*' docker.rmi nginx:1.24
/// rocksalt '*' docker.rmi nginx:1.24 force=True
/// ```
#[function("docker.rmi", changes)]
pub struct Rmi {
    /// Their names.
    #[rest]
    names: Vec<String>,
    /// Even if containers use them.
    force: Flag,
}

impl Function for Rmi {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let engine = Engine::find(machine)?;
        for name in &self.names {
            let words: &[&str] = if self.force.0 { &["rmi", "--force"] } else { &["rmi"] };
            let words: Vec<&str> = words.iter().copied().chain([sound(name)?]).collect();
            engine.tell(machine, &words)?;
        }
        Ok(true)
    }
}

/// Runs a command in a container, and returns its output.
///
/// ```text
/// rocksalt '*' docker.run web 'ls -l /'
/// ```
#[function("docker.run", changes)]
pub struct Run {
    /// The container's name.
    name: String,
    /// The command.
    cmd: String,
}

impl Function for Run {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let engine = Engine::find(machine)?;
        let words = words::split(&self.cmd)
            .map_err(|reason| Error::arguments(format!("cmd: '{}' can't be split into words: {reason}", self.cmd)))?;
        let words: Vec<&str> =
            ["exec", sound(&self.name)?].into_iter().chain(words.iter().map(String::as_str)).collect();
        engine.tell(machine, &words)
    }
}

/// Starts a container.
///
/// ```text
/// rocksalt '*' docker.start web
/// ```
#[function("docker.start", changes)]
pub struct Start {
    /// The container's name.
    name: String,
}

impl Function for Start {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let engine = Engine::find(machine)?;
        act(&engine, machine, &["start"], &self.name)
    }
}

/// Whether a container is `running`, `paused` or `stopped`.
///
/// ```text
/// rocksalt '*' docker.state web
/// ```
#[function("docker.state", reads)]
pub struct StateOf {
    /// The container's name.
    name: String,
}

impl Function for StateOf {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let engine = Engine::find(machine)?;
        Ok(condition(&found(&engine, machine, "container", &self.name)?).to_owned())
    }
}

/// Stops a container.
///
/// ```text
/// rocksalt '*' docker.stop web
/// rocksalt '*' docker.stop web timeout=30
/// ```
#[function("docker.stop", changes)]
pub struct Stop {
    /// The container's name.
    name: String,
    /// Seconds to wait before it is killed.
    timeout: Option<u64>,
}

impl Function for Stop {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let engine = Engine::find(machine)?;
        let time = self.timeout.map(|seconds| format!("--time={seconds}"));
        let words: Vec<&str> = ["stop"].into_iter().chain(time.as_deref()).collect();
        act(&engine, machine, &words, &self.name)
    }
}

/// Resumes a paused container.
///
/// ```text
/// rocksalt '*' docker.unpause web
/// ```
#[function("docker.unpause", changes)]
pub struct Unpause {
    /// The container's name.
    name: String,
}

impl Function for Unpause {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let engine = Engine::find(machine)?;
        act(&engine, machine, &["unpause"], &self.name)
    }
}

/// The version of the container engine's client.
///
/// ```text
/// rocksalt '*' docker.version
/// ```
#[function("docker.version", reads)]
pub struct Version {}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let engine = Engine::find(machine)?;
        Ok(engine.ask(machine, &["version", "--format={{.Client.Version}}"])?.trim().to_owned())
    }
}

/// The description of an object; an error if it doesn't exist.
fn found(engine: &Engine, machine: &dyn System, kind: &str, name: &str) -> Result<Value> {
    let found = engine.inspect(machine, kind, sound(name)?)?;
    found.ok_or_else(|| Error::failed(format!("there is no {kind} '{name}'")))
}

/// Runs a command on a container, and returns its state before and after.
fn act(engine: &Engine, machine: &dyn System, words: &[&str], name: &str) -> Result<Map> {
    let before = condition(&found(engine, machine, "container", name)?);
    let words: Vec<&str> = words.iter().copied().chain([sound(name)?]).collect();
    engine.tell(machine, &words)?;
    let after = condition(&found(engine, machine, "container", name)?);
    let state = Map::from_iter([("old".into(), before.into()), ("new".into(), after.into())]);
    Ok(Map::from_iter([("result".into(), Value::Bool(true)), ("state".into(), state.into())]))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
