//! [`run`]: calls a runner or wheel function, with its job record and events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rocksalt_controller::controller_events;
use rocksalt_controller::ledger::NewJob;
use rocksalt_core::call::Return;
use rocksalt_core::record::{JobRecord, JobState, TargetOutcome};
use rocksalt_core::request::ControllerCall;
use rocksalt_core::{Event, JobId, Map, Value};

use super::{CallRecord, FunctionContext, FunctionEntry, FunctionFailure, FunctionTable};
use crate::clock::now;
use crate::requests::{Caller, ControllerResult, FunctionResult, Refusal, RefusalKind, RequestService};

/// Calls a function. If it fails, the failure is its result.
pub async fn run(
    table: FunctionTable,
    requests: &Arc<RequestService>,
    caller: &Caller,
    local: ControllerCall,
) -> Result<ControllerResult, Refusal> {
    let entry = table.get(&local.function)?;
    let context = FunctionContext { requests: Arc::clone(requests), loaded: requests.loaded(), caller: caller.clone() };
    let function = format!("{}.{}", table.kind, local.function);
    let (shown_args, shown_kwargs) = rocksalt_catalog::mask(&function, &local.args, &local.kwargs);
    let call = PendingCall { entry, function, shown_args, shown_kwargs, local, context };
    if call.local.background {
        return call.run_in_background().await;
    }
    match entry.record {
        CallRecord::Stored => call.run_stored().await,
        CallRecord::ReadOnly | CallRecord::Private => call.run_unstored().await,
    }
}

/// A call to execute.
struct PendingCall {
    entry: &'static FunctionEntry,
    /// With the prefix `runner.` or `wheel.`.
    function: String,
    /// The arguments without secrets.
    shown_args: Vec<Value>,
    shown_kwargs: Map,
    local: ControllerCall,
    context: FunctionContext,
}

impl PendingCall {
    /// Calls it without a record; only current listeners get its events.
    async fn run_unstored(self) -> Result<ControllerResult, Refusal> {
        let job = unstored_id();
        let ran = self.new_result(job);
        let (ledger, entry) = (Arc::clone(self.context.requests.ledger()), self.entry);
        let account = self.context.caller.account();
        ledger.publish(Event { tag: format!("{}/new", ran.tag), data: payload(&ran) }, Some(&account));
        let ran = with_result(ran, entry.call(self.local.args, self.local.kwargs, self.context).await)?;
        let data = result_payload(&ran, entry.record, MAX_EVENT_RESULT);
        ledger.publish(Event { tag: format!("{}/ret", ran.tag), data }, Some(&account));
        Ok(ran)
    }

    /// Calls it as a job on one target, this controller.
    async fn run_stored(self) -> Result<ControllerResult, Refusal> {
        let (ran, record) = self.create_record().await?;
        // A task of its own, so that it completes even if the client disconnects.
        let work = tokio::spawn(self.call_and_store(ran, record));
        work.await.map_err(|_| Refusal::new(RefusalKind::Unavailable, "the function was aborted"))?
    }

    async fn run_in_background(self) -> Result<ControllerResult, Refusal> {
        let (ran, record) = self.create_record().await?;
        tokio::spawn(self.call_and_store(ran.clone(), record));
        Ok(ran)
    }

    async fn create_record(&self) -> Result<(ControllerResult, JobRecord), Refusal> {
        let id = self.context.loaded.id();
        let new = NewJob {
            function: self.function.clone(),
            args: self.shown_args.clone(),
            kwargs: self.shown_kwargs.clone(),
            target: id.clone(),
            target_kind: "list".into(),
            targets: vec![id],
            account: self.context.caller.account(),
            ..NewJob::default()
        };
        let begun = self.context.requests.ledger().begin(new, JobState::Running).await?;
        let record = begun.ok_or_else(|| Refusal::new(RefusalKind::Unavailable, "no job id was free"))?;
        Ok((self.new_result(record.id), record))
    }

    async fn call_and_store(self, ran: ControllerResult, mut record: JobRecord) -> Result<ControllerResult, Refusal> {
        let (ledger, entry) = (Arc::clone(self.context.requests.ledger()), self.entry);
        let ended = with_result(ran.clone(), entry.call(self.local.args, self.local.kwargs, self.context).await);
        let shown = match &ended {
            // The ledger truncates a result that is too large.
            Ok(ran) => result_payload(ran, entry.record, usize::MAX),
            // The record must end, too.
            Err(refusal) => {
                let text = Some(refusal.text.as_str().into());
                result_payload(
                    &ControllerResult { result: text, success: false, stamp: now(), ..ran },
                    CallRecord::Stored,
                    usize::MAX,
                )
            }
        };
        let success = ended.as_ref().is_ok_and(|ran| ran.success);
        let target = record.target.clone();
        let outcome =
            TargetOutcome::Returned(Return { value: shown.into(), retcode: i32::from(!success), problem: None });
        ledger.returned(&record, &target, outcome).await?;
        ledger.set_state(&mut record, JobState::Done, Vec::new()).await?;
        ended
    }

    fn new_result(&self, job: JobId) -> ControllerResult {
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

fn with_result(
    mut ran: ControllerResult,
    result: Result<FunctionResult, FunctionFailure>,
) -> Result<ControllerResult, Refusal> {
    match result {
        Ok(given) => ran.result = Some(given),
        Err(FunctionFailure::Failed(text)) => {
            ran.result = Some(text.into());
            ran.success = false;
        }
        Err(FunctionFailure::Refused(refusal)) => return Err(refusal),
    }
    ran.stamp = now();
    Ok(ran)
}

/// The payload of Salt's events about a call.
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

/// The payload with the result.
fn result_payload(ran: &ControllerResult, record: CallRecord, most: usize) -> Map {
    let mut data = payload(ran);
    data.insert("_stamp", stamp(ran.stamp));
    data.insert(
        "return",
        match (record, &ran.result) {
            (CallRecord::Private, _) if ran.success => "this result is only returned to the caller".into(),
            (_, Some(result)) if !is_within(result, most) => "this result is too large for an event".into(),
            (_, result) => result.clone().map(FunctionResult::into_value).unwrap_or_default(),
        },
    );
    data.insert("success", ran.success);
    data
}

/// The largest result in an unstored event, in bytes approximately. The caller gets the result anyway.
const MAX_EVENT_RESULT: usize = 16 << 10;

fn is_within(given: &FunctionResult, most: usize) -> bool {
    match given {
        FunctionResult::Value(value) => fits(value, &mut { most }),
        FunctionResult::Written(text) => text.len() <= most,
    }
}

/// Whether a value is not larger than `left`; stops as soon as it is.
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

/// Salt's `_stamp`: UTC with microseconds, without a zone.
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

/// A unique job id for a call without a record.
fn unstored_id() -> JobId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = now();
    let before = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)));
    JobId::at(now.max(before.unwrap_or(0) + 1))
}
