//! Authentication: keys, certificates, an ssh-agent, passwords.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksalt_core::link::{LinkFailure, Stage};
use rocksalt_core::secret::Secret;
use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse as Interactive};
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::{self, Certificate, HashAlg, PrivateKey, PrivateKeyWithHashAlg};
use russh::{MethodKind, MethodSet};

use super::LoginTarget;
use super::host_key::HostKeyChecker;
use crate::known_hosts;
use crate::ssh_config::IdentityAgent;
use crate::transport::LoginContext;

/// The maximum number of rounds of keyboard-interactive.
const MAX_ROUNDS: usize = 5;

/// Tries all credentials, in OpenSSH's order, until the server accepts one.
pub(super) async fn login(
    handle: &mut Handle<HostKeyChecker>,
    target: &LoginTarget<'_>,
    context: &LoginContext<'_>,
) -> Result<(), LinkFailure> {
    let mut attempt = Attempt { handle, target, context, tried: Vec::new(), allowed: None };
    let done = attempt.keys().await? || attempt.agent().await? || attempt.password().await?;
    if done { Ok(()) } else { Err(attempt.refused()) }
}

struct Attempt<'a, 'b> {
    handle: &'a mut Handle<HostKeyChecker>,
    target: &'a LoginTarget<'a>,
    context: &'a LoginContext<'b>,
    /// What was tried, for the error text.
    tried: Vec<String>,
    /// The methods that the server accepts, known after its first refusal.
    allowed: Option<MethodSet>,
}

impl Attempt<'_, '_> {
    /// Tries key files: those of the roster, else those of the ssh configuration, else the default ones.
    async fn keys(&mut self) -> Result<bool, LinkFailure> {
        let settings = &self.target.settings;
        // A key that is named is tried alone: default keys would only use up the attempts that the server allows.
        let named = !self.target.entry.keys.is_empty() && settings.identity_files_are_default;
        let configured: &[PathBuf] = if named { &[] } else { &settings.identity_files };
        let files: Vec<PathBuf> = self.target.entry.keys.iter().chain(configured).cloned().collect();
        for file in files {
            if !file.exists() {
                if self.target.entry.keys.contains(&file) {
                    return Err(LinkFailure::new(
                        Stage::Login,
                        format!("the key file {} does not exist", file.display()),
                    )
                    .hint("correct `priv` in the roster"));
                }
                continue;
            }
            let Some(key) = self.load(&file).await? else { continue };
            let certificates = self.certificates(&file);
            for certificate in certificates {
                self.tried.push(format!("certificate of {}", file.display()));
                tracing::debug!(key = %file.display(), "offers the certificate of a key file");
                let result =
                    self.handle.authenticate_openssh_cert(&self.target.key.user, Arc::clone(&key), certificate).await;
                if self.accepted(result)? {
                    return Ok(true);
                }
            }
            let hash = self.rsa_hash(key.algorithm().is_rsa()).await;
            self.tried.push(file.display().to_string());
            let fingerprint = known_hosts::fingerprint(key.public_key());
            tracing::debug!(key = %file.display(), fingerprint, "offers a key file");
            let key = PrivateKeyWithHashAlg::new(key, hash);
            let result = self.handle.authenticate_publickey(&self.target.key.user, key).await;
            if self.accepted(result)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Loads a key. `None` if it can't be unlocked; other keys may still work.
    async fn load(&mut self, file: &Path) -> Result<Option<Arc<PrivateKey>>, LinkFailure> {
        let entry = self.target.entry;
        let password = entry.key_password.as_ref().map(|password| password.reveal().as_str());
        match keys::load_secret_key(file, password) {
            Ok(key) => Ok(Some(Arc::new(key))),
            Err(keys::Error::KeyIsEncrypted) => {
                let question = format!("Passphrase for key {}: ", file.display());
                let Some(password) = self.context.prompt.secret(&question).await else {
                    self.tried.push(format!("{} (locked by a passphrase)", file.display()));
                    return Ok(None);
                };
                match keys::load_secret_key(file, Some(password.reveal())) {
                    Ok(key) => Ok(Some(Arc::new(key))),
                    Err(_) => {
                        Err(LinkFailure::new(Stage::Login, format!("the passphrase of {} is wrong", file.display())))
                    }
                }
            }
            Err(error) if entry.keys.iter().any(|key| key == file) => {
                Err(LinkFailure::new(Stage::Login, format!("the key file {} can't be read: {error}", file.display()))
                    .hint("is it a private key, and may you read it?"))
            }
            Err(_) => {
                self.tried.push(format!("{} (can't be read)", file.display()));
                Ok(None)
            }
        }
    }

    fn certificates(&self, key: &Path) -> Vec<Certificate> {
        let beside = PathBuf::from(format!("{}-cert.pub", key.display()));
        let named = self.target.entry.certificate.iter().chain(&self.target.settings.certificate_files);
        named.chain([&beside]).filter_map(|file| keys::load_openssh_certificate(file).ok()).collect()
    }

    async fn rsa_hash(&self, is_rsa: bool) -> Option<HashAlg> {
        if !is_rsa {
            return None;
        }
        self.handle.best_supported_rsa_hash().await.ok().flatten().unwrap_or(Some(HashAlg::Sha256))
    }

    /// Tries the keys of an ssh-agent, unless only named ones may be used.
    async fn agent(&mut self) -> Result<bool, LinkFailure> {
        if self.target.entry.identities_only
            || self.target.settings.identities_only
            || !self.allows(MethodKind::PublicKey)
        {
            return Ok(false);
        }
        let socket = match &self.target.settings.identity_agent {
            IdentityAgent::Environment => self.context.agent_socket,
            IdentityAgent::None => None,
            IdentityAgent::Socket(path) => Some(path.as_path()),
        };
        let Some(socket) = socket else { return Ok(false) };
        let Ok(mut agent) = AgentClient::connect_uds(socket).await else {
            self.tried.push("ssh-agent (not reachable)".into());
            return Ok(false);
        };
        for identity in agent.request_identities().await.unwrap_or_default() {
            let user = &self.target.key.user;
            let result = match identity {
                AgentIdentity::PublicKey { key, comment } => {
                    self.tried.push(format!("ssh-agent's {comment}"));
                    let fingerprint = known_hosts::fingerprint(&key);
                    tracing::debug!(key = comment, fingerprint, "offers a key of the ssh-agent");
                    let hash = self.rsa_hash(key.algorithm().is_rsa()).await;
                    self.handle.authenticate_publickey_with(user, key, hash, &mut agent).await
                }
                AgentIdentity::Certificate { certificate, comment } => {
                    self.tried.push(format!("ssh-agent's certificate {comment}"));
                    tracing::debug!(key = comment, "offers a certificate of the ssh-agent");
                    let hash = self.rsa_hash(certificate.algorithm().is_rsa()).await;
                    self.handle.authenticate_certificate_with(user, certificate, hash, &mut agent).await
                }
            };
            match result {
                Ok(result) => {
                    if self.accepted(Ok(result))? {
                        return Ok(true);
                    }
                }
                Err(_) => self.tried.push("(the ssh-agent did not sign)".into()),
            }
        }
        Ok(false)
    }

    async fn password(&mut self) -> Result<bool, LinkFailure> {
        if !self.allows(MethodKind::Password) && !self.allows(MethodKind::KeyboardInteractive) {
            return Ok(false);
        }
        let key = &self.target.key;
        let question = format!("Password of {}@{}: ", key.user, key.address);
        let password = match &self.target.entry.password {
            Some(password) => Some(password.clone()),
            None => self.context.prompt.secret(&question).await,
        };
        let Some(password) = password else { return Ok(false) };
        if self.allows(MethodKind::Password) {
            self.tried.push("a password".into());
            tracing::debug!("offers a password");
            let result = self.handle.authenticate_password(&key.user, password.reveal()).await;
            if self.accepted(result)? {
                return Ok(true);
            }
        }
        if self.allows(MethodKind::KeyboardInteractive) {
            self.tried.push("a password, interactively".into());
            tracing::debug!("offers a password by keyboard-interactive");
            return self.interactive(&password).await;
        }
        Ok(false)
    }

    /// Answers the first hidden question with the password; the user answers all others.
    async fn interactive(&mut self, password: &Secret) -> Result<bool, LinkFailure> {
        let mut given = false;
        let mut answer = self.handle.authenticate_keyboard_interactive_start(&self.target.key.user, None).await;
        for _ in 0..MAX_ROUNDS {
            let prompts = match answer.map_err(lost)? {
                Interactive::Success => {
                    tracing::debug!("the server accepted it");
                    return Ok(true);
                }
                Interactive::Failure { remaining_methods, .. } => {
                    self.allowed = Some(remaining_methods);
                    return Ok(false);
                }
                Interactive::InfoRequest { prompts, .. } => prompts,
            };
            let mut responses = Vec::new();
            for prompt in prompts {
                if !prompt.echo && !given {
                    given = true;
                    responses.push(password.reveal().clone());
                    continue;
                }
                match self.context.prompt.secret(&prompt.prompt).await {
                    Some(text) => responses.push(text.reveal().clone()),
                    None => return Ok(false),
                }
            }
            answer = self.handle.authenticate_keyboard_interactive_respond(responses).await;
        }
        Ok(false)
    }

    /// True if the server may accept this method; not known before its first refusal.
    fn allows(&self, method: MethodKind) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&method))
    }

    fn accepted(&mut self, result: Result<AuthResult, russh::Error>) -> Result<bool, LinkFailure> {
        match result.map_err(lost)? {
            AuthResult::Success => {
                tracing::debug!("the server accepted it");
                Ok(true)
            }
            AuthResult::Failure { remaining_methods, .. } => {
                let methods: Vec<&str> = remaining_methods.iter().map(<&str>::from).collect();
                tracing::debug!(?methods, "the server refused it");
                self.allowed = Some(remaining_methods);
                Ok(false)
            }
        }
    }

    fn refused(&self) -> LinkFailure {
        let key = &self.target.key;
        let tried = match self.tried.is_empty() {
            true => "there is no key, no agent and no password to try".to_owned(),
            false => format!("tried {}", self.tried.join(", ")),
        };
        let wants = self.allowed.as_ref().map(|allowed| {
            let names: Vec<&str> = allowed.iter().map(<&str>::from).collect();
            format!("; the server accepts {}", names.join(", "))
        });
        LinkFailure::new(
            Stage::Login,
            format!("{} did not accept the login of {}: {tried}{}", key.address, key.user, wants.unwrap_or_default()),
        )
        .hint(match self.tried.iter().any(|tried| tried.starts_with("a password")) {
            true => "check the password: `passwd_file` in the roster, or --ask-pass".to_owned(),
            false => format!(
                "is the public key in {}'s authorized_keys there? `priv`, `user` and `passwd_file` can be set in the roster",
                key.user
            ),
        })
    }
}

fn lost(error: russh::Error) -> LinkFailure {
    LinkFailure::new(Stage::Login, format!("the connection was closed during the login: {error}"))
        .hint("too many keys may have been tried: set `priv` and `identities_only` in the roster")
        .busy()
}
