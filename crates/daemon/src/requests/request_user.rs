//! [`RequestUser`]: the user of a request, for the log line of that request.

use std::sync::{Arc, OnceLock};

tokio::task_local! {
    static NOW: RequestUser;
}

/// Set by the request service, which authenticates the user first.
#[derive(Clone, Default)]
pub struct RequestUser(Arc<OnceLock<String>>);

impl RequestUser {
    /// Runs `work`; the request service sets the user in it.
    pub async fn scope<T>(&self, work: impl Future<Output = T>) -> T {
        NOW.scope(self.clone(), work).await
    }

    /// The user, if the request reached the service.
    pub fn user(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    pub(super) fn by(user: &str) {
        // Requests of the daemon itself have no log line.
        let _ = NOW.try_with(|request_user| request_user.0.set(user.to_owned()));
    }
}
