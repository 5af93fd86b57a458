//! `ldap`: a directory, with Salt's settings `auth.ldap.*`. The user's entry is found, then bound with his password.

mod groups;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ldap3::{
    Ldap, LdapConnAsync, LdapConnSettings, LdapError, ResultEntry, Scope, SearchEntry, dn_escape, ldap_escape,
};
use rocksalt_core::Secret;

use super::{Backend, Person, Setup};
use settings::{Settings, has_name, with_name};

/// For one question to the directory.
const EACH: Duration = Duration::from_secs(10);

/// For all of a login.
const WHOLE: Duration = Duration::from_secs(20);

struct Directory {
    settings: Settings,
}

pub fn make(setup: &Setup<'_>) -> Result<Arc<dyn Backend>, String> {
    Ok(Arc::new(Directory { settings: Settings::read(setup)? }))
}

#[async_trait]
impl Backend for Directory {
    fn name(&self) -> &'static str {
        "ldap"
    }

    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<Person>, String> {
        // A bind without a password is one without a name, and always works.
        if password.reveal().is_empty() {
            return Ok(None);
        }
        match tokio::time::timeout(WHOLE, self.person(user, password)).await {
            Ok(result) => result.map_err(|error| format!("{}: {error}", self.settings.url)),
            Err(_) => Err(format!("{}: no answer within {} seconds", self.settings.url, WHOLE.as_secs())),
        }
    }
}

impl Directory {
    async fn person(&self, user: &str, password: &Secret<String>) -> Result<Option<Person>, LdapError> {
        let settings = &self.settings;
        let Some(dn) = self.find(user).await? else { return Ok(None) };
        let mut ldap = self.connect().await?;
        let bound = ldap.with_timeout(EACH).simple_bind(&dn, password.reveal()).await?;
        if bound.rc != 0 {
            let _ = ldap.unbind().await;
            return Ok(None);
        }
        // Groups are asked for as the one who searches, or, where nobody does, as the user himself.
        if settings.bind_password.is_some() || settings.anonymous {
            let _ = ldap.unbind().await;
            ldap = self.searcher().await?;
        }
        let groups = groups::of(settings, &mut ldap, user).await;
        let _ = ldap.unbind().await;
        Ok(Some(Person { groups: groups?, stamp: Vec::new() }))
    }

    /// The name of the user's entry; `None` if there is none, or more than one.
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
                tracing::warn!(url = settings.url, "the filter finds several entries for one name: nobody is let in");
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    /// Somebody who may search.
    async fn searcher(&self) -> Result<Ldap, LdapError> {
        let mut ldap = self.connect().await?;
        if let (false, Some(dn), Some(password)) =
            (self.settings.anonymous, &self.settings.bind_dn, &self.settings.bind_password)
        {
            ldap.with_timeout(EACH).simple_bind(dn, password.reveal()).await?.success()?;
        }
        Ok(ldap)
    }

    async fn connect(&self) -> Result<Ldap, LdapError> {
        let mut how = LdapConnSettings::new().set_conn_timeout(EACH).set_starttls(self.settings.starttls);
        if let Some(tls) = &self.settings.tls {
            how = how.set_config(Arc::clone(tls));
        }
        let (connection, ldap) = LdapConnAsync::with_settings(how, &self.settings.url).await?;
        // Ends with the last handle.
        tokio::spawn(async move { drop(connection.drive().await) });
        Ok(ldap)
    }
}

/// Entries, without the referrals among them.
async fn search(
    ldap: &mut Ldap,
    base: &str,
    scope: Scope,
    filter: &str,
    attributes: &[&str],
) -> Result<Vec<SearchEntry>, LdapError> {
    let found = ldap.with_timeout(EACH).search(base, scope, filter, attributes).await?;
    let (entries, _) = found.success()?;
    let entry = |entry: &ResultEntry| !entry.is_ref() && !entry.is_intermediate();
    Ok(entries.into_iter().filter(entry).map(SearchEntry::construct).collect())
}

/// Salt's users write filters with and without their parentheses.
fn bracketed(filter: String) -> String {
    match filter.starts_with('(') {
        true => filter,
        false => format!("({filter})"),
    }
}
