//! The targets that the daemon knows.

use rocksalt_core::{Map, Value};

use crate::client::{Ask, quoted};
use crate::sessions::text;
use crate::{Client, Error};

/// A target, and what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    pub id: String,
    pub host: String,
    /// `None`: nobody has tried yet.
    pub up: Option<bool>,
    /// As they were gathered last; empty if they never were, or were not asked for.
    pub grains: Map,
}

/// Which targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetFilter {
    /// A pattern for ids.
    pub id: Option<String>,
    pub up: Option<bool>,
    pub grains: bool,
    pub limit: Option<usize>,
    /// Those after this id: for pages.
    pub after: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetPage {
    pub targets: Vec<Target>,
    /// Give it as `after` for the next page; `None` if this was the last.
    pub next: Option<String>,
}

impl Client {
    /// Targets by their ids' order.
    pub async fn targets(&self, filter: &TargetFilter) -> Result<TargetPage, Error> {
        let ask = Ask::get("/targets")
            .maybe("id", filter.id.as_ref())
            .maybe("up", filter.up)
            .query("grains", filter.grains)
            .maybe("limit", filter.limit)
            .maybe("after", filter.after.as_ref());
        let said = self.value(ask).await?;
        let targets = said.walk("targets", ":").and_then(Value::as_list).unwrap_or_default();
        let next = said.walk("next", ":").and_then(Value::as_str).map(str::to_owned);
        Ok(TargetPage { targets: targets.iter().map(target).collect(), next })
    }

    pub async fn target(&self, id: &str) -> Result<Target, Error> {
        Ok(target(&self.value(Ask::get(&format!("/targets/{}", quoted(id)))).await?))
    }
}

fn target(said: &Value) -> Target {
    Target {
        id: text(said, "id"),
        host: text(said, "host"),
        up: said.walk("up", ":").and_then(Value::as_bool),
        grains: said.walk("grains", ":").and_then(Value::as_map).cloned().unwrap_or_default(),
    }
}
