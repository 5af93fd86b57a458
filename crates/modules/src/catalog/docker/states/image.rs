//! `docker_image`: images, pulled, built or loaded.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::engine::{Engine, sound};
use super::{Decision, State, Step, Verdict, sql};
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Makes sure that an image is there.
///
/// ```yaml
/// nginx:
///   docker_image.present:
///     - tag: '1.25'
///
/// shop:
///   docker_image.present:
///     - build: /srv/shop
///     - tag: '2'
/// ```
#[state("docker_image.present", watches)]
pub struct Present {
    /// The image's name.
    name: String,
    /// Its tag.
    tag: Option<String>,
    /// A directory on the target to build it from.
    build: Option<String>,
    /// A file on the target to load it from.
    load: Option<String>,
    /// Pull, build or load it even if it is there.
    force: Flag,
    /// Accepted for compatibility with Salt: the program's own configuration says so.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    insecure_registry: Value,
    /// Accepted for compatibility with Salt, and ignored.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    client_timeout: Value,
    /// The file in the directory that says how to build it.
    dockerfile: Option<String>,
    /// Not supported: states to build it with.
    sls: Value,
}

#[derive(Serialize, Deserialize)]
pub struct ImagePlan {
    engine: Engine,
    full: String,
    before: Option<Value>,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine, self.force.0))?.into_plan()
    }

    fn watched(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine, true))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: ImagePlan = plan.into_own()?;
        let (full, action) = (&plan.full, self.action());
        let doing = match action {
            "built" => format!("building {} as {full}", self.build.as_deref().unwrap_or_default()),
            "loaded" => format!("loading {} as {full}", self.load.as_deref().unwrap_or_default()),
            _ => format!("pulling {full}"),
        };
        if let Err(error) = self.fetch(&plan, machine) {
            return Ok(Verdict::bad(format!("Encountered error {doing}: {error}")));
        }
        let now = plan.engine.inspect(machine, "image", full)?;
        let id = |image: &Option<Value>| image.as_ref().and_then(|image| image.walk("Id", "/").cloned());
        match id(&now) {
            None => Ok(Verdict::bad(format!("Failed to inspect image '{full}' after it was {action}"))),
            now if now == id(&plan.before) => {
                Ok(Verdict::good(format!("Image '{}' was {action}, but there were no changes", self.name)))
            }
            Some(_) => Ok(Verdict::good(format!("Image '{full}' was {action}")).change(full.as_str(), action)),
        }
    }
}

impl Present {
    fn action(&self) -> &'static str {
        match (&self.build, &self.load) {
            (Some(_), _) => "built",
            (_, Some(_)) => "loaded",
            _ => "pulled",
        }
    }

    fn look(&self, machine: &dyn Probe, force: bool) -> Result<Decision<ImagePlan>> {
        if self.sls.truth() {
            return Err(Error::arguments("sls: images are not built with states here")
                .hint("build from a directory with `build`, or apply states to a running container"));
        }
        let made = [&self.build, &self.load].iter().filter(|given| given.is_some()).count();
        let tag = self.tag.as_deref().filter(|tag| !tag.is_empty());
        if made > 1 {
            return sql::settled(Verdict::bad("Only one of 'build', 'load', or 'sls' is permitted."));
        }
        if made == 1 && tag.is_none() {
            return sql::settled(Verdict::bad(
                "The 'tag' argument is required if any one of 'build', 'load', or 'sls' is used.",
            ));
        }
        let full = tag.map_or(self.name.clone(), |tag| format!("{}:{tag}", self.name));
        let engine = Engine::find(machine)?;
        let before = engine.inspect(machine, "image", sound(&full)?)?;
        if before.is_some() && !force {
            return sql::settled(Verdict::good(format!("Image {full} already present")));
        }
        let action = self.action();
        let would = Verdict::would(format!("Image {full} will be {action}")).change(full.as_str(), action);
        Ok(Decision::Change(ImagePlan { engine, full, before }, would))
    }

    fn fetch(&self, plan: &ImagePlan, machine: &dyn System) -> Result<()> {
        let (engine, full) = (&plan.engine, plan.full.as_str());
        if let Some(path) = &self.build {
            let file = self.dockerfile.as_ref().map(|file| match file.starts_with('/') {
                true => format!("--file={file}"),
                false => format!("--file={path}/{file}"),
            });
            let tag = format!("--tag={full}");
            let words: Vec<&str> = ["build", &tag].into_iter().chain(file.as_deref()).chain([path.as_str()]).collect();
            engine.tell(machine, &words)?;
            return Ok(());
        }
        let Some(path) = &self.load else { return engine.tell(machine, &["pull", full]).map(drop) };
        let printed = engine.tell(machine, &["load", &format!("--input={path}")])?;
        // `Loaded image: name:tag`, or an id if it has no name.
        let loaded =
            printed.lines().rev().find_map(|line| line.split_once(": ").map(|(_, name)| name.trim().to_owned()));
        match loaded {
            Some(loaded) if loaded != full => engine.tell(machine, &["tag", &loaded, full]).map(drop),
            _ => Ok(()),
        }
    }
}

/// Makes sure that images are not there.
///
/// ```yaml
/// nginx:1.24:
///   docker_image.absent
/// ```
#[state("docker_image.absent")]
pub struct Absent {
    /// The image's name.
    name: String,
    /// Several images instead of the one.
    images: Option<Vec<String>>,
    /// Even if containers use it.
    force: Flag,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (engine, names): (Engine, Vec<String>) = plan.into_own()?;
        let (mut gone, mut errors, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for name in &names {
            let words: &[&str] = if self.force.0 { &["rmi", "--force", name] } else { &["rmi", name] };
            match engine.tell(machine, words) {
                Ok(_) => gone.push(name.clone()),
                Err(error) => {
                    failed.push(name.as_str());
                    errors.push(error.to_string());
                }
            }
        }
        let changes = removed(&gone);
        Ok(match (failed.is_empty(), gone.is_empty(), names.as_slice()) {
            (true, _, [one]) => Verdict::good(format!("Image {one} was removed")).changes(changes),
            (true, ..) => {
                Verdict::good(format!("The following images were removed: {}", names.join(", "))).changes(changes)
            }
            (false, true, _) => Verdict::bad(format!(
                "None of the specified images were removed. The following errors were encountered: {}",
                errors.join("; ")
            )),
            (false, ..) => Verdict::bad(format!(
                "The following image(s) failed to be removed: {} ({})",
                failed.join(", "),
                errors.join("; ")
            ))
            .changes(changes),
        })
    }
}

impl Absent {
    fn look(&self, machine: &dyn Probe) -> Result<Decision<(Engine, Vec<String>)>> {
        let engine = Engine::find(machine)?;
        let wanted = self.images.clone().unwrap_or_else(|| vec![self.name.clone()]);
        let mut there = Vec::new();
        for name in &wanted {
            if engine.inspect(machine, "image", sound(name)?)?.is_some() {
                there.push(name.clone());
            }
        }
        if there.is_empty() {
            return sql::settled(Verdict::good(match wanted.len() {
                1 => format!("Image {} is not present", self.name),
                _ => "All specified images are not present".to_owned(),
            }));
        }
        let would = match there.as_slice() {
            [one] => format!("Image {one} will be removed"),
            all => format!("The following images will be removed: {}", all.join(", ")),
        };
        let changes = removed(&there);
        Ok(Decision::Change((engine, there), Verdict::would(would).changes(changes)))
    }
}

fn removed(names: &[String]) -> Map {
    let names = names.iter().map(|name| name.as_str().into()).collect();
    Map::from_iter([("removed".into(), Value::List(names))])
}
