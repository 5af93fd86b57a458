//! `auth`: tokens.

use rocksalt_core::{Map, Secret, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::Credentials;
use crate::functions::{Context, Entry, Failure, Function, Mark, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<DelToken>(), entry::<MkToken>()];

/// Makes a token for whoever these credentials are of.
#[derive(Deserialize, JsonSchema)]
pub struct MkToken {
    /// Who.
    username: String,
    /// What proves it.
    password: String,
    /// How it is proved: `file`, `ldap` and so on.
    #[serde(default)]
    eauth: String,
    /// Seconds that it shall live, if the configuration lets users say so.
    #[serde(default)]
    token_expire: Option<f64>,
}

impl Function for MkToken {
    const NAME: &'static str = "auth.mk_token";
    const MARK: Mark = Mark::Private;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let credentials = Credentials {
            user: self.username,
            password: Secret::new(self.password),
            eauth: self.eauth,
            token_expire: self.token_expire,
        };
        let login = context.requests.auth.login(credentials, context.caller.from).await?;
        let mut made = Map::new();
        made.insert("token", login.token.reveal().as_str());
        made.insert("start", login.start);
        made.insert("expire", login.expire);
        made.insert("name", login.caller.user.as_str());
        made.insert("eauth", login.caller.eauth.as_str());
        Ok(made.into())
    }
}

/// Ends a token.
#[derive(Deserialize, JsonSchema)]
pub struct DelToken {
    /// The token.
    token: String,
}

impl Function for DelToken {
    const NAME: &'static str = "auth.del_token";
    const MARK: Mark = Mark::Private;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        context.requests.auth.logout(&self.token).await?;
        Ok(true.into())
    }
}
