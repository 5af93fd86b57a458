//! The controller's own functions, and the daemon itself.

use rocksalt_core::request::ControllerCall;
use rocksalt_core::{JobId, Map, Value};

use crate::client::Ask;
use crate::sessions::text;
use crate::{Client, Error};

/// What a function of the controller did.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerResult {
    pub job: Option<JobId>,
    /// Its events begin so: `salt/run/<jid>`.
    pub tag: String,
    /// `None`: it goes on, and the event `<tag>/ret` tells the rest.
    pub result: Option<Value>,
    pub success: bool,
}

impl Client {
    /// A function about targets and jobs (Salt's runners).
    pub async fn runner(&self, local: &ControllerCall) -> Result<ControllerResult, Error> {
        self.local("/runner", local).await
    }

    /// A function about the controller itself (Salt's wheel functions).
    pub async fn wheel(&self, local: &ControllerCall) -> Result<ControllerResult, Error> {
        self.local("/wheel", local).await
    }

    async fn local(&self, path: &str, local: &ControllerCall) -> Result<ControllerResult, Error> {
        let mut body = Map::new();
        body.insert("function", local.function.as_str());
        body.insert("args", Value::List(local.args.clone()));
        body.insert("kwargs", local.kwargs.clone());
        body.insert("background", local.background);
        let said = self.value(Ask::post(path, &body.into())).await?;
        Ok(ControllerResult {
            job: text(&said, "jid").parse().ok(),
            tag: text(&said, "tag"),
            result: if local.background { None } else { said.walk("result", ":").cloned() },
            success: said.walk("success", ":").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// Why somebody may do something, or may not.
    pub async fn explain(&self, user: &str, function: &str, target: &str) -> Result<Value, Error> {
        let ask = Ask::get("/access/explain").query("user", user).query("function", function).query("target", target);
        self.value(ask).await
    }

    /// What the daemon has done so far.
    pub async fn stats(&self) -> Result<Value, Error> {
        self.value(Ask::get("/stats")).await
    }

    /// Has it read its configuration and its roster anew.
    pub async fn reload(&self) -> Result<(), Error> {
        self.value(Ask::new(hyper::Method::POST, "/reload")).await.map(drop)
    }
}
