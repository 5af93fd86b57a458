//! `auto`: any password is right. For tests alone, and only where `auth_auto_for_tests` says so.

use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::Secret;

use super::{Backend, Person, Setup};

struct Auto;

pub fn make(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    match setup.flag("auth_auto_for_tests")? {
        true => Ok(Arc::new(Auto)),
        false => Err("auto takes any password; only with `auth_auto_for_tests: true` it is used".into()),
    }
}

#[async_trait]
impl Backend for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    async fn verify(&self, _user: &str, _password: &Secret<String>) -> Result<Option<Person>, String> {
        Ok(Some(Person::default()))
    }
}
