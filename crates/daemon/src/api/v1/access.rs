//! Who may do what, and why.

use rocksalt_core::Value;
use rocksalt_core::request::Request;
use schemars::JsonSchema;
use serde::Deserialize;

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::reply::Reply;
use crate::requests::Answer;

/// Somebody, and what they would do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    #[schemars(length(min = 1, max = 256))]
    user: String,
    /// As in `cmd.run`; `@runner/jobs.active` and `@wheel/key.list_all` for the controller's own.
    #[schemars(length(min = 1, max = 256))]
    function: String,
    /// In compound form.
    #[serde(default = "all")]
    #[schemars(length(min = 1, max = 4096))]
    target: String,
}

impl Input for Question {}

fn all() -> String {
    "*".into()
}

pub async fn explain(asked: Asked<Nothing, Question, Nothing>) -> Result<Reply<Value>, Fault> {
    let Question { user, function, target } = &asked.query;
    let request = Request::Explain { user: user.clone(), function: function.clone(), target: target.clone() };
    match asked.answer(request).await? {
        Answer::Value(way) => Ok(Reply::new(way)),
        _ => Err(Fault::internal()),
    }
}
