//! [`ControllerFunction`]: the trait of runner and wheel functions.
//!
//! The struct's fields are the arguments, in positional order; its doc comment is the documentation. To add one: a struct
//! in its noun's file, and a line in that file's `FUNCTIONS`.

mod describe;
mod run;

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rocksalt_controller::select::TargetSelector;
use rocksalt_core::value::{fields_of, from_value};
use rocksalt_core::{Call, Map, Value, roster, target};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

pub use describe::{argspec, doc};
pub use run::{payload, run, stamp};

use crate::requests::{Caller, FunctionResult, Loaded, Refusal, RefusalKind, RequestService};

/// A runner or wheel function.
pub trait ControllerFunction: DeserializeOwned + JsonSchema + Send + 'static {
    const NAME: &'static str;
    /// What is stored of a call.
    const RECORD: CallRecord = CallRecord::Stored;

    fn call(self, context: FunctionContext) -> impl Future<Output = Result<Value, FunctionFailure>> + Send;

    /// Like `call`, for a function that may have its result as JSON text already.
    fn call_as_json(
        self,
        context: FunctionContext,
    ) -> impl Future<Output = Result<FunctionResult, FunctionFailure>> + Send {
        async { self.call(context).await.map(FunctionResult::Value) }
    }
}

/// What is stored of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRecord {
    /// A job record, and its events in the log.
    Stored,
    /// Nothing, unless the call runs in the background: it changes nothing, and its events only go to current listeners.
    /// Web pages call such functions every few seconds.
    ReadOnly,
    /// Like `ReadOnly`, and the events don't contain the result, which may be secret.
    Private,
}

/// What a function can use.
#[derive(Clone)]
pub struct FunctionContext {
    pub requests: Arc<RequestService>,
    pub loaded: Arc<Loaded>,
    pub caller: Caller,
}

/// Why a function has no result.
#[derive(Debug, thiserror::Error)]
pub enum FunctionFailure {
    /// It failed; the text is the result, with `success` false.
    #[error("{0}")]
    Failed(String),
    /// It could not be called.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl FunctionFailure {
    pub fn failed(text: impl Into<String>) -> FunctionFailure {
        FunctionFailure::Failed(text.into())
    }
}

impl From<rocksalt_backends::store::Error> for FunctionFailure {
    fn from(error: rocksalt_backends::store::Error) -> FunctionFailure {
        FunctionFailure::Refused(error.into())
    }
}

/// A function in a table.
pub struct FunctionEntry {
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    pub record: CallRecord,
    pub arguments: fn() -> &'static [&'static str],
    pub schema: fn() -> Schema,
    /// Calls it with the arguments by name.
    call: fn(Value, FunctionContext) -> BoxFuture<'static, Result<FunctionResult, FunctionFailure>>,
}

/// The table entry of a function.
pub const fn entry<F: ControllerFunction>() -> FunctionEntry {
    FunctionEntry {
        name: F::NAME,
        aliases: &[],
        record: F::RECORD,
        arguments: fields_of::<F>,
        schema: || schemars::schema_for!(F),
        call: |arguments, context| {
            Box::pin(async move {
                let function: F = from_value(arguments).map_err(|error| {
                    FunctionFailure::failed(format!(
                        "Passed invalid arguments: {error}\n\nUsage:\n{}",
                        doc(&entry::<F>())
                    ))
                })?;
                function.call_as_json(context).await
            })
        },
    }
}

impl FunctionEntry {
    #[must_use]
    pub const fn also(mut self, aliases: &'static [&'static str]) -> FunctionEntry {
        self.aliases = aliases;
        self
    }

    async fn call(
        &self,
        args: Vec<Value>,
        kwargs: Map,
        context: FunctionContext,
    ) -> Result<FunctionResult, FunctionFailure> {
        let call = Call { args, kwargs, ..Call::new(self.name) };
        let bound = rocksalt_core::arguments::bind((self.arguments)(), "args", call).map_err(|problem| {
            FunctionFailure::failed(format!("Passed invalid arguments: {}\n\nUsage:\n{}", problem.text, doc(self)))
        })?;
        (self.call)(Value::Map(bound), context).await
    }
}

/// The table of runner or wheel functions.
#[derive(Clone, Copy)]
pub struct FunctionTable {
    /// `runner` or `wheel`, the prefix of the full name.
    pub kind: &'static str,
    /// Alphabetical by noun.
    pub nouns: &'static [&'static [FunctionEntry]],
}

impl FunctionTable {
    pub fn entries(&self) -> impl Iterator<Item = &'static FunctionEntry> {
        self.nouns.iter().flat_map(|noun| noun.iter())
    }

    pub fn get(&self, name: &str) -> Result<&'static FunctionEntry, Refusal> {
        self.entries().find(|entry| entry.name == name || entry.aliases.contains(&name)).ok_or_else(|| {
            let near = rocksalt_core::nearest::hint(name, self.entries().map(|entry| entry.name));
            Refusal::new(RefusalKind::Invalid, format!("unknown {} function '{name}'{near}", self.kind))
                .hint(format!("the runner doc.{} lists all functions", self.kind))
        })
    }
}

/// Selects the targets of a function's argument, in roster order.
pub async fn select(
    context: &FunctionContext,
    target: &Value,
    kind: &str,
) -> Result<Vec<roster::RosterEntry>, FunctionFailure> {
    let text = match target {
        Value::List(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    let kind = match (target, kind) {
        (Value::List(_), _) => target::TargetKind::List,
        (_, "") => target::TargetKind::Glob,
        (_, name) => target::TargetKind::from_name(name).map_err(|error| FunctionFailure::failed(error.to_string()))?,
    };
    let target = TargetSelector { kind, text, delimiter: ":".into() };
    let selection = context.loaded.controller.select(&target).await;
    Ok(selection.map_err(|error| FunctionFailure::failed(error.to_string()))?.entries)
}

/// A list value.
pub fn list_value<T: Into<Value>>(all: impl IntoIterator<Item = T>) -> Value {
    Value::List(all.into_iter().map(Into::into).collect())
}
