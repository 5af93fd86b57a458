//! `file_tree`: directories become maps, files become values.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rocksalt_core::merge::{self, Strategy};
use rocksalt_core::pattern::glob;
use rocksalt_core::target::{DELIMITER, Subject, TargetExpression, TargetKind};
use rocksalt_core::{Map, Value};

use super::{Error, PillarSource, PillarTarget, Settings, arguments, id};

const ARGUMENTS: [&str; 8] = [
    "root_dir",
    "follow_dir_links",
    "debug",
    "keep_newline",
    "render_default",
    "renderer_blacklist",
    "renderer_whitelist",
    "template",
];

/// A deeper directory is a mistake, or a loop of links.
const MAX_DEPTH: usize = 64;

pub fn open(config: &Value, settings: &Settings) -> Result<Box<dyn PillarSource>, Error> {
    let given = arguments::named(config, &ARGUMENTS)?;
    if arguments::flag(&given, "template") {
        return Err(Error::Config("'template' is not supported: files are not rendered".into()));
    }
    let keep = match given.get("keep_newline") {
        None | Some(Value::Null | Value::Bool(false)) => KeepNewline::None,
        Some(Value::Bool(true)) => KeepNewline::All,
        Some(Value::List(patterns)) => KeepNewline::Some(patterns.iter().map(ToString::to_string).collect()),
        Some(_) => {
            return Err(Error::Config("'keep_newline' must be either True/False or a list of file globs".into()));
        }
    };
    Ok(Box::new(FileTreePillar {
        root: PathBuf::from(arguments::text(&given, "root_dir")?),
        follow: arguments::flag(&given, "follow_dir_links"),
        keep,
        settings: settings.clone(),
    }))
}

#[derive(Clone)]
enum KeepNewline {
    None,
    All,
    Some(Vec<String>),
}

#[derive(Clone)]
struct FileTreePillar {
    root: PathBuf,
    follow: bool,
    keep: KeepNewline,
    settings: Settings,
}

#[async_trait]
impl PillarSource for FileTreePillar {
    async fn pillar(&self, target: &PillarTarget<'_>) -> Result<Map, Error> {
        let host = id::for_path(target.id)?.to_owned();
        let groups = self.groups(target);
        let roots = self.roots(target)?;
        let tree = self.clone();
        let read = move || {
            let mut pillar = Map::new();
            let mut left = tree.settings.limit;
            for root in roots {
                let groups = groups.iter().map(|group| root.join("nodegroups").join(group));
                for directory in groups.chain([root.join("hosts").join(&host)]) {
                    if directory.is_dir() {
                        let found = tree.directory(&directory, "", &mut left, MAX_DEPTH)?;
                        pillar = merge::merge_maps(pillar, found, Strategy::Recurse, false);
                    }
                }
            }
            Ok(pillar)
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| Error::Aborted)?
    }
}

impl FileTreePillar {
    /// The directories to read. A relative `root_dir` is below the environment's `pillar_roots`.
    fn roots(&self, target: &PillarTarget<'_>) -> Result<Vec<PathBuf>, Error> {
        let mut roots: Vec<PathBuf> = Vec::new();
        if self.root.is_absolute() {
            roots.push(self.root.clone());
        } else if target.pillarenv.is_empty() {
            return Err(Error::Config("root_dir is relative but pillarenv is not set".into()));
        } else {
            let places = self.settings.roots.get(target.pillarenv).ok_or_else(|| {
                let name = target.pillarenv;
                Error::Config(format!("root_dir is relative but no pillar_roots are specified for pillarenv {name}"))
            })?;
            for place in places.as_list().unwrap_or(std::slice::from_ref(places)) {
                let root = Path::new(&place.to_string()).join(&self.root);
                if roots.last() != Some(&root) {
                    roots.push(root);
                }
            }
        }
        match roots.iter().find(|root| !root.is_dir()) {
            Some(missing) => {
                Err(Error::Config(format!("root_dir {} does not exist or is not a directory", missing.display())))
            }
            None => Ok(roots),
        }
    }

    /// The names of the nodegroups that the target is in.
    fn groups(&self, target: &PillarTarget<'_>) -> Vec<String> {
        let groups = &self.settings.nodegroups;
        let is_in = |name: &&str| {
            id::for_path(name).is_ok()
                && TargetExpression::forgiving(TargetKind::Nodegroup, name, DELIMITER, groups)
                    .matches(&PillarSubject(target))
        };
        groups.names().filter(is_in).map(str::to_owned).collect()
    }

    fn directory(&self, path: &Path, prefix: &str, left: &mut usize, depth: usize) -> Result<Map, Error> {
        let fault = |source| Error::Read { path: path.to_owned(), source };
        if depth == 0 {
            return Err(Error::Config(format!("{} is nested too deeply, or has a loop of links", path.display())));
        }
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            names.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
        names.sort();
        let mut found = Map::new();
        let (directories, files): (Vec<_>, Vec<_>) = names.into_iter().partition(|(_, path)| path.is_dir());
        for (name, path) in directories {
            let inside = match self.follow || !path.is_symlink() {
                true => self.directory(&path, &join(prefix, &name), left, depth - 1)?,
                // Salt keeps the name of a link that it doesn't follow.
                false => Map::new(),
            };
            found.insert(name, inside);
        }
        for (name, path) in files.into_iter().filter(|(_, path)| path.is_file()) {
            let mut content = std::fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
            *left = left
                .checked_sub(content.len())
                .ok_or_else(|| Error::TooLong { what: self.root.display().to_string(), limit: self.settings.limit })?;
            if content.last() == Some(&b'\n') && !self.keeps_newline(&join(prefix, &name)) {
                content.pop();
            }
            found.insert(
                name,
                String::from_utf8(content).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::String),
            );
        }
        Ok(found)
    }

    fn keeps_newline(&self, name: &str) -> bool {
        match &self.keep {
            KeepNewline::None => false,
            KeepNewline::All => true,
            KeepNewline::Some(patterns) => {
                // Salt's path of a file at the top begins with "./".
                let from_top = format!("./{name}");
                let full = if name.contains('/') { name } else { &from_top };
                patterns.iter().any(|pattern| glob::matches(pattern, full))
            }
        }
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
}

struct PillarSubject<'a>(&'a PillarTarget<'a>);

impl Subject for PillarSubject<'_> {
    fn id(&self) -> &str {
        self.0.id
    }

    fn grains(&self) -> &Map {
        self.0.grains
    }

    fn pillar(&self) -> &Map {
        self.0.pillar
    }
}
