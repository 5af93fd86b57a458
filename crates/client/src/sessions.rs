//! Login and logout, and the daemon's version.

use hyper::Method;
use rocksalt_core::{Map, Secret, Value};

use crate::client::ApiRequest;
use crate::{Client, Error};

/// A login that succeeded.
#[derive(Clone, Debug)]
pub struct ClientSession {
    pub user: String,
    pub eauth: String,
    /// The user's rules, as `external_auth` writes them.
    pub permissions: Value,
    /// Only set by [`Client::login`].
    pub token: Option<Secret<String>>,
    /// Seconds since the Unix epoch.
    pub expire: Option<f64>,
}

/// The daemon's version and process id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonInfo {
    pub version: String,
    pub pid: i64,
}

impl Client {
    /// Gets a token and uses it from now on. `eauth` is Salt's; by default it means the daemon's own users.
    pub async fn login(
        &self,
        user: &str,
        password: &Secret<String>,
        eauth: Option<&str>,
    ) -> Result<ClientSession, Error> {
        let mut body = Map::new();
        body.insert("username", user);
        body.insert("password", password.reveal().as_str());
        if let Some(eauth) = eauth {
            body.insert("eauth", eauth);
        }
        let session = parse_session(self.send_json(ApiRequest::post("/sessions", &body.into())).await?);
        self.set_token(session.token.clone());
        Ok(session)
    }

    /// Revokes the token.
    pub async fn logout(&self) -> Result<(), Error> {
        self.send_json(ApiRequest::new(Method::DELETE, "/session")).await?;
        self.set_token(None);
        Ok(())
    }

    /// The user as whom the daemon identifies us, and the user's rights.
    pub async fn session(&self) -> Result<ClientSession, Error> {
        self.send_json(ApiRequest::get("/session")).await.map(parse_session)
    }

    /// Requests version and pid; also shows whether a daemon runs.
    pub async fn info(&self) -> Result<DaemonInfo, Error> {
        let reply = self.send_json(ApiRequest::get("/version")).await?;
        let pid = reply.walk("pid", ":").and_then(Value::as_i64).unwrap_or_default();
        Ok(DaemonInfo { version: text(&reply, "version"), pid })
    }
}

fn parse_session(reply: Value) -> ClientSession {
    ClientSession {
        user: text(&reply, "user"),
        eauth: text(&reply, "eauth"),
        permissions: reply.walk("permissions", ":").cloned().unwrap_or_default(),
        token: reply.walk("token", ":").and_then(Value::as_str).map(|token| Secret::new(token.to_owned())),
        expire: match reply.walk("expire", ":") {
            Some(Value::Float(seconds)) => Some(*seconds),
            Some(Value::Int(seconds)) => Some(*seconds as f64),
            _ => None,
        },
    }
}

pub(crate) fn text(reply: &Value, key: &str) -> String {
    reply.walk(key, ":").and_then(Value::as_str).unwrap_or_default().to_owned()
}
