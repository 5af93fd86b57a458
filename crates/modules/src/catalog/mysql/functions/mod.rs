//! The functions of `mysql`.

mod database;
mod grants;
mod query;
mod server;
mod user;

use super::super::{CatalogFunction, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<database::AlterDb>(),
    entry::<database::DbCheck>(),
    entry::<database::DbCreate>(),
    entry::<database::DbExists>(),
    entry::<database::DbGet>(),
    entry::<database::DbList>(),
    entry::<database::DbOptimize>(),
    entry::<database::DbRemove>(),
    entry::<database::DbRepair>(),
    entry::<database::DbTables>(),
    entry::<query::FileQuery>(),
    entry::<server::GetMasterStatus>(),
    entry::<server::GetSlaveStatus>(),
    entry::<grants::GrantAdd>(),
    entry::<grants::GrantExists>(),
    entry::<grants::GrantRevoke>(),
    entry::<server::PluginAdd>(),
    entry::<server::PluginRemove>(),
    entry::<server::PluginStatus>(),
    entry::<server::PluginsList>(),
    entry::<server::Processlist>(),
    entry::<query::Query>(),
    entry::<grants::QuoteIdentifier>(),
    entry::<server::Showglobal>(),
    entry::<server::Showvariables>(),
    entry::<server::SlaveLag>(),
    entry::<server::Status>(),
    entry::<grants::TokenizeGrant>(),
    entry::<user::UserChpass>(),
    entry::<user::UserCreate>(),
    entry::<user::UserExists>(),
    entry::<grants::UserGrants>(),
    entry::<user::UserInfo>(),
    entry::<user::UserList>(),
    entry::<user::UserRemove>(),
    entry::<user::VerifyLogin>(),
    entry::<server::Version>(),
];
