//! Who asks: [`Client::login`], and what the daemon says of itself.

use hyper::Method;
use rocksalt_core::{Map, Secret, Value};

use crate::client::Ask;
use crate::{Client, Error};

/// A login that succeeded.
#[derive(Clone, Debug)]
pub struct Session {
    pub user: String,
    pub eauth: String,
    /// As the rules of `external_auth` are written.
    pub permissions: Value,
    /// Only a login tells it.
    pub token: Option<Secret<String>>,
    /// Seconds since 1970.
    pub expire: Option<f64>,
}

/// What the daemon says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    pub version: String,
    pub pid: i64,
}

impl Client {
    /// Gets a token, and uses it from now on. `eauth` as in Salt; the daemon's own users without it.
    pub async fn login(&self, user: &str, password: &Secret<String>, eauth: Option<&str>) -> Result<Session, Error> {
        let mut body = Map::new();
        body.insert("username", user);
        body.insert("password", password.reveal().as_str());
        if let Some(eauth) = eauth {
            body.insert("eauth", eauth);
        }
        let session = session(self.value(Ask::post("/sessions", &body.into())).await?);
        self.set_token(session.token.clone());
        Ok(session)
    }

    /// Gives the token back.
    pub async fn logout(&self) -> Result<(), Error> {
        self.value(Ask::new(Method::DELETE, "/session")).await?;
        self.set_token(None);
        Ok(())
    }

    /// Whom the daemon takes us for, and what we may do.
    pub async fn session(&self) -> Result<Session, Error> {
        self.value(Ask::get("/session")).await.map(session)
    }

    /// What the daemon says of itself: the way to find out whether one is there.
    pub async fn info(&self) -> Result<Info, Error> {
        let said = self.value(Ask::get("/version")).await?;
        let pid = said.walk("pid", ":").and_then(Value::as_i64).unwrap_or_default();
        Ok(Info { version: text(&said, "version"), pid })
    }
}

fn session(said: Value) -> Session {
    Session {
        user: text(&said, "user"),
        eauth: text(&said, "eauth"),
        permissions: said.walk("permissions", ":").cloned().unwrap_or_default(),
        token: said.walk("token", ":").and_then(Value::as_str).map(|token| Secret::new(token.to_owned())),
        expire: match said.walk("expire", ":") {
            Some(Value::Float(seconds)) => Some(*seconds),
            Some(Value::Int(seconds)) => Some(*seconds as f64),
            _ => None,
        },
    }
}

pub(crate) fn text(said: &Value, key: &str) -> String {
    said.walk(key, ":").and_then(Value::as_str).unwrap_or_default().to_owned()
}
