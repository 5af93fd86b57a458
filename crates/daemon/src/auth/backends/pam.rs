//! `pam`: the machine's users by its PAM stack (`auth.pam.service`, by default `login`).
//!
//! Only with the feature `pam`: PAM loads modules at run time, which a static program can't. Groups are the machine's.

use std::sync::Arc;

use super::{Backend, Setup};

#[cfg(not(feature = "pam"))]
pub fn open(_setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    Err("this build has no PAM, because it is static; build with the feature `pam`".into())
}

#[cfg(feature = "pam")]
pub fn open(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    let service = setup.text("auth.pam.service").unwrap_or_else(|| "login".into());
    // It becomes the name of a file below /etc/pam.d.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if service.is_empty() || service.starts_with('.') || !service.chars().all(plain) {
        return Err(format!("`auth.pam.service` is not a valid service name: '{service}'"));
    }
    Ok(Arc::new(with::Pam::new(service)))
}

#[cfg(feature = "pam")]
mod with {
    use std::ffi::{OsStr, OsString};
    use std::process::Command;
    use std::sync::Arc;

    use async_trait::async_trait;
    use nonstick::{AuthnFlags, ConversationAdapter, ErrorCode, Transaction, TransactionBuilder};
    use rocksalt_core::Secret;
    use tokio::sync::Semaphore;

    use super::super::{Backend, VerifiedUser};

    pub struct Pam {
        service: String,
        /// PAM modules may block for seconds, so concurrent checks are limited.
        permits: Arc<Semaphore>,
    }

    impl Pam {
        pub fn new(service: String) -> Pam {
            Pam { service, permits: Arc::new(Semaphore::new(8)) }
        }
    }

    /// Answers prompts with the username, and masked prompts with the password.
    struct PamConversation {
        user: String,
        password: Secret<String>,
    }

    impl ConversationAdapter for PamConversation {
        fn prompt(&self, _request: impl AsRef<OsStr>) -> nonstick::Result<OsString> {
            Ok(OsString::from(&self.user))
        }

        fn masked_prompt(&self, _request: impl AsRef<OsStr>) -> nonstick::Result<OsString> {
            Ok(OsString::from(self.password.reveal()))
        }

        fn error_msg(&self, _message: impl AsRef<OsStr>) {}

        fn info_msg(&self, _message: impl AsRef<OsStr>) {}
    }

    #[async_trait]
    impl Backend for Pam {
        fn name(&self) -> &'static str {
            "pam"
        }

        async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<VerifiedUser>, String> {
            // An account without a password must not be usable over the network.
            if password.reveal().is_empty() {
                return Ok(None);
            }
            let _permit = self.permits.acquire().await.map_err(|_| "PAM is closed")?;
            let (service, user, password) = (self.service.clone(), user.to_owned(), password.clone());
            let checked = tokio::task::spawn_blocking(move || check(&service, &user, password));
            checked.await.map_err(|_| "the PAM check was aborted".to_owned())?
        }
    }

    fn check(service: &str, user: &str, password: Secret<String>) -> Result<Option<VerifiedUser>, String> {
        let answers = PamConversation { user: user.to_owned(), password };
        let mut transaction = TransactionBuilder::new_with_service(service)
            .username(user)
            .build(answers.into_conversation())
            .map_err(|error| format!("could not start PAM: {error}"))?;
        let done = transaction
            .authenticate(AuthnFlags::empty())
            // Refuses locked and expired accounts.
            .and_then(|()| transaction.account_management(AuthnFlags::empty()));
        match done {
            Ok(()) => Ok(Some(VerifiedUser { groups: groups(user), stamp: Vec::new() })),
            Err(ErrorCode::SystemError | ErrorCode::ServiceError | ErrorCode::BufferError) => {
                Err(format!("PAM failed for the service {service}"))
            }
            Err(_) => Ok(None),
        }
    }

    /// By `id`, which knows all sources of groups.
    fn groups(user: &str) -> Vec<String> {
        let output = Command::new("id").args(["-Gn", "--", user]).output();
        let text = output.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&text).split_whitespace().map(str::to_owned).collect()
    }
}
