//! [`FakeController`]: a controller in memory, for tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rocksalt_core::frame::Ask;
use rocksalt_core::{Event, Map, Value};

use super::Upward;
use crate::text::digest;
use crate::{Error, Result};

/// Provides files and web pages, and records what it receives.
#[derive(Default)]
pub struct FakeController {
    /// Content by path in the file tree.
    pub files: BTreeMap<String, Vec<u8>>,
    pub urls: BTreeMap<String, Vec<u8>>,
    /// The results of other targets, for every function.
    pub answers: Map,
    /// Every file arrives damaged.
    pub damages: bool,
    pub pushed: Mutex<BTreeMap<String, Vec<u8>>>,
    pub events: Mutex<Vec<Event>>,
    /// The published calls as `target function args kwargs`.
    pub published: Mutex<Vec<String>>,
    /// The number of files that were sent to targets.
    pub sent: Mutex<usize>,
}

impl Upward for FakeController {
    fn ask(&self, ask: Ask) -> Result<Value> {
        self.fetch(ask, &mut |_| Ok(()))
    }

    fn fetch(&self, ask: Ask, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Value> {
        let missing = |what: &str| Error::failed(format!("the controller has no {what}"));
        Ok(match ask {
            Ask::File { path, .. } => {
                let content = self.files.get(&path).ok_or_else(|| missing(&path))?;
                *lock(&self.sent) += 1;
                for piece in content.chunks(7) {
                    sink(piece)?;
                }
                if self.damages {
                    sink(b"?")?;
                }
                Map::from_iter([("sha256".into(), sum(content).into()), ("size".into(), content.len().into())]).into()
            }
            Ask::Url { url } => {
                sink(self.urls.get(&url).ok_or_else(|| missing(&url))?)?;
                Value::Null
            }
            Ask::HashFile { path, .. } => self.files.get(&path).map(|content| sum(content)).into(),
            Ask::ListFiles { prefix, .. } => {
                let names = self.files.keys().filter(|name| name.starts_with(&prefix));
                names.map(|name| Value::from(name.as_str())).collect::<Vec<_>>().into()
            }
            Ask::Publish { target, call, .. } => {
                let args = Value::List(call.args);
                let kwargs = Value::Map(call.kwargs);
                lock(&self.published).push(format!("{target} {} {args} {kwargs}", call.function));
                self.answers.clone().into()
            }
            Ask::Outputs { target, .. } => return Err(missing(&format!("outputs of {target}"))),
            Ask::Pillar { .. } | Ask::ExternalPillar { .. } | Ask::Tree | Ask::Files { .. } => {
                return Err(missing("tree"));
            }
            Ask::Event(event) => {
                lock(&self.events).push(event);
                Value::Null
            }
            Ask::Warning { .. } => Value::Null,
            Ask::Push { .. } => return Err(Error::failed("a file is pushed as a stream")),
        })
    }

    fn send(&self, ask: Ask, source: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Value> {
        let Ask::Push { path, size } = ask else { return self.ask(ask) };
        let mut content = Vec::new();
        loop {
            let piece = source()?;
            if piece.is_empty() {
                break;
            }
            content.extend(piece);
        }
        if content.len() as u64 != size {
            return Err(Error::failed(format!("{path}: {} bytes came, not {size}", content.len())));
        }
        lock(&self.pushed).insert(path, content);
        Ok(Value::Bool(true))
    }
}

fn sum(content: &[u8]) -> String {
    digest::of(digest::DigestAlgorithm::Sha256, content)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
