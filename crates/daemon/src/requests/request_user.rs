//! [`RequestUser`]: who asks, told to whoever logs the request around it.

use std::sync::{Arc, OnceLock};

tokio::task_local! {
    static NOW: RequestUser;
}

/// Filled in by the request service, since nobody before it knows who it is.
#[derive(Clone, Default)]
pub struct RequestUser(Arc<OnceLock<String>>);

impl RequestUser {
    /// Whatever the request service is asked within `work` is noted here.
    pub async fn around<T>(&self, work: impl Future<Output = T>) -> T {
        NOW.scope(self.clone(), work).await
    }

    /// The user, if the request service was asked.
    pub fn user(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    pub(super) fn by(user: &str) {
        // Nobody may listen: requests of the daemon itself.
        let _ = NOW.try_with(|asking| asking.0.set(user.to_owned()));
    }
}
