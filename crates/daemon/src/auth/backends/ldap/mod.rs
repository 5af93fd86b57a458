//! `ldap`: an LDAP directory, with Salt's settings `auth.ldap.*`. Finds the user's entry, then binds as that entry.

mod groups;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ldap3::{
    Ldap, LdapConnAsync, LdapConnSettings, LdapError, ResultEntry, Scope, SearchEntry, dn_escape, ldap_escape,
};
use rocksalt_core::Secret;

use super::{Backend, Setup, VerifiedUser};
use settings::{Settings, has_name, with_name};

/// Time limit of one LDAP operation.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);

struct LdapBackend {
    settings: Settings,
}

pub fn open(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    Ok(Arc::new(LdapBackend { settings: Settings::read(setup)? }))
}

#[async_trait]
impl Backend for LdapBackend {
    fn name(&self) -> &'static str {
        "ldap"
    }

    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<VerifiedUser>, String> {
        // A bind without a password is anonymous and always succeeds.
        if password.reveal().is_empty() {
            return Ok(None);
        }
        match tokio::time::timeout(LOGIN_TIMEOUT, self.bind_user(user, password)).await {
            Ok(result) => result.map_err(|error| format!("{}: {error}", self.settings.url)),
            Err(_) => Err(format!("{}: no response within {} seconds", self.settings.url, LOGIN_TIMEOUT.as_secs())),
        }
    }
}

impl LdapBackend {
    async fn bind_user(&self, user: &str, password: &Secret<String>) -> Result<Option<VerifiedUser>, LdapError> {
        let settings = &self.settings;
        let Some(dn) = self.find(user).await? else { return Ok(None) };
        let mut ldap = self.connect().await?;
        let bound = ldap.with_timeout(OPERATION_TIMEOUT).simple_bind(&dn, password.reveal()).await?;
        if bound.rc != 0 {
            let _ = ldap.unbind().await;
            return Ok(None);
        }
        // Groups are read with the search account, or without one as the user.
        if settings.bind_password.is_some() || settings.anonymous {
            let _ = ldap.unbind().await;
            ldap = self.searcher().await?;
        }
        let groups = groups::of(settings, &mut ldap, user).await;
        let _ = ldap.unbind().await;
        Ok(Some(VerifiedUser { groups: groups?, stamp: Vec::new() }))
    }

    /// The DN of the user's entry; `None` if there is none, or more than one.
    async fn find(&self, user: &str) -> Result<Option<String>, LdapError> {
        let settings = &self.settings;
        if let (Some(dn), None) = (&settings.bind_dn, &settings.bind_password)
            && has_name(dn)
        {
            return Ok(Some(with_name(dn, &dn_escape(user))));
        }
        let Some(filter) = &settings.filter else { return Ok(None) };
        let filter = with_name(filter, &ldap_escape(user));
        let mut ldap = self.searcher().await?;
        let found = search(&mut ldap, &settings.base, settings.scope, &bracketed(filter), &["1.1"]).await;
        let _ = ldap.unbind().await;
        let mut found = found?;
        match (found.pop(), found.is_empty()) {
            (Some(entry), true) => Ok(Some(entry.dn).filter(|dn| !dn.is_empty())),
            (Some(_), false) => {
                tracing::warn!(
                    url = settings.url,
                    "the filter matches several entries for one user; the login is refused"
                );
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    /// A connection that may search.
    async fn searcher(&self) -> Result<Ldap, LdapError> {
        let mut ldap = self.connect().await?;
        if let (false, Some(dn), Some(password)) =
            (self.settings.anonymous, &self.settings.bind_dn, &self.settings.bind_password)
        {
            ldap.with_timeout(OPERATION_TIMEOUT).simple_bind(dn, password.reveal()).await?.success()?;
        }
        Ok(ldap)
    }

    async fn connect(&self) -> Result<Ldap, LdapError> {
        let mut connection_settings =
            LdapConnSettings::new().set_conn_timeout(OPERATION_TIMEOUT).set_starttls(self.settings.starttls);
        if let Some(tls) = &self.settings.tls {
            connection_settings = connection_settings.set_config(Arc::clone(tls));
        }
        let (connection, ldap) = LdapConnAsync::with_settings(connection_settings, &self.settings.url).await?;
        // Ends when the last handle is dropped.
        tokio::spawn(async move { drop(connection.drive().await) });
        Ok(ldap)
    }
}

/// The entries of a search, without referrals.
async fn search(
    ldap: &mut Ldap,
    base: &str,
    scope: Scope,
    filter: &str,
    attributes: &[&str],
) -> Result<Vec<SearchEntry>, LdapError> {
    let found = ldap.with_timeout(OPERATION_TIMEOUT).search(base, scope, filter, attributes).await?;
    let (entries, _) = found.success()?;
    let entry = |entry: &ResultEntry| !entry.is_ref() && !entry.is_intermediate();
    Ok(entries.into_iter().filter(entry).map(SearchEntry::construct).collect())
}

/// Filters may be written with or without parentheses.
fn bracketed(filter: String) -> String {
    match filter.starts_with('(') {
        true => filter,
        false => format!("({filter})"),
    }
}
