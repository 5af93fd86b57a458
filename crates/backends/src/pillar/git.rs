//! `git`: pillar trees in repositories, fetched with the `git` program.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use rocksalt_core::merge::{self, Strategy};
use rocksalt_core::{Map, Value};
use tokio::process::Command;
use tokio::sync::Mutex;

use super::{Compile, Error, Pillar, Settings, Target, command, id};

/// What Salt takes for a repository, and takes from it here.
const OPTIONS: [&str; 4] = ["env", "name", "root", "base"];

pub fn open(config: &Value, settings: &Settings) -> Result<Box<dyn Pillar>, Error> {
    let single = std::slice::from_ref(config);
    let repositories = config.as_list().unwrap_or(single);
    let repositories = repositories.iter().map(|given| Repository::new(given, settings)).collect::<Result<_, _>>()?;
    let compile = settings.compile.clone().ok_or_else(|| Error::Config("this program compiles no pillars".into()))?;
    Ok(Box::new(Git { repositories, compile, settings: settings.clone(), fetched: Mutex::default() }))
}

/// `branch url`, and options below it.
struct Repository {
    /// None for `__env__`: the branch is that of the environment asked for.
    branch: Option<String>,
    url: String,
    environment: Option<String>,
    /// The directory in it that is the pillar's root.
    root: PathBuf,
    base: String,
}

impl Repository {
    fn new(given: &Value, settings: &Settings) -> Result<Repository, Error> {
        let fault = |why: String| Error::Config(format!("'{given}': {why}"));
        let (line, options) = match given {
            Value::String(line) => (line.clone(), Map::new()),
            Value::Map(map) if map.len() == 1 => {
                let (line, options) = map.iter().next().ok_or_else(|| fault("it is empty".into()))?;
                // Options are a list of maps with one key each.
                let list = options.as_list().unwrap_or_default().iter().filter_map(Value::as_map);
                (line.to_string(), list.flat_map(|map| map.clone().into_iter()).collect())
            }
            _ => return Err(fault("a repository is written as 'branch url'".into())),
        };
        if let Some(unknown) = options.keys().find(|key| !OPTIONS.contains(&&*key.to_string())) {
            return Err(fault(format!("the option '{unknown}' is not supported (there are {})", OPTIONS.join(", "))));
        }
        let mut words = line.split_whitespace();
        let (Some(branch), Some(url), None) = (words.next(), words.next(), words.next()) else {
            return Err(fault("a repository is written as 'branch url'".into()));
        };
        let text = |name: &str| options.get(name).map(ToString::to_string);
        let root = PathBuf::from(text("root").unwrap_or_default());
        let inside = |part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir);
        if !root.components().all(inside) {
            return Err(fault("'root' leads out of the repository".into()));
        }
        if url.starts_with('-') || url.contains("::") {
            return Err(fault("that is no address of a repository".into()));
        }
        let branch = if branch == "__env__" { None } else { Some(branch_name(branch)?.to_owned()) };
        let base = text("base").unwrap_or_else(|| settings.base_branch.clone());
        Ok(Repository { branch, url: url.to_owned(), environment: text("env"), root, base })
    }

    /// The branch and the environment that it is, for a target.
    fn meaning(&self, target: &Target<'_>) -> Result<(String, String), Error> {
        let environment_of = |branch: &str| match branch == self.base {
            true => "base".to_owned(),
            false => branch.to_owned(),
        };
        let (branch, environment) = match &self.branch {
            Some(branch) => (branch.clone(), environment_of(branch)),
            None => {
                let asked = [target.pillarenv, target.saltenv].into_iter().find(|name| !name.is_empty());
                let environment = asked.unwrap_or("base").to_owned();
                let branch = if environment == "base" { self.base.clone() } else { environment.clone() };
                (branch_name(&branch)?.to_owned(), environment)
            }
        };
        Ok((branch, self.environment.clone().filter(|name| name != "__env__").unwrap_or(environment)))
    }
}

/// Branches come from targets, too: only what can't be an option or a path elsewhere.
fn branch_name(name: &str) -> Result<&str, Error> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+@".contains(letter);
    let odd = name.starts_with(['-', '/']) || name.contains("..") || name.contains("@{") || name.ends_with(".lock");
    match !name.is_empty() && !odd && name.chars().all(plain) {
        true => Ok(name),
        false => Err(Error::Config(format!("'{name}' is no name of a branch"))),
    }
}

struct Git {
    repositories: Vec<Repository>,
    compile: Arc<dyn Compile>,
    settings: Settings,
    /// When each copy was last brought up to date; held while one is.
    fetched: Mutex<HashMap<PathBuf, Instant>>,
}

#[async_trait]
impl Pillar for Git {
    async fn pillar(&self, target: &Target<'_>) -> Result<Map, Error> {
        let mut places = Vec::new();
        for repository in &self.repositories {
            let (branch, environment) = repository.meaning(target)?;
            if !target.pillarenv.is_empty() && environment != target.pillarenv {
                continue;
            }
            let copy = self.copy(&repository.url, &branch).await?;
            places.push((copy.join(&repository.root), environment));
        }
        let mut pillar = Map::new();
        for (index, (place, environment)) in places.iter().enumerate() {
            let mut directories = vec![place.clone()];
            if self.settings.includes {
                let others =
                    places.iter().enumerate().filter(|(other, (_, name))| *other != index && name == environment);
                directories.extend(others.map(|(_, (place, _))| place.clone()));
            }
            let found = self.compile.compile(&directories, environment, target).await.map_err(Error::Compile)?;
            pillar = merge::merge_maps(pillar, found, Strategy::Recurse, self.settings.merge_lists);
        }
        Ok(pillar)
    }
}

impl Git {
    /// A directory with the newest content of a branch. If it can't be fetched, the last one stays good (fault F22).
    async fn copy(&self, url: &str, branch: &str) -> Result<PathBuf, Error> {
        let place =
            self.settings.cache.join(format!("{:016x}-{}", stable_hash(&[url, branch]), id::for_address(branch)));
        let mut fetched = self.fetched.lock().await;
        if fetched.get(&place).is_some_and(|when| when.elapsed() < self.settings.update_interval) {
            return Ok(place);
        }
        let had = place.join(".git/rocksalt-good").is_file();
        match self.update(&place, url, branch).await {
            Ok(()) => {}
            Err(_) if had => {}
            Err(error) => return Err(error),
        }
        fetched.insert(place.clone(), Instant::now());
        Ok(place)
    }

    async fn update(&self, place: &Path, url: &str, branch: &str) -> Result<(), Error> {
        let fault = |source| Error::Read { path: place.to_owned(), source };
        tokio::fs::create_dir_all(place).await.map_err(fault)?;
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        tokio::fs::set_permissions(place, private).await.map_err(fault)?;
        self.git(place, &["init", "--quiet"]).await?;
        let fetch = |reference: String| async move {
            self.git(place, &["fetch", "--quiet", "--no-tags", "--depth", "1", "--", url, &reference]).await
        };
        // A tag may stand where a branch does.
        if let Err(error) = fetch(format!("refs/heads/{branch}")).await
            && fetch(format!("refs/tags/{branch}")).await.is_err()
        {
            return Err(error);
        }
        self.git(place, &["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]).await?;
        self.git(place, &["clean", "--quiet", "-ffdx"]).await?;
        tokio::fs::write(place.join(".git/rocksalt-good"), b"").await.map_err(fault)
    }

    async fn git(&self, place: &Path, words: &[&str]) -> Result<(), Error> {
        let mut git = Command::new("git");
        git.current_dir(place)
            // A repository's own hooks and helpers never run here, and nobody is asked for a password.
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "protocol.ext.allow=never"])
            .args(words)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE");
        let shown = format!("git {}", words.join(" "));
        command::output(git, &shown, self.settings.timeout, self.settings.limit).await.map(drop)
    }
}

/// FNV-1a: the same in every version of this program, so that copies are found again.
fn stable_hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_names() {
        for good in ["master", "release/1.0", "v1.2", "a+b@c"] {
            assert!(branch_name(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "--upload-pack=x", "/a", "a..b", "a b", "a;b", "x.lock", "a@{1}", "a\nb"] {
            assert!(branch_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn repositories_are_read_as_salt_writes_them() {
        let settings = Settings::default();
        let parse = |text: &str| Repository::new(&rocksalt_core::yaml::parse(text).expect("it is YAML"), &settings);
        let (grains, pillar) = (Map::new(), Map::new());
        let target = |pillarenv| Target { id: "web1", grains: &grains, pillar: &pillar, saltenv: "", pillarenv };
        let meaning = |text: &str, pillarenv: &'static str| {
            let repository = parse(text).expect("it fits");
            repository.meaning(&target(pillarenv)).expect("it means something")
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(meaning("master https://h/r", ""), pair("master", "base"));
        assert_eq!(meaning("dev https://h/r", ""), pair("dev", "dev"));
        assert_eq!(meaning("{dev https://h/r: [{env: base}, {root: pillar}]}", ""), pair("dev", "base"));
        assert_eq!(meaning("__env__ https://h/r", ""), pair("master", "base"));
        assert_eq!(meaning("__env__ https://h/r", "qa"), pair("qa", "qa"));
        assert_eq!(meaning("{main https://h/r: [{base: main}]}", ""), pair("main", "base"));
        for bad in [
            "https://h/r",
            "master --upload-pack=x",
            "master ext::sh",
            "{master https://h/r: [{root: ../x}]}",
            "{master https://h/r: [{nope: x}]}",
            "-x https://h/r",
            "[1]",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse("__env__ https://h/r").expect("it fits").meaning(&target("--x")).is_err());
    }
}
