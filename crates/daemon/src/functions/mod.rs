//! [`Function`]: what the controller does itself by name, the shape of runners and wheel functions alike.
//!
//! The struct's fields are the arguments, in the order in which they may be given by position; its doc comment is the
//! documentation. To add one: a struct in its noun's file, and a line in that file's `FUNCTIONS`.

mod describe;
mod run;

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rocksalt_controller::select::Target;
use rocksalt_core::value::{fields_of, from_value};
use rocksalt_core::{Call, Map, Value, roster, target};
use rocksalt_modules::catalog;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

pub use describe::{argspec, doc};
pub use run::{payload, run, stamp};

use crate::requests::{Caller, FunctionResult, Kind, Loaded, Refusal, RequestService};

/// A function that users call by name.
pub trait Function: DeserializeOwned + JsonSchema + Send + 'static {
    const NAME: &'static str;
    /// How long it is spoken of.
    const MARK: Mark = Mark::Kept;

    fn call(self, context: Context) -> impl Future<Output = Result<Value, Failure>> + Send;

    /// The same, for one that may have the text of its result at hand.
    fn give(self, context: Context) -> impl Future<Output = Result<FunctionResult, Failure>> + Send {
        async { self.call(context).await.map(FunctionResult::Value) }
    }
}

/// What is left behind by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A job that can be looked up, and its events in the log.
    Kept,
    /// It changes nothing: if somebody waits for the result, its events are only told to those who listen now. Pages ask
    /// such things every few seconds, and nobody ever looks them up.
    Looks,
    /// As `Looks`, and the result is for the asker alone: it may hold secrets.
    Private,
}

/// What a function may use.
#[derive(Clone)]
pub struct Context {
    pub requests: Arc<RequestService>,
    pub loaded: Arc<Loaded>,
    pub caller: Caller,
}

/// Why there is no proper result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It did not work; the text is the result, which does not count as a success.
    #[error("{0}")]
    Said(String),
    /// It can't even be tried.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Failure {
    pub fn said(text: impl Into<String>) -> Failure {
        Failure::Said(text.into())
    }
}

impl From<rocksalt_backends::store::Error> for Failure {
    fn from(error: rocksalt_backends::store::Error) -> Failure {
        Failure::Refused(error.into())
    }
}

/// A function in the list.
pub struct Entry {
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    pub mark: Mark,
    pub arguments: fn() -> &'static [&'static str],
    pub schema: fn() -> Schema,
    /// Given all arguments under their names.
    work: fn(Value, Context) -> BoxFuture<'static, Result<FunctionResult, Failure>>,
}

/// The list entry of a function.
pub const fn entry<F: Function>() -> Entry {
    Entry {
        name: F::NAME,
        aliases: &[],
        mark: F::MARK,
        arguments: fields_of::<F>,
        schema: || schemars::schema_for!(F),
        work: |arguments, context| {
            Box::pin(async move {
                let function: F = from_value(arguments).map_err(|error| {
                    Failure::said(format!("Passed invalid arguments: {error}\n\nUsage:\n{}", doc(&entry::<F>())))
                })?;
                function.give(context).await
            })
        },
    }
}

impl Entry {
    #[must_use]
    pub const fn also(mut self, aliases: &'static [&'static str]) -> Entry {
        self.aliases = aliases;
        self
    }

    async fn call(&self, args: Vec<Value>, kwargs: Map, context: Context) -> Result<FunctionResult, Failure> {
        let call = Call { args, kwargs, ..Call::new(self.name) };
        let bound = catalog::bind((self.arguments)(), "args", call).map_err(|problem| {
            Failure::said(format!("Passed invalid arguments: {}\n\nUsage:\n{}", problem.text, doc(self)))
        })?;
        (self.work)(Value::Map(bound), context).await
    }
}

/// Runners or wheel functions.
#[derive(Clone, Copy)]
pub struct House {
    /// `runner` or `wheel`: before the function's name.
    pub kind: &'static str,
    /// Alphabetical by noun.
    pub nouns: &'static [&'static [Entry]],
}

impl House {
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        self.nouns.iter().flat_map(|noun| noun.iter())
    }

    pub fn get(&self, name: &str) -> Result<&'static Entry, Refusal> {
        self.entries().find(|entry| entry.name == name || entry.aliases.contains(&name)).ok_or_else(|| {
            let near = rocksalt_core::nearest::hint(name, self.entries().map(|entry| entry.name));
            Refusal::new(Kind::Invalid, format!("there is no {} function '{name}'{near}", self.kind))
                .hint(format!("the runner doc.{} tells what there is", self.kind))
        })
    }
}

/// Whom a target of a function means, in the roster's order.
pub async fn select(context: &Context, target: &Value, kind: &str) -> Result<Vec<roster::Entry>, Failure> {
    let text = match target {
        Value::List(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    let kind = match (target, kind) {
        (Value::List(_), _) => target::Kind::List,
        (_, "") => target::Kind::Glob,
        (_, name) => target::Kind::from_name(name).map_err(|error| Failure::said(error.to_string()))?,
    };
    let target = Target { kind, text, delimiter: ":".into() };
    let selection = context.loaded.controller.select(&target).await;
    Ok(selection.map_err(|error| Failure::said(error.to_string()))?.entries)
}

/// Texts as a value.
pub fn texts<T: Into<Value>>(all: impl IntoIterator<Item = T>) -> Value {
    Value::List(all.into_iter().map(Into::into).collect())
}
