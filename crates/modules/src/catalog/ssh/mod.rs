//! `ssh`: authorized keys of users, and known hosts.

pub mod auth_functions;
pub mod authorized;
pub mod key;
pub mod known_functions;
pub mod trust;

mod known;
mod own_keys;
mod place;

use super::{CatalogFunction, Thing, Touches, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<auth_functions::AuthKeys>(),
    entry::<auth_functions::CheckKey>(),
    entry::<auth_functions::CheckKeyFile>(),
    entry::<known_functions::CheckKnownHost>(),
    entry::<known_functions::GetKnownHostEntries>(),
    entry::<known_functions::HashKnownHosts>(),
    entry::<own_keys::HostKeys>(),
    entry::<known_functions::RecvKnownHostEntries>(),
    entry::<auth_functions::RmAuthKey>(),
    entry::<auth_functions::RmAuthKeyFromFile>(),
    entry::<known_functions::RmKnownHost>(),
    entry::<auth_functions::SetAuthKey>(),
    entry::<auth_functions::SetAuthKeyFromFile>(),
    entry::<known_functions::SetKnownHost>(),
    entry::<own_keys::UserKeys>(),
];

/// The touches of a step that writes to a user's home, before the home is looked up.
pub fn below_home(user: &str) -> Touches {
    let touches = Touches::nothing().reads(Thing::User(user.to_owned())).reads(Thing::Path("/etc/passwd".into()));
    // If the home is in another directory, the dependency on the user covers it.
    let home = if user == "root" { "/root".to_owned() } else { format!("/home/{user}") };
    touches.writes(Thing::Path(home)).writes(Thing::User(user.to_owned()))
}
