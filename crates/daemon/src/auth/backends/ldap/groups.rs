//! Group membership in LDAP, in the ways that Salt supports.

use ldap3::{Ldap, LdapError, Scope, SearchEntry, ldap_escape};

use super::settings::{DirectoryType, Settings, with_name};
use super::{bracketed, search};

/// LDAP result code of a missing base.
const NO_SUCH_OBJECT: u32 = 32;

pub async fn of(settings: &Settings, ldap: &mut Ldap, user: &str) -> Result<Vec<String>, LdapError> {
    let found = match &settings.directory {
        DirectoryType::Plain => plain(settings, ldap, user).await,
        DirectoryType::Active => active(settings, ldap, user).await,
        DirectoryType::FreeIpa { base, filter } => freeipa(settings, ldap, user, base, filter).await,
    };
    let mut groups = match found {
        // Without a base for groups there are none.
        Err(LdapError::LdapResult { result }) if result.rc == NO_SUCH_OBJECT => Vec::new(),
        found => found?,
    };
    groups.sort();
    groups.dedup();
    Ok(groups)
}

/// Groups that list their members (`memberUid`), and users that list their groups (`memberOf`).
async fn plain(settings: &Settings, ldap: &mut Ldap, user: &str) -> Result<Vec<String>, LdapError> {
    let base = match settings.group_unit.as_str() {
        "" => settings.base.clone(),
        unit => format!("ou={unit},{}", settings.base),
    };
    let (account, group) = (&settings.account_attribute, &settings.group_attribute);
    let filter = format!("(&({account}={})(objectClass={}))", ldap_escape(user), settings.group_class);
    let mut groups = Vec::new();
    for entry in search(ldap, &base, Scope::Subtree, &filter, &[account, "cn", group]).await? {
        if values(&entry, account).any(|member| member == user) {
            groups.extend(values(&entry, "cn").next().map(str::to_owned));
        }
        if first_value(&entry.dn).as_deref() == Some(user) {
            groups.extend(values(&entry, group).filter_map(first_value));
        }
    }
    Ok(groups)
}

/// Groups that list their members by DN.
async fn active(settings: &Settings, ldap: &mut Ldap, user: &str) -> Result<Vec<String>, LdapError> {
    let account = &settings.account_attribute;
    let filter = format!("(&({account}={})(objectClass={}))", ldap_escape(user), settings.person_type);
    let mut found = search(ldap, &settings.base, Scope::Subtree, &filter, &["distinguishedName"]).await?;
    let (Some(verified), true) = (found.pop(), found.is_empty()) else { return Ok(Vec::new()) };
    let filter = format!("(&(member={})(objectClass={}))", ldap_escape(verified.dn.as_str()), settings.group_class);
    let found = search(ldap, &settings.base, Scope::Subtree, &filter, &["cn"]).await?;
    Ok(found.iter().filter_map(|entry| values(entry, "cn").next().map(str::to_owned)).collect())
}

async fn freeipa(
    settings: &Settings,
    ldap: &mut Ldap,
    user: &str,
    base: &str,
    filter: &str,
) -> Result<Vec<String>, LdapError> {
    let filter = bracketed(with_name(filter, &ldap_escape(user)));
    let (account, group) = (&settings.account_attribute, &settings.group_attribute);
    let found = search(ldap, base, Scope::Subtree, &filter, &[account, group, "cn"]).await?;
    let is_member = |entry: &&SearchEntry| {
        let mut members = values(entry, account).chain(values(entry, group));
        members.any(|member| member == user || first_value(member).as_deref() == Some(user))
    };
    Ok(found.iter().filter(is_member).filter_map(|entry| first_value(&entry.dn)).collect())
}

/// The values of an attribute, whose name is case-insensitive.
fn values<'e>(entry: &'e SearchEntry, attribute: &str) -> impl Iterator<Item = &'e str> {
    let found = entry.attrs.iter().find(|(name, _)| name.eq_ignore_ascii_case(attribute));
    found.map(|(_, values)| values.as_slice()).unwrap_or_default().iter().map(String::as_str)
}

/// `ops` of `cn=ops,ou=Groups,dc=x`; `None` if it isn't a DN.
fn first_value(dn: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = dn.split_once('=')?.1.chars();
    while let Some(c) = chars.next() {
        match c {
            ',' | '+' => break,
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::first_value;

    #[test]
    fn the_first_value_of_a_dn_is_read() {
        let cases = [
            ("cn=ops,ou=Groups", Some("ops")),
            (r"cn=a\,b,ou=x", Some("a,b")),
            ("cn=", None),
            ("ops", None),
            (r"cn=a\", None),
        ];
        for (dn, expected) in cases {
            assert_eq!(first_value(dn).as_deref(), expected, "{dn}");
        }
    }
}
