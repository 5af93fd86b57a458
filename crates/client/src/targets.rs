//! Lists the daemon's targets.

use rocksalt_core::{Map, Value};

use crate::client::{ApiRequest, percent_encode};
use crate::sessions::text;
use crate::{Client, Error};

/// A target, with its last known state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetStatus {
    pub id: String,
    pub host: String,
    /// `None` if no connection was tried yet.
    pub up: Option<bool>,
    /// The cached grains; empty if there are none or they were not requested.
    pub grains: Map,
}

/// Selects targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetFilter {
    /// A glob on ids.
    pub id: Option<String>,
    pub up: Option<bool>,
    pub grains: bool,
    pub limit: Option<usize>,
    /// Only ids after this one, for paging.
    pub after: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetPage {
    pub targets: Vec<TargetStatus>,
    /// Pass it as `after` for the next page; `None` on the last page.
    pub next: Option<String>,
}

impl Client {
    /// Lists targets ordered by id.
    pub async fn targets(&self, filter: &TargetFilter) -> Result<TargetPage, Error> {
        let request = ApiRequest::get("/targets")
            .query_opt("id", filter.id.as_ref())
            .query_opt("up", filter.up)
            .query("grains", filter.grains)
            .query_opt("limit", filter.limit)
            .query_opt("after", filter.after.as_ref());
        let reply = self.send_json(request).await?;
        let targets = reply.walk("targets", ":").and_then(Value::as_list).unwrap_or_default();
        let next = reply.walk("next", ":").and_then(Value::as_str).map(str::to_owned);
        Ok(TargetPage { targets: targets.iter().map(parse_target).collect(), next })
    }

    pub async fn target(&self, id: &str) -> Result<TargetStatus, Error> {
        Ok(parse_target(&self.send_json(ApiRequest::get(&format!("/targets/{}", percent_encode(id)))).await?))
    }
}

fn parse_target(reply: &Value) -> TargetStatus {
    TargetStatus {
        id: text(reply, "id"),
        host: text(reply, "host"),
        up: reply.walk("up", ":").and_then(Value::as_bool),
        grains: reply.walk("grains", ":").and_then(Value::as_map).cloned().unwrap_or_default(),
    }
}
