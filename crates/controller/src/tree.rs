//! Sends the controller's files to targets: a list, many small files in one answer, or a large one as a stream.

use rocksalt_backends::files::{Error, FileBackend, FileTreeEntryKind, TreePath};
use rocksalt_core::call::{Problem, ProblemKind};
use rocksalt_core::hex;
use rocksalt_core::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

/// The limit of one answer; files beyond it are requested one by one.
const ANSWER: u64 = 8 * 1024 * 1024;

/// The answer to `Ask::Tree`.
pub async fn entries(files: &dyn FileBackend) -> Result<Value, Problem> {
    let mut all = Map::new();
    for environment in files.environments() {
        let entries = files.entries(&environment).await.map_err(|error| failed(&error))?;
        let entries = entries.into_iter().map(|entry| match entry.kind {
            FileTreeEntryKind::File { size, mode } => vec![entry.path.into(), "f".into(), size.into(), mode.into()],
            FileTreeEntryKind::Directory => vec![entry.path.into(), "d".into()],
            FileTreeEntryKind::Link { target } => vec![entry.path.into(), "l".into(), target.into()],
        });
        all.insert(environment, entries.map(Value::List).collect::<Vec<_>>());
    }
    Ok(Value::Map(all))
}

/// The answer to `Ask::Files`.
pub async fn contents(files: &dyn FileBackend, saltenv: &str, paths: &[String]) -> Result<Value, Problem> {
    let mut contents = Vec::with_capacity(paths.len());
    let mut sum = 0;
    for path in paths {
        let name = TreePath::parse(path).map_err(|error| failed(&error))?;
        let (file, size) = match files.open(saltenv, &name).await {
            Ok(found) => found,
            Err(Error::NoFile { .. }) => {
                contents.push(Value::Null);
                continue;
            }
            Err(error) => return Err(failed(&error)),
        };
        if sum + size > ANSWER {
            contents.push(Value::Null);
            continue;
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // The file may grow while it is read.
        file.take(ANSWER - sum).read_to_end(&mut content).await.map_err(|error| failed(&error))?;
        sum += content.len() as u64;
        contents.push(Value::Bytes(content));
    }
    Ok(Value::List(contents))
}

/// The answer to `Ask::File`.
pub async fn send(
    files: &dyn FileBackend,
    saltenv: &str,
    path: &str,
    pieces: &mpsc::Sender<Vec<u8>>,
) -> Result<Value, Problem> {
    let name = TreePath::parse(path).map_err(|error| failed(&error))?;
    let (mut file, _) = files.open(saltenv, &name).await.map_err(|error| failed(&error))?;
    send_all(&mut file, pieces).await
}

/// Streams a file's content. Returns its hash and size.
pub async fn send_all(
    file: &mut (dyn tokio::io::AsyncRead + Send + Unpin),
    pieces: &mpsc::Sender<Vec<u8>>,
) -> Result<Value, Problem> {
    let mut hash = Sha256::new();
    let mut size = 0u64;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let count = file.read(&mut buffer).await.map_err(|error| failed(&error))?;
        if count == 0 {
            let mut answer = Map::new();
            answer.insert("sha256", hex(&hash.finalize()));
            answer.insert("size", size);
            return Ok(Value::Map(answer));
        }
        hash.update(&buffer[..count]);
        size += count as u64;
        if pieces.send(buffer[..count].to_vec()).await.is_err() {
            return Err(Problem::new(ProblemKind::Failed, "the target stopped listening"));
        }
    }
}

/// The answer to `Ask::HashFile`.
pub async fn hash(files: &dyn FileBackend, saltenv: &str, path: &str) -> Result<Value, Problem> {
    let name = TreePath::parse(path).map_err(|error| failed(&error))?;
    let (mut file, _) = match files.open(saltenv, &name).await {
        Ok(found) => found,
        Err(Error::NoFile { .. }) => return Ok(Value::Null),
        Err(error) => return Err(failed(&error)),
    };
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let count = file.read(&mut buffer).await.map_err(|error| failed(&error))?;
        if count == 0 {
            return Ok(hex(&hash.finalize()).into());
        }
        hash.update(&buffer[..count]);
    }
}

/// An error with its causes.
pub fn failed(error: &dyn std::error::Error) -> Problem {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    Problem::new(ProblemKind::Failed, text)
}
