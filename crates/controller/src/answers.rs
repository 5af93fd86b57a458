//! [`TargetAnswers`]: the controller's answers to requests of functions that run on a target.
//!
//! A target is not trusted: the link decides its identity (docs/security-rules.md#r3), names are checked, and the size
//! of what it sends is limited (docs/security-rules.md#r4, docs/security-rules.md#r6).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_backends::files::TreePath;
use rocksalt_connect::link::{Answers, IncomingStream, NoAnswers};
use rocksalt_core::call::{Problem, ProblemKind, STEP_OUTPUTS};
use rocksalt_core::frame::Ask;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::record::TargetOutcome;
use rocksalt_core::target::TargetKind;
use rocksalt_core::{Call, Event, JobId, Map, Value};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::Controller;
use crate::execution::{CancelSignal, ExecutionOptions, TargetCall};
use crate::pillar::PillarRequest;
use crate::select::TargetSelector;
use crate::tree::{self, failed};

/// Answers the requests of one target's call.
pub struct TargetAnswers {
    pub controller: Arc<Controller>,
    /// The requesting target, as identified by its link.
    pub source: String,
    /// The job of the call, and all targets of that job.
    pub job: JobId,
    /// The pillar data of the job's call.
    pub given: Arc<Map>,
    pub targets: Arc<[String]>,
    pub updates: mpsc::UnboundedSender<JobUpdate>,
    /// Bounded: a target that sends more events than can be stored has to wait.
    pub events: mpsc::Sender<TargetEvent>,
}

/// What a target reports beside its result.
pub enum TargetEvent {
    Fired { target: String, event: Event },
    Warned { target: String, text: String, hint: Option<String> },
}

/// The largest event, in bytes of JSON.
const EVENT: usize = 1024 * 1024;

#[async_trait]
impl Answers for TargetAnswers {
    async fn answer(&self, ask: Ask) -> Result<Value, Problem> {
        match ask {
            Ask::ListFiles { saltenv, prefix } => {
                let names = self.controller.files.list(&saltenv).await.map_err(|error| failed(&error))?;
                let prefix = prefix.strip_prefix("salt://").unwrap_or(&prefix).trim_matches('/').to_owned();
                let below = |name: &String| {
                    prefix.is_empty()
                        || *name == prefix
                        || name.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('/'))
                };
                Ok(Value::List(names.into_iter().filter(below).map(Value::String).collect()))
            }
            Ask::HashFile { path, saltenv } => tree::hash(&*self.controller.files, &saltenv, &path).await,
            Ask::Publish { target, target_type, call, timeout } => {
                self.publish(target, &target_type, *call, timeout).await
            }
            Ask::Event(event) => self.event(event).await,
            Ask::Warning { text, hint } => self.warning(text, hint).await,
            Ask::Tree => tree::entries(&*self.controller.files).await,
            Ask::Files { saltenv, paths } => tree::contents(&*self.controller.files, &saltenv, &paths).await,
            Ask::Pillar { grains, saltenv, pillarenv, given } => {
                // A target can repeat what the job said; anything else must not decide which pillar it gets.
                let (given, over) = if given == *self.given { (given, Map::new()) } else { (Map::new(), given) };
                let wanted = PillarRequest { grains, saltenv, pillarenv, given, over };
                let pillar = self.controller.pillar(&self.source, wanted).await?;
                for text in pillar.details {
                    let _ = self.updates.send(JobUpdate::Note { target: self.source.clone(), text });
                }
                Ok(Value::Map(pillar.data))
            }
            Ask::Outputs { target, step } => self.outputs(&target, &step).await,
            Ask::ExternalPillar { .. } => {
                Err(Problem::new(ProblemKind::Refused, "external pillars are none of a target's business"))
            }
            Ask::File { .. } | Ask::Url { .. } | Ask::Push { .. } => {
                Err(Problem::new(ProblemKind::Failed, "that comes as a stream"))
            }
        }
    }

    async fn stream(&self, ask: Ask, pieces: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        match ask {
            Ask::File { path, saltenv } => tree::send(&*self.controller.files, &saltenv, &path, &pieces).await,
            Ask::Url { url } => Err(Problem::new(ProblemKind::Failed, format!("the controller can't fetch {url}"))
                .hint("only salt:// files are served; fetch it with `cmd.run 'curl …'` on the target")),
            _ => Err(Problem::new(ProblemKind::Failed, "that is no stream")),
        }
    }

    async fn receive(&self, ask: Ask, upload: IncomingStream) -> Result<Value, Problem> {
        let Ask::Push { path, size } = ask else { return Err(Problem::new(ProblemKind::Failed, "that is no file")) };
        let Some(receive) = &self.controller.receive else {
            return Err(Problem::new(ProblemKind::Refused, "this controller takes no files from targets")
                .hint("set `file_recv: True` in its configuration, or fetch the file with `rocksalt cp`"));
        };
        if size > receive.most {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{size} bytes are more than the {} allowed", receive.most),
            )
            .hint("raise `file_recv_max_size` in the controller's configuration"));
        }
        let name = TreePath::parse(&path).map_err(|error| failed(&error))?;
        let place = receive.directory.join(&self.source).join("files").join(name.as_str());
        store(upload, place, receive.most).await
    }
}

impl TargetAnswers {
    async fn publish(&self, target: String, kind: &str, call: Call, seconds: u32) -> Result<Value, Problem> {
        if !self.controller.peer.allow(&self.source, &call.function) {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{} may not have {} run elsewhere", self.source, call.function),
            )
            .hint("add a rule under `peer` in the controller's configuration"));
        }
        let refuse = |error: rocksalt_core::target::Error| Problem::new(ProblemKind::Arguments, error.to_string());
        let kind = TargetKind::from_name(kind).map_err(refuse)?;
        let target = TargetSelector { kind, text: target, delimiter: ":".into() };
        let selection = self.controller.select(&target).await.map_err(refuse)?;
        let options = ExecutionOptions {
            timeout: Some(Duration::from_secs(u64::from(seconds.clamp(1, 3600)))),
            ..ExecutionOptions::default()
        };
        let mut running = tokio::task::JoinSet::new();
        for entry in selection.entries {
            let (controller, call, options) = (Arc::clone(&self.controller), call.clone(), options.clone());
            // A published call gets `NoAnswers`, so it can't publish in turn: there are no cycles.
            let (updates, _) = mpsc::unbounded_channel();
            running.spawn(async move {
                let (answers, cancel_signal) = (Arc::new(NoAnswers), CancelSignal::default());
                let work =
                    TargetCall { call, options: &options, answers, updates: &updates, cancel_signal: &cancel_signal };
                let outcome = controller.call(&entry, work).await;
                (entry.id, outcome)
            });
        }
        let mut results = HashMap::new();
        while let Some(Ok((id, outcome))) = running.join_next().await {
            if let TargetOutcome::Returned(result) = outcome {
                results.insert(id, result);
            }
        }
        let mut answer = Map::new();
        for entry in &self.controller.roster.entries {
            if let Some(result) = results.remove(&entry.id) {
                let mut full = Map::new();
                full.insert("ret", result.value);
                full.insert("retcode", result.retcode);
                full.insert("out", "nested");
                answer.insert(entry.id.as_str(), full);
            }
        }
        Ok(Value::Map(answer))
    }

    /// The outputs of a step on another target of this job.
    async fn outputs(&self, target: &str, step: &str) -> Result<Value, Problem> {
        if !self.controller.peer.allow(&self.source, STEP_OUTPUTS) {
            let text = format!("{} may not know what steps on {target} gave", self.source);
            return Err(Problem::new(ProblemKind::Refused, text)
                .hint(format!("allow it `{STEP_OUTPUTS}` under `peer` in the controller's configuration")));
        }
        let entry = self.controller.roster.get(target).filter(|entry| self.targets.contains(&entry.id));
        let Some(entry) = entry else {
            let near = rocksalt_core::nearest::hint(target, self.targets.iter().map(String::as_str));
            return Err(Problem::new(ProblemKind::Failed, format!("{target} is not part of this run{near}"))
                .hint("name it among the targets: outputs are only known while a run lasts"));
        };
        let call = Call::new(STEP_OUTPUTS).arg(self.job.to_string()).arg(step);
        let (answers, cancel_signal, options) =
            (Arc::new(NoAnswers), CancelSignal::default(), ExecutionOptions::default());
        let (updates, _) = mpsc::unbounded_channel();
        let work = TargetCall { call, options: &options, answers, updates: &updates, cancel_signal: &cancel_signal };
        match self.controller.call(entry, work).await {
            TargetOutcome::Returned(result) => match result.problem {
                None => Ok(result.value),
                Some(problem) => Err(problem),
            },
            TargetOutcome::Unreached { text, .. } => {
                Err(Problem::new(ProblemKind::Failed, format!("{target} was not reached: {text}")))
            }
            TargetOutcome::Skipped(why) | TargetOutcome::Lost(why) => Err(Problem::new(ProblemKind::Failed, why)),
        }
    }

    async fn event(&self, event: Event) -> Result<Value, Problem> {
        if is_too_large(&event) {
            return Err(Problem::new(ProblemKind::Refused, "the event is too large"));
        }
        self.pass_on(TargetEvent::Fired { target: self.source.clone(), event }).await
    }

    async fn warning(&self, text: String, hint: Option<String>) -> Result<Value, Problem> {
        if text.len() + hint.as_ref().map_or(0, String::len) > EVENT {
            return Err(Problem::new(ProblemKind::Refused, "the warning is too large"));
        }
        self.pass_on(TargetEvent::Warned { target: self.source.clone(), text, hint }).await
    }

    async fn pass_on(&self, event: TargetEvent) -> Result<Value, Problem> {
        let ended = |_| Problem::new(ProblemKind::Failed, "the job has ended");
        self.events.send(event).await.map_err(ended)?;
        Ok(Value::Bool(true))
    }
}

fn is_too_large(event: &Event) -> bool {
    event.tag.len() > 1024 || rocksalt_core::json::compact(&Value::Map(event.data.clone())).len() > EVENT
}

/// Writes an upload to a temporary file, and renames it when it is complete.
pub async fn store(mut upload: IncomingStream, place: PathBuf, most: u64) -> Result<Value, Problem> {
    let fault = |error: std::io::Error| Problem::new(ProblemKind::Failed, format!("can't store it: {error}"));
    let directory = place.parent().map(PathBuf::from).unwrap_or_default();
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&directory).await.map_err(fault)?;
    let temporary =
        directory.join(format!(".{}.{}", std::process::id(), place.file_name().unwrap_or_default().to_string_lossy()));
    let mut file = tokio::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .await
        .map_err(fault)?;
    let mut size = 0u64;
    let written = async {
        while let Some(piece) = upload.next().await? {
            size += piece.len() as u64;
            if size > most {
                return Err(Problem::new(ProblemKind::Refused, "it is larger than allowed"));
            }
            file.write_all(&piece).await.map_err(fault)?;
        }
        file.flush().await.map_err(fault)?;
        tokio::fs::rename(&temporary, &place).await.map_err(fault)
    };
    let result = written.await;
    if result.is_err() {
        let _ = tokio::fs::remove_file(&temporary).await;
    }
    result.map(|()| Value::Bool(true))
}
