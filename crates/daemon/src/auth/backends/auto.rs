//! `auto`: accepts any password. For tests, and only with `auth_auto_for_tests`.

use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::Secret;

use super::{Backend, Setup, VerifiedUser};

struct AutoBackend;

pub fn open(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    match setup.flag("auth_auto_for_tests")? {
        true => Ok(Arc::new(AutoBackend)),
        false => Err("auto accepts any password; it needs `auth_auto_for_tests: true`".into()),
    }
}

#[async_trait]
impl Backend for AutoBackend {
    fn name(&self) -> &'static str {
        "auto"
    }

    async fn verify(&self, _user: &str, _password: &Secret<String>) -> Result<Option<VerifiedUser>, String> {
        Ok(Some(VerifiedUser::default()))
    }
}
