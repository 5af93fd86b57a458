//! `docker_container.running`: a running container as specified.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::arguments::ContainerSpec;
use super::super::difference;
use super::super::engine::{Engine, sound};
use super::{Decision, State, Step, Verdict, sql};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::change;
use crate::catalog::file::Flag;
use crate::machine::{Probe, System};

/// Seconds after which a started container is looked at.
const SETTLING: f64 = 0.5;

/// Makes sure that a container runs, with these settings.
///
/// ```yaml
/// web:
///   docker_container.running:
///     - image: nginx:1.25
///     - port_bindings: ['80:80']
///     - binds: ['/srv/www:/usr/share/nginx/html:ro']
///     - environment: {TZ: Europe/Berlin}
///     - restart_policy: always
/// ```
///
/// Takes what `docker create` takes, under Salt's names: `command`, `environment`, `port_bindings`, `ports`, `binds`,
/// `volumes`, `restart_policy`, `network_mode`, `privileged`, `user`, `hostname`, `labels`, `cap_add` … A container
/// whose image or settings differ is replaced; the new one is made before the old one is removed.
#[state("docker_container.running", watches)]
pub struct Running {
    /// The container's name.
    name: String,
    /// The image, which is pulled if it is not there.
    image: Option<String>,
    /// Networks that it is in and no others: names, or maps with `ipv4_address`, `ipv6_address`, `aliases`, `links`.
    networks: Value,
    /// Replace it even if nothing differs.
    force: Flag,
    /// What a change of something that it watches does: `force` replaces it, else the signal to send.
    #[default("force")]
    watch_action: String,
    /// Start it if it doesn't run.
    #[default(true)]
    start: Flag,
    /// Seconds that it has to end by itself before it is killed.
    shutdown_timeout: Option<u64>,
    /// All other settings.
    kwargs: Map,
}

/// The planned change.
#[derive(Serialize, Deserialize)]
pub struct ContainerPlan {
    engine: Engine,
    request: ContainerSpec,
    image: String,
    /// The image must be fetched first.
    pull: bool,
    exists: bool,
    /// Create a new container.
    make: bool,
    signal: Option<String>,
    before: Option<String>,
    old_image: Option<String>,
    changes: Map,
    comments: Vec<String>,
}

impl State for Running {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine, step, self.force.0, false))?.into_plan()
    }

    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let force = self.watch_action == "force";
        sql::or_bad(self.look(machine, step, force, !force))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: ContainerPlan = plan.into_own()?;
        let mut verdict = Verdict::good("");
        let mut comments = plan.comments.clone();
        let done = self.carry_out(plan, machine, &mut verdict.changes, &mut comments);
        if let Err(error) = done {
            verdict.result = Some(false);
            comments.push(error.to_string());
        }
        verdict.comment = told(&comments);
        Ok(verdict)
    }
}

impl Running {
    /// As in Salt, a new container is always started.
    fn starts(&self, make: bool, exists: bool, before: Option<&str>) -> bool {
        match make {
            true => !exists || self.start.0,
            false => self.start.0 && before != Some("running"),
        }
    }

    fn look(&self, machine: &dyn Probe, _: &Step<'_>, force: bool, signal: bool) -> Result<Decision<ContainerPlan>> {
        let name = sound(&self.name)?;
        let Some(image) = self.image.as_deref().filter(|image| !image.is_empty()) else {
            return sql::settled(Verdict::bad("The 'image' argument is required"));
        };
        let request = ContainerSpec::new(&self.kwargs, &self.networks)?;
        let engine = Engine::find(machine)?;
        let id = |thing: &Value, key: &str| thing.walk(key, "/").map(|id| bare(&id.to_string()));
        let image_id = engine.inspect(machine, "image", sound(image)?)?.and_then(|found| id(&found, "Id"));
        let container = engine.inspect(machine, "container", name)?;
        let old_image = container.as_ref().and_then(|container| id(container, "Image"));
        let before = container.as_ref().map(condition);
        let mut changes = Map::new();
        let other_image = container.is_some() && old_image != image_id;
        if let Some(container) = container.as_ref().filter(|_| !force && !other_image) {
            let differences = difference::of(container, &request);
            if !differences.is_empty() {
                changes.insert("container", differences);
            }
        }
        let make = container.is_none() || force || other_image || !changes.is_empty();
        let signal = (signal && !make).then(|| self.watch_action.clone());
        let mut comments = Vec::new();
        if let Some(signal) = &signal {
            changes.insert("signal", signal.as_str());
        } else if !make {
            comments.push(format!("Container '{name}' is already configured as specified"));
        }
        if !make && signal.is_none() && !self.starts(make, container.is_some(), before) {
            return sql::settled(Verdict::good(told(&comments)));
        }
        let plan = ContainerPlan {
            engine,
            request,
            image: image.to_owned(),
            pull: image_id.is_none(),
            exists: container.is_some(),
            make,
            signal,
            before: before.map(str::to_owned),
            old_image,
            changes,
            comments,
        };
        let would = self.foretold(&plan, image_id, force);
        Ok(Decision::Change(plan, would))
    }

    /// The verdict of a dry run.
    fn foretold(&self, plan: &ContainerPlan, image_id: Option<String>, force: bool) -> Verdict {
        let before = plan.before.as_deref();
        let after = if self.starts(plan.make, plan.exists, before) {
            "running"
        } else if plan.make {
            "stopped"
        } else {
            before.unwrap_or("stopped")
        };
        let mut changes = plan.changes.clone();
        if before != Some(after) {
            changes.insert("state", state(before, after));
        }
        if plan.exists && plan.old_image != image_id {
            changes.insert("image", change(plan.old_image.clone(), image_id));
        }
        if force && plan.exists {
            changes.insert("forced_update", true);
        }
        let mut comments = plan.comments.clone();
        comments.push(match (&plan.signal, plan.make) {
            (Some(signal), _) => format!("Signal {signal} would be sent to container"),
            (None, true) => {
                let how = if plan.exists { "replaced" } else { "created" };
                format!("Container '{}' would be {how}", self.name)
            }
            (None, false) => "Container would be started".into(),
        });
        Verdict::would(told(&comments)).changes(changes)
    }

    fn carry_out(
        &self,
        plan: ContainerPlan,
        machine: &dyn System,
        changes: &mut Map,
        comments: &mut Vec<String>,
    ) -> Result<()> {
        let (engine, name) = (&plan.engine, self.name.as_str());
        if plan.pull {
            engine.tell(machine, &["pull", &plan.image])?;
        }
        changes.extend(plan.changes);
        if let Some(signal) = &plan.signal {
            engine.tell(machine, &["kill", &format!("--signal={signal}"), name])?;
            comments.push(format!("Sent signal {signal} to container"));
        }
        if plan.make {
            let place = if plan.exists { format!("{name}-rocksalt-new") } else { name.to_owned() };
            if plan.exists && engine.inspect(machine, "container", &place)?.is_some() {
                // Left behind by an earlier run that was interrupted.
                engine.tell(machine, &["rm", "--force", &place])?;
            }
            let added = self.make(engine, machine, &plan.request, &place, &plan.image)?;
            let mut ids = Map::new();
            if plan.exists {
                let removed = engine.inspect(machine, "container", name)?;
                let id = removed.and_then(|container| container.walk("Id", "/").cloned()).unwrap_or_default();
                let wait = self.shutdown_timeout.map(|seconds| format!("--time={seconds}"));
                let stop: Vec<&str> = ["stop"].into_iter().chain(wait.as_deref()).chain([name]).collect();
                engine.tell(machine, &stop)?;
                engine.tell(machine, &["rm", name])?;
                engine.tell(machine, &["rename", &place, name])?;
                ids.insert("removed", Value::List(vec![id]));
                comments.push(format!("Replaced container '{name}'"));
            } else {
                comments.push(format!("Created container '{name}'"));
            }
            ids.insert("added", added);
            changes.insert("container_id", ids);
        }
        if self.starts(plan.make, plan.exists, plan.before.as_deref()) {
            engine.tell(machine, &["start", name])?;
            // What fails as it starts mostly does so at once, and is seen to run until then.
            machine.sleep(SETTLING)?;
        }
        let now = engine.inspect(machine, "container", name)?;
        let after = now.as_ref().map_or("absent", condition);
        if plan.before.as_deref() != Some(after) {
            changes.insert("state", state(plan.before.as_deref(), after));
            if let Some(before) = plan.before {
                comments.push(format!("State changed from '{before}' to '{after}'"));
            }
        }
        let image = now.and_then(|container| container.walk("Image", "/").map(|id| bare(&id.to_string())));
        if plan.exists && image != plan.old_image {
            comments.push("Container has a new image".into());
            changes.insert("image", change(plan.old_image, image));
        }
        match after == "running" || !self.start {
            true => Ok(()),
            false => Err(crate::Error::failed(match engine.ask(machine, &["logs", "--tail=20", name]) {
                Ok(log) if !log.trim().is_empty() => format!("Container is not running; it last said:\n{}", log.trim()),
                _ => "Container is not running".to_owned(),
            })),
        }
    }

    /// Creates the container and connects its networks; removes it again on a failure.
    fn make(
        &self,
        engine: &Engine,
        machine: &dyn System,
        request: &ContainerSpec,
        name: &str,
        image: &str,
    ) -> Result<String> {
        let (words, environment) = request.create(name, image);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let id = engine.tell_with(machine, &words, &environment)?.trim().to_owned();
        for (network, options) in &request.networks {
            let mut words = vec!["network", "connect"];
            words.extend(options.iter().map(String::as_str));
            words.extend([network.as_str(), name]);
            if let Err(error) = engine.tell(machine, &words) {
                let _ = engine.tell(machine, &["rm", "--force", name]);
                return Err(error);
            }
        }
        // The id is the last line; docker may print warnings before it.
        Ok(id.lines().last().unwrap_or_default().to_owned())
    }
}

/// `running`, `paused` or `stopped`, in Salt's terms.
pub fn condition(container: &Value) -> &'static str {
    let is = |key: &str| container.walk(&format!("State/{key}"), "/").is_some_and(Value::truth);
    match () {
        () if is("Paused") => "paused",
        () if is("Running") => "running",
        () => "stopped",
    }
}

fn state(before: Option<&str>, after: &str) -> Map {
    change(before, after)
}

/// docker writes the hash algorithm before an id, podman doesn't.
fn bare(id: &str) -> String {
    id.trim_start_matches("sha256:").to_owned()
}

fn told(comments: &[String]) -> String {
    match comments.len() {
        0 | 1 => comments.concat(),
        _ => comments.join(". ") + ".",
    }
}
