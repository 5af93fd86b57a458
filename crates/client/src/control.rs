//! Runner and wheel functions, and the daemon itself.

use rocksalt_core::request::ControllerCall;
use rocksalt_core::{JobId, Map, Value};

use crate::client::ApiRequest;
use crate::sessions::text;
use crate::{Client, Error};

/// The result of a runner or wheel function.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerCallResult {
    pub job: Option<JobId>,
    /// Prefix of its event tags: `salt/run/<jid>`.
    pub tag: String,
    /// `None` if it still runs in the background; its result comes as event `<tag>/ret`.
    pub result: Option<Value>,
    pub success: bool,
}

impl Client {
    /// Calls a runner function.
    pub async fn runner(&self, local: &ControllerCall) -> Result<ControllerCallResult, Error> {
        self.call_local("/runner", local).await
    }

    /// Calls a wheel function.
    pub async fn wheel(&self, local: &ControllerCall) -> Result<ControllerCallResult, Error> {
        self.call_local("/wheel", local).await
    }

    async fn call_local(&self, path: &str, local: &ControllerCall) -> Result<ControllerCallResult, Error> {
        let mut body = Map::new();
        body.insert("function", local.function.as_str());
        body.insert("args", Value::List(local.args.clone()));
        body.insert("kwargs", local.kwargs.clone());
        body.insert("background", local.background);
        let reply = self.send_json(ApiRequest::post(path, &body.into())).await?;
        Ok(ControllerCallResult {
            job: text(&reply, "jid").parse().ok(),
            tag: text(&reply, "tag"),
            result: if local.background { None } else { reply.walk("result", ":").cloned() },
            success: reply.walk("success", ":").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// Explains why a user may or may not run a function on a target.
    pub async fn explain(&self, user: &str, function: &str, target: &str) -> Result<Value, Error> {
        let request =
            ApiRequest::get("/access/explain").query("user", user).query("function", function).query("target", target);
        self.send_json(request).await
    }

    /// Counters of the daemon since its start.
    pub async fn stats(&self) -> Result<Value, Error> {
        self.send_json(ApiRequest::get("/stats")).await
    }

    /// Makes the daemon reread its configuration and roster.
    pub async fn reload(&self) -> Result<(), Error> {
        self.send_json(ApiRequest::new(hyper::Method::POST, "/reload")).await.map(drop)
    }
}
