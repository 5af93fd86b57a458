//! What targets' functions ask, with their events going into the ledger at the pace at which they can be stored.

use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_connect::link::{Answers, Upload};
use rocksalt_core::call::{Problem, ProblemKind};
use rocksalt_core::frame::Ask;
use rocksalt_core::record::JobRecord;
use rocksalt_core::roster::Entry;
use rocksalt_core::{Event, Value};
use tokio::sync::mpsc;

use crate::Controller;
use crate::answers::is_too_large;
use crate::execution::{AnswersFor, Update};

/// The usual answers, and events by the way that a target can't flood.
pub fn answers(
    controller: &Arc<Controller>,
    job: &JobRecord,
    updates: &mpsc::UnboundedSender<Update>,
    events: mpsc::Sender<(String, Event)>,
) -> Arc<AnswersFor> {
    let targets: Arc<[String]> = job.targets.iter().cloned().collect();
    let (controller, id, updates) = (Arc::clone(controller), job.id, updates.clone());
    Arc::new(move |entry: &Entry| {
        let usual = controller.serving(entry, id, &targets, &updates);
        Arc::new(EventForwarder { usual, target: entry.id.clone(), events: events.clone() }) as Arc<dyn Answers>
    })
}

struct EventForwarder {
    usual: Arc<dyn Answers>,
    target: String,
    events: mpsc::Sender<(String, Event)>,
}

#[async_trait]
impl Answers for EventForwarder {
    async fn answer(&self, ask: Ask) -> Result<Value, Problem> {
        let Ask::Event(event) = ask else { return self.usual.answer(ask).await };
        if is_too_large(&event) {
            return Err(Problem::new(ProblemKind::Refused, "the event is too large"));
        }
        let gone = |_| Problem::new(ProblemKind::Failed, "the job has ended");
        self.events.send((self.target.clone(), event)).await.map_err(gone)?;
        Ok(Value::Bool(true))
    }

    async fn stream(&self, ask: Ask, pieces: mpsc::Sender<Vec<u8>>) -> Result<Value, Problem> {
        self.usual.stream(ask, pieces).await
    }

    async fn receive(&self, ask: Ask, upload: Upload) -> Result<Value, Problem> {
        self.usual.receive(ask, upload).await
    }
}
