//! `shadow`: passwords of users, and their expiry.

mod functions;
mod line;

pub use functions::random_salt;
pub use line::{DAYS, Shadow, days, set_password};

use super::{CatalogFunction, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::DefaultHash>(),
    entry::<functions::DelPassword>(),
    entry::<functions::GenPassword>(),
    entry::<functions::Info>(),
    entry::<functions::ListUsers>(),
    entry::<functions::LockPassword>(),
    entry::<functions::SetDate>(),
    entry::<functions::SetExpire>(),
    entry::<functions::SetInactdays>(),
    entry::<functions::SetMaxdays>(),
    entry::<functions::SetMindays>(),
    entry::<functions::SetPassword>(),
    entry::<functions::SetWarndays>(),
    entry::<functions::UnlockPassword>(),
];
