//! Compiles the pillar of one target, for that target alone.
//!
//! Pillar templates call functions, and functions run only in agents: an agent of this machine compiles the pillar. It can
//! read the pillar's files and no others (docs/decisions/0011-pillar-is-compiled-by-an-agent.md).

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_backends::files::{self, FileBackend};
use rocksalt_backends::pillar::{DirectoryCompiler, ExternalPillars, PillarTarget};
use rocksalt_connect::link::{Answers, IncomingStream, RemoteCall};
use rocksalt_connect::links::Links;
use rocksalt_core::call::{COMPILE_PILLAR, Problem, ProblemKind};
use rocksalt_core::frame::Ask;
use rocksalt_core::link::AgentKind;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::{Call, Map, Value};
use tokio::sync::mpsc;

use crate::tree;
use crate::{Controller, identity};

/// The sources of pillar.
pub struct Pillar {
    pub files: Arc<dyn FileBackend>,
    pub external: Arc<ExternalPillars>,
    pub compiler: Arc<Compiler>,
}

/// Compiles pillar in an agent of this machine.
pub struct Compiler {
    pub links: Arc<dyn Links>,
    /// The configuration as templates see it (`opts`), with the options of the compiler.
    pub options: Map,
}

/// A target's pillar.
#[derive(Default)]
pub struct Compiled {
    /// The data for the target; `_errors` lists what did not render, without details.
    pub data: Map,
    /// The errors with details, for the operator: they may quote secrets of other targets.
    pub details: Vec<String>,
}

/// A target's request for its pillar.
#[derive(Clone, Default)]
pub struct PillarRequest {
    pub grains: Map,
    pub saltenv: String,
    pub pillarenv: String,
    /// Pillar data of the job, which external pillars see and which is merged over the rest.
    pub given: Map,
    /// Pillar data that only the target asks for: merged over the result, and seen by nothing that compiles it.
    pub over: Map,
}

impl Controller {
    /// A target's pillar; `_errors` lists what failed to render.
    pub async fn pillar(&self, id: &str, mut wanted: PillarRequest) -> Result<Compiled, Problem> {
        // Without an entry nobody is behind the id: an operator asks what such a target would get.
        let nobody = RosterEntry::new(id, "");
        let entry = self.roster.get(id).unwrap_or(&nobody);
        let options = identity::options(&self.pillar.compiler.options, entry);
        wanted.grains = self.trusted_grains(entry, wanted.grains);
        let mut under = entry.pillar.clone();
        let answers = PillarAnswers {
            files: Arc::clone(&self.pillar.files),
            external: Some(Arc::clone(&self.pillar.external)),
            id: id.to_owned(),
            wanted: wanted.clone(),
        };
        let over = std::mem::take(&mut wanted.over);
        let mut compiled = self.pillar.compiler.compile(options, wanted, answers).await?;
        // Any pillar file takes precedence over the roster.
        rocksalt_core::merge::update(&mut under, compiled.data, false);
        rocksalt_core::merge::update(&mut under, over, false);
        compiled.data = under;
        Ok(compiled)
    }
}

impl Compiler {
    async fn compile(&self, options: Map, wanted: PillarRequest, answers: PillarAnswers) -> Result<Compiled, Problem> {
        let mut call = Call::new(COMPILE_PILLAR)
            .kwarg("saltenv", wanted.saltenv)
            .kwarg("pillarenv", wanted.pillarenv)
            .kwarg("pillar", wanted.given);
        call.options = options;
        call.target.clone_from(&answers.id);
        call.grains = Some(wanted.grains);
        let mut entry = RosterEntry::new("pillar", "localhost");
        entry.transport = "local".into();
        let failed = |failure: rocksalt_core::link::LinkFailure| {
            Problem::new(ProblemKind::Failed, format!("the pillar could not be compiled: {}", failure.text))
        };
        let line = self.links.open(&entry, AgentKind::Whole, false, None).await.map_err(failed)?;
        let port = line.open_channel("the pillar").map_err(failed)?;
        let result = RemoteCall::start(port, call, Arc::new(answers)).finish(&mut |_, _| {}).await.map_err(failed)?;
        let mut answer = match (result.problem, result.value) {
            (Some(problem), _) => return Err(problem),
            (None, Value::Map(answer)) => answer,
            (None, other) => {
                return Err(Problem::new(ProblemKind::Failed, format!("the pillar is {}, not a map", other.kind())));
            }
        };
        let details = match answer.remove("details") {
            Some(Value::List(texts)) => texts.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        match answer.remove("pillar") {
            Some(Value::Map(data)) => Ok(Compiled { data, details }),
            _ => Ok(Compiled { details, ..Compiled::default() }),
        }
    }
}

/// Compiles trees of external pillars (`git`) in the same way.
#[async_trait]
impl DirectoryCompiler for Compiler {
    async fn compile(
        &self,
        directories: &[PathBuf],
        environment: &str,
        target: &PillarTarget<'_>,
    ) -> Result<Map, Vec<String>> {
        let list = directories.iter().map(|directory| directory.to_string_lossy().into_owned().into());
        let roots = Map::from_iter([(environment.into(), Value::List(list.collect()))]);
        let files = files::open("roots", &roots).map_err(|error| vec![error.to_string()])?;
        let wanted = PillarRequest {
            grains: target.grains.clone(),
            saltenv: target.saltenv.to_owned(),
            pillarenv: environment.to_owned(),
            ..PillarRequest::default()
        };
        let mut options = self.options.clone();
        options.remove("ext_pillar");
        options.insert("id", target.id);
        let answers =
            PillarAnswers { files: files.into(), external: None, id: target.id.to_owned(), wanted: wanted.clone() };
        let compiled = self.compile(options, wanted, answers).await.map_err(|problem| vec![problem.text])?;
        let mut data = compiled.data;
        match data.remove("_errors") {
            Some(Value::List(errors)) => Err(errors.iter().map(ToString::to_string).collect()),
            _ => Ok(data),
        }
    }
}

/// Serves the files of the pillar and the data of external pillars, and nothing else.
struct PillarAnswers {
    files: Arc<dyn FileBackend>,
    external: Option<Arc<ExternalPillars>>,
    id: String,
    wanted: PillarRequest,
}

#[async_trait]
impl Answers for PillarAnswers {
    async fn answer(&self, ask: Ask) -> Result<Value, Problem> {
        match (ask, &self.external) {
            (Ask::Tree, _) => tree::entries(&*self.files).await,
            (Ask::Files { saltenv, paths }, _) => tree::contents(&*self.files, &saltenv, &paths).await,
            (Ask::ExternalPillar { number, pillar }, Some(external)) => {
                let target = PillarTarget {
                    id: &self.id,
                    grains: &self.wanted.grains,
                    pillar: &pillar,
                    saltenv: &self.wanted.saltenv,
                    pillarenv: &self.wanted.pillarenv,
                };
                let given = external.fetch(number as usize, &target).await;
                given.map(Value::Map).map_err(|text| Problem::new(ProblemKind::Failed, text))
            }
            _ => Err(Problem::new(ProblemKind::Refused, "pillar templates can't ask that of the controller")),
        }
    }

    async fn stream(&self, ask: Ask, pieces: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        match ask {
            Ask::File { path, saltenv } => tree::send(&*self.files, &saltenv, &path, &pieces).await,
            other => self.answer(other).await,
        }
    }

    async fn receive(&self, ask: Ask, _: IncomingStream) -> Result<Value, Problem> {
        self.answer(ask).await
    }
}
