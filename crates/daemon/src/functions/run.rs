//! [`run`]: a function of the controller from its request to its result, with its record and its events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rocksalt_controller::controller_events;
use rocksalt_controller::ledger::NewJob;
use rocksalt_core::call::Return;
use rocksalt_core::masking;
use rocksalt_core::record::{JobRecord, JobState, TargetOutcome};
use rocksalt_core::request::ControllerCall;
use rocksalt_core::{Event, JobId, Map, Value};

use super::{Context, Entry, Failure, House, Mark};
use crate::clock::now;
use crate::requests::{Caller, ControllerResult, FunctionResult, Kind, Refusal, RequestService};

/// Runs a function; one that fails has a result that says so.
pub async fn run(
    house: House,
    requests: &Arc<RequestService>,
    caller: &Caller,
    local: ControllerCall,
) -> Result<ControllerResult, Refusal> {
    let entry = house.get(&local.function)?;
    let context = Context { requests: Arc::clone(requests), loaded: requests.loaded(), caller: caller.clone() };
    let function = format!("{}.{}", house.kind, local.function);
    let (shown_args, shown_kwargs) = masking::mask(&function, &local.args, &local.kwargs);
    let call = Asked { entry, function, shown_args, shown_kwargs, local, context };
    if call.local.background {
        return call.in_background().await;
    }
    match entry.mark {
        Mark::Kept => call.kept().await,
        Mark::Looks | Mark::Private => call.told().await,
    }
}

/// A call that was found and allowed.
struct Asked {
    entry: &'static Entry,
    /// With its kind before it.
    function: String,
    /// What may be seen of its arguments.
    shown_args: Vec<Value>,
    shown_kwargs: Map,
    local: ControllerCall,
    context: Context,
}

impl Asked {
    /// No record; those who listen now hear of it.
    async fn told(self) -> Result<ControllerResult, Refusal> {
        let job = unused_id();
        let ran = self.ran(job);
        let (ledger, entry) = (Arc::clone(self.context.requests.ledger()), self.entry);
        ledger.tell(Event { tag: format!("{}/new", ran.tag), data: payload(&ran) });
        let ran = finished(ran, entry.call(self.local.args, self.local.kwargs, self.context).await)?;
        ledger.tell(Event { tag: format!("{}/ret", ran.tag), data: outcome(&ran, entry.mark, TOLD) });
        Ok(ran)
    }

    /// A job like others, on one target: this controller.
    async fn kept(self) -> Result<ControllerResult, Refusal> {
        let (ran, record) = self.begin().await?;
        // A task of its own: whoever waits may go away, and yet it must come to its end.
        let work = tokio::spawn(self.work(ran, record));
        work.await.map_err(|_| Refusal::new(Kind::Unavailable, "the function broke off"))?
    }

    async fn in_background(self) -> Result<ControllerResult, Refusal> {
        let (ran, record) = self.begin().await?;
        tokio::spawn(self.work(ran.clone(), record));
        Ok(ran)
    }

    async fn begin(&self) -> Result<(ControllerResult, JobRecord), Refusal> {
        let id = self.context.loaded.id();
        let new = NewJob {
            function: self.function.clone(),
            args: self.shown_args.clone(),
            kwargs: self.shown_kwargs.clone(),
            target: id.clone(),
            target_kind: "list".into(),
            targets: vec![id],
            user: self.context.caller.user.clone(),
            ..NewJob::default()
        };
        let begun = self.context.requests.ledger().begin(new, JobState::Running).await?;
        let record = begun.ok_or_else(|| Refusal::new(Kind::Unavailable, "no job id was free"))?;
        Ok((self.ran(record.id), record))
    }

    async fn work(self, ran: ControllerResult, mut record: JobRecord) -> Result<ControllerResult, Refusal> {
        let (ledger, entry) = (Arc::clone(self.context.requests.ledger()), self.entry);
        let ended = finished(ran.clone(), entry.call(self.local.args, self.local.kwargs, self.context).await);
        let shown = match &ended {
            // What is too large for a record is cut there.
            Ok(ran) => outcome(ran, entry.mark, usize::MAX),
            // It has to end for those who look it up, too.
            Err(refusal) => {
                let text = Some(refusal.text.as_str().into());
                outcome(&ControllerResult { result: text, success: false, stamp: now(), ..ran }, Mark::Kept, usize::MAX)
            }
        };
        let success = ended.as_ref().is_ok_and(|ran| ran.success);
        let target = record.target.clone();
        let kept = TargetOutcome::Returned(Return { value: shown.into(), retcode: i32::from(!success), problem: None });
        ledger.returned(&record, &target, kept).await?;
        ledger.set_state(&mut record, JobState::Done, Vec::new()).await?;
        ended
    }

    fn ran(&self, job: JobId) -> ControllerResult {
        ControllerResult {
            tag: controller_events::tag(&self.function, job).unwrap_or_default(),
            job,
            function: self.function.clone(),
            user: self.context.caller.user.clone(),
            arguments: controller_events::arguments(&self.shown_args, &self.shown_kwargs),
            result: None,
            success: true,
            stamp: now(),
        }
    }
}

fn finished(mut ran: ControllerResult, result: Result<FunctionResult, Failure>) -> Result<ControllerResult, Refusal> {
    match result {
        Ok(given) => ran.result = Some(given),
        Err(Failure::Said(text)) => {
            ran.result = Some(text.into());
            ran.success = false;
        }
        Err(Failure::Refused(refusal)) => return Err(refusal),
    }
    ran.stamp = now();
    Ok(ran)
}

/// What Salt's events say of a call.
pub fn payload(ran: &ControllerResult) -> Map {
    let mut data = Map::with_capacity(7);
    data.insert("fun", ran.function.as_str());
    data.insert("jid", ran.job.as_str());
    if ran.function.starts_with("wheel.") {
        data.insert("tag", ran.tag.as_str());
    }
    data.insert("user", ran.user.as_str());
    data.insert("fun_args", ran.arguments.clone());
    data
}

/// The same with the result, as it is kept and told.
fn outcome(ran: &ControllerResult, mark: Mark, most: usize) -> Map {
    let mut data = payload(ran);
    data.insert("_stamp", stamp(ran.stamp));
    data.insert(
        "return",
        match (mark, &ran.result) {
            (Mark::Private, _) if ran.success => "this result is only for whoever asks and waits for it".into(),
            (_, Some(result)) if !is_within(result, most) => {
                "this result is too large to be told to all who listen".into()
            }
            (_, result) => result.clone().map(FunctionResult::into_value).unwrap_or_default(),
        },
    );
    data.insert("success", ran.success);
    data
}

/// The most that is told of a result that somebody waits for, in bytes or so: all who listen get it, and nobody needs it.
const TOLD: usize = 16 << 10;

fn is_within(given: &FunctionResult, most: usize) -> bool {
    match given {
        FunctionResult::Value(value) => fits(value, &mut { most }),
        FunctionResult::Written(text) => text.len() <= most,
    }
}

/// Whether a value is not larger than what is left; it stops looking once it is.
fn fits(value: &Value, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let Some(rest) = left.checked_sub(own + 8) else { return false };
    *left = rest;
    match value {
        Value::List(items) => items.iter().all(|item| fits(item, left)),
        Value::Map(map) => map.iter().all(|(key, value)| fits(key, left) && fits(value, left)),
        _ => true,
    }
}

/// Salt's `_stamp`: UTC, to the microsecond, without a zone.
pub fn stamp(micros: u64) -> String {
    let id = JobId::at(micros);
    let text = id.as_str();
    format!(
        "{}-{}-{}T{}:{}:{}.{}",
        &text[..4],
        &text[4..6],
        &text[6..8],
        &text[8..10],
        &text[10..12],
        &text[12..14],
        &text[14..]
    )
}

/// The id of a job of which no record is made: no two alike.
fn unused_id() -> JobId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = now();
    let before = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)));
    JobId::at(now.max(before.unwrap_or(0) + 1))
}
