//! What a target gets to know of the pillar: compiled here, for it alone (D7).
//!
//! Templates of the pillar call functions, and functions run nowhere but in an agent: the compiling
//! itself happens in one on this machine, which asks for the pillar's files and gets no others.

use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_backends::files::Files;
use rocksalt_connect::link::{Answers, Request, Upload};
use rocksalt_core::call::{COMPILE_PILLAR, Problem, ProblemKind};
use rocksalt_core::frame::Ask;
use rocksalt_core::roster::Entry;
use rocksalt_core::{Call, Map, Value};
use tokio::sync::mpsc;

use crate::Controller;
use crate::tree;

/// Where pillar comes from.
pub struct Pillar {
    pub files: Arc<dyn Files>,
    /// The configuration as templates see it (`opts`), with the options of the compiler.
    pub options: Map,
}

/// A target's pillar.
pub struct Compiled {
    /// What the target gets; `_errors` lists what did not render, in words that it may see.
    pub data: Map,
    /// The same for the operator: these may quote secrets of others.
    pub details: Vec<String>,
}

/// What a target asks for.
pub struct Wanted {
    pub grains: Map,
    pub saltenv: String,
    pub pillarenv: String,
    /// Merged over the rest.
    pub given: Map,
}

impl Controller {
    /// A target's pillar; `_errors` lists what did not render.
    pub async fn pillar(&self, id: &str, wanted: Wanted) -> Result<Compiled, Problem> {
        let mut call = Call::new(COMPILE_PILLAR)
            .kwarg("saltenv", wanted.saltenv)
            .kwarg("pillarenv", wanted.pillarenv)
            .kwarg("pillar", wanted.given);
        call.options.clone_from(&self.pillar.options);
        call.options.insert("id", id);
        let mut grains = wanted.grains;
        if let Some(entry) = self.roster.get(id) {
            grains.extend(entry.grains.clone());
            call.options.extend(entry.options.clone());
            call = call.kwarg("roster", entry.pillar.clone());
        }
        call.grains = Some(grains);
        call.target = id.to_owned();
        let mut entry = Entry::new("pillar", "localhost");
        entry.transport = "local".into();
        let failed = |failure: rocksalt_core::link::Failure| {
            Problem::new(ProblemKind::Failed, format!("the pillar could not be compiled: {}", failure.text))
        };
        let line = self.links.open(&entry, false, None).await.map_err(failed)?;
        let port = line.port("the pillar").map_err(failed)?;
        let answers = Arc::new(PillarFiles(Arc::clone(&self.pillar.files)));
        let result = Request::start(port, call, answers).finish(&mut |_, _| {}).await.map_err(failed)?;
        match (result.problem, result.value) {
            (Some(problem), _) => Err(problem),
            (None, Value::Map(mut answer)) => {
                let details = answer.remove("details").and_then(|details| match details {
                    Value::List(texts) => Some(texts.iter().map(ToString::to_string).collect()),
                    _ => None,
                });
                let data = match answer.remove("pillar") {
                    Some(Value::Map(data)) => data,
                    _ => Map::new(),
                };
                Ok(Compiled { data, details: details.unwrap_or_default() })
            }
            (None, other) => {
                Err(Problem::new(ProblemKind::Failed, format!("the pillar is {}, not a map", other.kind())))
            }
        }
    }
}

/// Serves the pillar's files, and nothing else.
struct PillarFiles(Arc<dyn Files>);

#[async_trait]
impl Answers for PillarFiles {
    async fn answer(&self, ask: Ask) -> Result<Value, Problem> {
        match ask {
            Ask::Tree => tree::entries(&*self.0).await,
            Ask::Files { saltenv, paths } => tree::contents(&*self.0, &saltenv, &paths).await,
            _ => Err(Problem::new(ProblemKind::Refused, "pillar templates can't ask that of the controller")),
        }
    }

    async fn stream(&self, ask: Ask, pieces: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        match ask {
            Ask::File { path, saltenv } => tree::send(&*self.0, &saltenv, &path, &pieces).await,
            other => self.answer(other).await,
        }
    }

    async fn receive(&self, ask: Ask, _: Upload) -> Result<Value, Problem> {
        self.answer(ask).await
    }
}
