//! [`Tree`]: everything that the rules look at, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates that must not depend on an async runtime, even indirectly. One of them has a size budget.
pub const GRAPHS: [&str; 5] = ["rocksalt-core", "rocksalt-jinja", "rocksalt-sls", "rocksalt-modules", "rocksalt-agent"];

/// A checkout. Paths are relative to its root and use `/`.
#[derive(Debug, Default)]
pub struct Tree {
    /// The text files that git tracks or that `git add` would add.
    pub files: BTreeMap<String, String>,
    /// Every directory, including empty ones, which git doesn't track.
    pub directories: BTreeSet<String>,
    pub packages: Vec<WorkspaceCrate>,
    /// For each of [`GRAPHS`], the names of all crates linked into it, including itself.
    pub graphs: BTreeMap<String, BTreeSet<String>>,
    /// The agents that are built, with their sizes in bytes.
    pub agents: Vec<(String, u64)>,
}

/// A crate of the workspace.
#[derive(Debug, Default, Clone)]
pub struct WorkspaceCrate {
    pub name: String,
    pub description: String,
    /// The directory of its Cargo.toml.
    pub directory: String,
    /// The workspace's crates that it depends on, except for dev-dependencies.
    pub uses: Vec<String>,
}

impl Tree {
    pub fn read() -> Result<Tree, String> {
        let metadata = cargo(&["metadata", "--format-version=1", "--no-deps"])?;
        let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
        let path =
            |name: &str| metadata[name].as_str().map(PathBuf::from).ok_or(format!("cargo metadata has no {name}"));
        let (root, target) = (path("workspace_root")?, path("target_directory")?);
        let mut graphs = BTreeMap::new();
        for name in GRAPHS {
            graphs.insert(name.to_owned(), linked_crates(name)?);
        }
        let mut directories = BTreeSet::new();
        list_directories(&root, &root, &target, &mut directories);
        let files = read_files(&root, &target)?;
        Ok(Tree { files, directories, packages: packages(&metadata, &root), graphs, agents: built_agents(&target) })
    }

    /// The Rust files with their contents.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter().filter(|(path, _)| path.ends_with(".rs"));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

fn packages(metadata: &Value, root: &Path) -> Vec<WorkspaceCrate> {
    let listed = metadata["packages"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = listed.iter().map(|package| text(&package["name"])).collect();
    let package = |package: &Value| {
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let directory = manifest.parent().unwrap_or(root);
        let dependencies = package["dependencies"].as_array().cloned().unwrap_or_default();
        let shipped = dependencies.iter().filter(|one| one["kind"].as_str() != Some("dev"));
        WorkspaceCrate {
            name: text(&package["name"]),
            description: text(&package["description"]),
            directory: relative(directory, root),
            uses: shipped.map(|one| text(&one["name"])).filter(|name| names.contains(name)).collect(),
        }
    };
    listed.iter().map(package).collect()
}

/// Uses `cargo tree`, which resolves features for this crate alone, as its own build does.
fn linked_crates(name: &str) -> Result<BTreeSet<String>, String> {
    let edges = "--edges=normal,no-proc-macro";
    let listed = cargo(&["tree", "--package", name, edges, "--prefix=none", "--format={p}"])?;
    Ok(listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

fn built_agents(target: &Path) -> Vec<(String, u64)> {
    let Ok(entries) = fs::read_dir(target.join("agents")) else { return Vec::new() };
    let size = |entry: fs::DirEntry| Some((entry.file_name().into_string().ok()?, entry.metadata().ok()?.len()));
    entries.flatten().filter_map(size).collect()
}

fn read_files(root: &Path, target: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let paths: Vec<String> = match git.output() {
        Ok(output) if output.status.success() => {
            let listed = String::from_utf8_lossy(&output.stdout).into_owned();
            listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
        }
        // Without git or outside of a checkout, all existing files count.
        _ => {
            let mut directories = BTreeSet::new();
            list_directories(root, root, target, &mut directories);
            let directories = directories.iter().map(|one| root.join(one)).chain([root.to_owned()]);
            let entries = directories.filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_file()).map(|path| relative(&path, root)).collect()
        }
    };
    let mut files = BTreeMap::new();
    for path in paths {
        // Skips files that aren't text, and files that were deleted without a commit.
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            files.insert(path, text);
        }
    }
    if files.is_empty() { Err(format!("no files found in {}", root.display())) } else { Ok(files) }
}

fn list_directories(directory: &Path, root: &Path, target: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let hidden_or_built = path.ends_with(".git") || path.ends_with("node_modules") || path.ends_with("target");
        if path.is_dir() && !path.is_symlink() && !hidden_or_built && path != target {
            found.insert(relative(&path, root));
            list_directories(&path, root, target, found);
        }
    }
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn cargo(arguments: &[&str]) -> Result<String, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output =
        Command::new(cargo).args(arguments).output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("cargo {} failed:\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
}
