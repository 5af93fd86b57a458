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

use super::{DirectoryCompiler, Error, PillarSource, PillarTarget, Settings, command, id};

/// The options of a repository that are supported.
const OPTIONS: [&str; 4] = ["env", "name", "root", "base"];

pub fn open(config: &Value, settings: &Settings) -> Result<Box<dyn PillarSource>, Error> {
    let single = std::slice::from_ref(config);
    let repositories = config.as_list().unwrap_or(single);
    let repositories =
        repositories.iter().map(|given| PillarRepository::new(given, settings)).collect::<Result<_, _>>()?;
    let compile = settings.compile.clone().ok_or_else(|| Error::Config("pillars can't be compiled here".into()))?;
    Ok(Box::new(GitPillar { repositories, compile, settings: settings.clone(), fetched: Mutex::default() }))
}

/// `branch url`, and options below it.
struct PillarRepository {
    /// `None` for `__env__`: the branch of the requested environment.
    branch: Option<String>,
    url: String,
    environment: Option<String>,
    /// The directory of the repository that is the pillar's root.
    root: PathBuf,
    base: String,
}

impl PillarRepository {
    fn new(given: &Value, settings: &Settings) -> Result<PillarRepository, Error> {
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
            return Err(fault(format!("the option '{unknown}' is not supported (supported: {})", OPTIONS.join(", "))));
        }
        let mut words = line.split_whitespace();
        let (Some(branch), Some(url), None) = (words.next(), words.next(), words.next()) else {
            return Err(fault("a repository is written as 'branch url'".into()));
        };
        let text = |name: &str| options.get(name).map(ToString::to_string);
        let root = PathBuf::from(text("root").unwrap_or_default());
        let inside = |part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir);
        if !root.components().all(inside) {
            return Err(fault("'root' is outside of the repository".into()));
        }
        if url.starts_with('-') || url.contains("::") {
            return Err(fault("the URL is not valid".into()));
        }
        let branch = if branch == "__env__" { None } else { Some(branch_name(branch)?.to_owned()) };
        let base = text("base").unwrap_or_else(|| settings.base_branch.clone());
        Ok(PillarRepository { branch, url: url.to_owned(), environment: text("env"), root, base })
    }

    /// The branch and environment to use for a target.
    fn resolve(&self, target: &PillarTarget<'_>) -> Result<(String, String), Error> {
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

/// Checks a branch name. Targets can choose branches, so it must not be an option or a path elsewhere.
fn branch_name(name: &str) -> Result<&str, Error> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+@".contains(letter);
    let odd = name.starts_with(['-', '/']) || name.contains("..") || name.contains("@{") || name.ends_with(".lock");
    match !name.is_empty() && !odd && name.chars().all(plain) {
        true => Ok(name),
        false => Err(Error::Config(format!("'{name}' is not a valid branch name"))),
    }
}

struct GitPillar {
    repositories: Vec<PillarRepository>,
    compile: Arc<dyn DirectoryCompiler>,
    settings: Settings,
    /// When each copy was last fetched. The lock is held during a fetch.
    fetched: Mutex<HashMap<PathBuf, Instant>>,
}

#[async_trait]
impl PillarSource for GitPillar {
    async fn pillar(&self, target: &PillarTarget<'_>) -> Result<Map, Error> {
        let mut directories = Vec::new();
        for repository in &self.repositories {
            let (branch, environment) = repository.resolve(target)?;
            if !target.pillarenv.is_empty() && environment != target.pillarenv {
                continue;
            }
            let copy = self.checkout(&repository.url, &branch).await?;
            directories.push((copy.join(&repository.root), environment));
        }
        let mut pillar = Map::new();
        for (index, (directory, environment)) in directories.iter().enumerate() {
            let mut search = vec![directory.clone()];
            if self.settings.includes {
                let others =
                    directories.iter().enumerate().filter(|(other, (_, name))| *other != index && name == environment);
                search.extend(others.map(|(_, (directory, _))| directory.clone()));
            }
            let found = self.compile.compile(&search, environment, target).await.map_err(Error::Compile)?;
            pillar = merge::merge_maps(pillar, found, Strategy::Recurse, self.settings.merge_lists);
        }
        Ok(pillar)
    }
}

impl GitPillar {
    /// Returns a directory with the newest content of a branch. If fetching fails, the last copy stays in use
    /// (`docs/faults.md#f22`).
    async fn checkout(&self, url: &str, branch: &str) -> Result<PathBuf, Error> {
        let directory =
            self.settings.cache.join(format!("{:016x}-{}", stable_hash(&[url, branch]), id::for_address(branch)));
        let mut fetched = self.fetched.lock().await;
        if fetched.get(&directory).is_some_and(|when| when.elapsed() < self.settings.update_interval) {
            return Ok(directory);
        }
        let had_copy = directory.join(".git/rocksalt-good").is_file();
        match self.update(&directory, url, branch).await {
            Ok(()) => {}
            Err(_) if had_copy => {}
            Err(error) => return Err(error),
        }
        fetched.insert(directory.clone(), Instant::now());
        Ok(directory)
    }

    async fn update(&self, directory: &Path, url: &str, branch: &str) -> Result<(), Error> {
        let fault = |source| Error::Read { path: directory.to_owned(), source };
        tokio::fs::create_dir_all(directory).await.map_err(fault)?;
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        tokio::fs::set_permissions(directory, private).await.map_err(fault)?;
        self.git(directory, &["init", "--quiet"]).await?;
        let fetch = |reference: String| async move {
            self.git(directory, &["fetch", "--quiet", "--no-tags", "--depth", "1", "--", url, &reference]).await
        };
        // Salt accepts a tag in place of a branch.
        if let Err(error) = fetch(format!("refs/heads/{branch}")).await
            && fetch(format!("refs/tags/{branch}")).await.is_err()
        {
            return Err(error);
        }
        self.git(directory, &["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]).await?;
        self.git(directory, &["clean", "--quiet", "-ffdx"]).await?;
        tokio::fs::write(directory.join(".git/rocksalt-good"), b"").await.map_err(fault)
    }

    async fn git(&self, directory: &Path, words: &[&str]) -> Result<(), Error> {
        let mut git = Command::new("git");
        git.current_dir(directory)
            // Never run hooks or helpers of the repository, and never prompt for a password.
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

/// FNV-1a. It must not change between versions, so that existing copies are found.
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
        let parse =
            |text: &str| PillarRepository::new(&rocksalt_core::yaml::parse(text).expect("it is YAML"), &settings);
        let (grains, pillar) = (Map::new(), Map::new());
        let target = |pillarenv| PillarTarget { id: "web1", grains: &grains, pillar: &pillar, saltenv: "", pillarenv };
        let resolved = |text: &str, pillarenv: &'static str| {
            let repository = parse(text).expect("it fits");
            repository.resolve(&target(pillarenv)).expect("it means something")
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(resolved("master https://h/r", ""), pair("master", "base"));
        assert_eq!(resolved("dev https://h/r", ""), pair("dev", "dev"));
        assert_eq!(resolved("{dev https://h/r: [{env: base}, {root: pillar}]}", ""), pair("dev", "base"));
        assert_eq!(resolved("__env__ https://h/r", ""), pair("master", "base"));
        assert_eq!(resolved("__env__ https://h/r", "qa"), pair("qa", "qa"));
        assert_eq!(resolved("{main https://h/r: [{base: main}]}", ""), pair("main", "base"));
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
        assert!(parse("__env__ https://h/r").expect("it fits").resolve(&target("--x")).is_err());
    }
}
