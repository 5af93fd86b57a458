//! `rocksalt cp`: files to targets, and back.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use async_trait::async_trait;
use clap::Args;
use rocksalt_connect::link::{Answers, IncomingStream};
use rocksalt_controller::answers::store;
use rocksalt_controller::tree::send_all;
use rocksalt_core::Value;
use rocksalt_core::call::{Call, Problem, ProblemKind};
use rocksalt_core::frame::Ask;
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::target::TargetKind;
use tokio::sync::mpsc;

use super::Context;
use crate::failure::Failure;
use crate::local_controller::{LocalController, LocalJobOptions};
use crate::printing::Printing;

/// Copies files to targets (FILE… TARGET:PATH) or back from them (TARGET:PATH… DIRECTORY).
///
/// `{id}` in a target's path stands for the target's id. Files that come back from targets are put
/// into a directory for each target.
#[derive(Args)]
pub struct Options {
    /// Files here, or TARGET:PATH there; at least one, and where they go
    #[arg(required = true, num_args = 2..)]
    paths: Vec<String>,

    /// The targets are compound expressions
    #[arg(short = 'C', long)]
    compound: bool,

    /// The mode of the files there, in octal; default: that of the file here
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Leave no agent behind on the targets
    #[arg(short, long)]
    wipe: bool,

    #[command(flatten)]
    printing: Printing,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let Some((last, first)) = options.paths.split_last() else { return Err(Failure::usage("no files were named")) };
    let kind = if options.compound { TargetKind::Compound } else { TargetKind::Glob };
    let printer = options.printing.printer(&context)?;
    let request = |target: &str, call: &Call| RunRequest {
        target: target.to_owned(),
        target_kind: kind.name().to_owned(),
        options: JobOptions { wipe: options.wipe, ..JobOptions::default() },
        ..RunRequest::of(call)
    };
    match (remote(last), first.iter().map(|path| remote(path)).collect::<Option<Vec<_>>>()) {
        (Some((target, path)), None) => {
            if let Some(mixed) = first.iter().find(|path| remote(path).is_some() && !Path::new(path).exists()) {
                return Err(Failure::usage(format!("{mixed} is on a target, and so is the place it should go to"))
                    .hint("copy it here first"));
            }
            let sources = first
                .iter()
                .map(|path| LocalFile::read(path, options.mode.as_deref()))
                .collect::<Result<Vec<_>, _>>()?;
            let local = LocalController::open(context).await?;
            let files = Value::List(sources.iter().enumerate().map(|(index, source)| source.describe(index)).collect());
            let call = Call::new("cp.receive").arg(files).arg(path);
            let paths: Arc<Vec<PathBuf>> = Arc::new(sources.into_iter().map(|source| source.path).collect());
            let answers =
                move |_: &RosterEntry| Arc::new(FileUploads { paths: Arc::clone(&paths) }) as Arc<dyn Answers>;
            let job_options = LocalJobOptions { answers: Some(Arc::new(answers)), ..LocalJobOptions::default() };
            local.run_job(request(target, &call), job_options, printer).await
        }
        (None, Some(sources)) => {
            let directory = PathBuf::from(last);
            if directory.exists() && !directory.is_dir() {
                return Err(Failure::usage(format!("{} is not a directory", directory.display())));
            }
            let local = LocalController::open(context).await?;
            let mut targets = Vec::new();
            for (target, _) in &sources {
                targets.push((*target).to_owned());
            }
            targets.dedup();
            if targets.len() > 1 {
                return Err(Failure::usage("all files that come back must be of the same targets"));
            }
            let target = targets.swap_remove(0);
            let paths = Value::List(sources.iter().map(|(_, path)| Value::from(*path)).collect());
            let call = Call::new("cp.send").arg(paths);
            let answers = move |entry: &RosterEntry| {
                Arc::new(FileDownloads { directory: directory.join(&entry.id) }) as Arc<dyn Answers>
            };
            let job_options = LocalJobOptions { answers: Some(Arc::new(answers)), ..LocalJobOptions::default() };
            local.run_job(request(&target, &call), job_options, printer).await
        }
        (Some(_), Some(_)) => {
            Err(Failure::usage("all of these paths are on targets").hint("the last one must be a directory here"))
        }
        (None, None) => Err(Failure::usage("none of these paths is on a target, or not all that should be")
            .hint("a path on targets is written TARGET:PATH, as in 'web*:/etc/motd'; PATH begins with / or ~")),
    }
}

/// `TARGET:PATH`, with an absolute path or one below the home directory.
fn remote(text: &str) -> Option<(&str, &str)> {
    let (target, path) =
        text.rsplit_once(":/").map(|(target, _)| (target, &text[target.len() + 1..])).or_else(|| {
            let (target, path) = text.rsplit_once(":~")?;
            Some((target, &text[text.len() - path.len() - 1..]))
        })?;
    (!target.is_empty() && !target.starts_with(['/', '.'])).then_some((target, path))
}

struct LocalFile {
    path: PathBuf,
    name: String,
    size: u64,
    mode: u32,
}

impl LocalFile {
    fn read(text: &str, mode: Option<&str>) -> Result<LocalFile, Failure> {
        use std::os::unix::fs::MetadataExt;
        let path = PathBuf::from(text);
        let metadata =
            std::fs::metadata(&path).map_err(|error| Failure::usage(format!("can't read {text}: {error}")))?;
        if !metadata.is_file() {
            return Err(
                Failure::usage(format!("{text} is not a file")).hint("pack a directory with tar, or use cp.get_dir")
            );
        }
        let mode = match mode {
            None => metadata.mode() & 0o7777,
            Some(text) => {
                u32::from_str_radix(text, 8).map_err(|_| Failure::usage(format!("--mode: '{text}' is not octal")))?
            }
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(LocalFile { path, name, size: metadata.len(), mode })
    }

    fn describe(&self, index: usize) -> Value {
        let mut map = rocksalt_core::Map::new();
        map.insert("source", format!("cp://{index}"));
        map.insert("name", self.name.as_str());
        map.insert("size", self.size);
        map.insert("mode", self.mode);
        Value::Map(map)
    }
}

/// Sends exactly the files that the command line names, by their number.
struct FileUploads {
    paths: Arc<Vec<PathBuf>>,
}

fn refused() -> Problem {
    Problem::new(ProblemKind::Refused, "only the files being copied can be asked for")
}

#[async_trait]
impl Answers for FileUploads {
    async fn answer(&self, _: Ask) -> Result<Value, Problem> {
        Err(refused())
    }

    async fn stream(&self, ask: Ask, pieces: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        let Ask::Url { url } = ask else { return Err(refused()) };
        let index = url.strip_prefix("cp://").and_then(|index| index.parse::<usize>().ok());
        let path = index.and_then(|index| self.paths.get(index)).ok_or_else(refused)?;
        let fault = |error: std::io::Error| {
            Problem::new(ProblemKind::Failed, format!("can't read {}: {error}", path.display()))
        };
        let mut file = tokio::fs::File::open(path).await.map_err(fault)?;
        send_all(&mut file, &pieces).await
    }

    async fn receive(&self, _: Ask, _: IncomingStream) -> Result<Value, Problem> {
        Err(refused())
    }
}

/// Stores the files of each target in its own directory.
struct FileDownloads {
    directory: PathBuf,
}

#[async_trait]
impl Answers for FileDownloads {
    async fn answer(&self, _: Ask) -> Result<Value, Problem> {
        Err(refused())
    }

    async fn stream(&self, _: Ask, _: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        Err(refused())
    }

    async fn receive(&self, ask: Ask, upload: IncomingStream) -> Result<Value, Problem> {
        let Ask::Push { path, .. } = ask else { return Err(refused()) };
        // Only the last part of the target's path is used: a target must not choose the path
        // (`docs/security-rules.md#r6`).
        let name = Path::new(&path).file_name().filter(|name| !name.is_empty()).ok_or_else(refused)?;
        store(upload, self.directory.join(name), u64::MAX).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_on_targets_are_told_apart() {
        assert_eq!(remote("web*:/etc/motd"), Some(("web*", "/etc/motd")));
        assert_eq!(remote("G@os:Debian:/etc/motd"), Some(("G@os:Debian", "/etc/motd")));
        assert_eq!(remote("web1:~/x"), Some(("web1", "~/x")));
        assert_eq!(remote("/etc/motd"), None);
        assert_eq!(remote("./a:/b"), None);
        assert_eq!(remote("file.txt"), None);
    }
}
