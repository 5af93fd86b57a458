//! `auth`: tokens.

use rocksalt_core::{Secret, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::Credentials;
use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<DelToken>(), entry::<MkToken>()];

/// Issues a token for credentials.
#[derive(Deserialize, JsonSchema)]
pub struct MkToken {
    /// The user.
    username: String,
    /// The password.
    password: String,
    /// The authentication backend: `file`, `ldap` …
    #[serde(default)]
    eauth: String,
    /// Lifetime in seconds, if the configuration lets users choose it.
    #[serde(default)]
    token_expire: Option<f64>,
}

impl ControllerFunction for MkToken {
    const NAME: &'static str = "auth.mk_token";
    const RECORD: CallRecord = CallRecord::Private;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let credentials = Credentials {
            user: self.username,
            password: Secret::new(self.password),
            eauth: self.eauth,
            token_expire: self.token_expire,
        };
        let login = context.requests.auth.login(credentials, context.caller.from).await?;
        Ok(login.to_map().into())
    }
}

/// Revokes a token.
#[derive(Deserialize, JsonSchema)]
pub struct DelToken {
    /// The token.
    token: String,
}

impl ControllerFunction for DelToken {
    const NAME: &'static str = "auth.del_token";
    const RECORD: CallRecord = CallRecord::Private;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        context.requests.auth.logout(&self.token).await?;
        Ok(true.into())
    }
}
