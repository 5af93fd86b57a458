//! The functions of `postgres`.

mod database;
mod privileges;
mod role;
mod schema;

use rocksalt_core::{Map, Value};

use super::super::{CatalogFunction, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<schema::AvailableExtensions>(),
    entry::<schema::CreateExtension>(),
    entry::<database::DbAlter>(),
    entry::<database::DbCreate>(),
    entry::<database::DbExists>(),
    entry::<database::DbList>(),
    entry::<database::DbRemove>(),
    entry::<schema::DropExtension>(),
    entry::<schema::GetAvailableExtension>(),
    entry::<schema::GetInstalledExtension>(),
    entry::<role::GroupCreate>(),
    entry::<role::GroupRemove>(),
    entry::<role::GroupUpdate>(),
    entry::<privileges::HasPrivileges>(),
    entry::<schema::InstalledExtensions>(),
    entry::<schema::IsAvailableExtension>(),
    entry::<schema::IsInstalledExtension>(),
    entry::<schema::LanguageCreate>(),
    entry::<schema::LanguageExists>(),
    entry::<schema::LanguageList>(),
    entry::<schema::LanguageRemove>(),
    entry::<database::OwnerTo>(),
    entry::<privileges::PrivilegesGrant>(),
    entry::<privileges::PrivilegesList>(),
    entry::<privileges::PrivilegesRevoke>(),
    entry::<database::PsqlQuery>(),
    entry::<role::RoleGet>(),
    entry::<schema::SchemaCreate>(),
    entry::<schema::SchemaExists>(),
    entry::<schema::SchemaGet>(),
    entry::<schema::SchemaList>(),
    entry::<schema::SchemaRemove>(),
    entry::<database::TablespaceAlter>(),
    entry::<database::TablespaceCreate>(),
    entry::<database::TablespaceExists>(),
    entry::<database::TablespaceList>(),
    entry::<database::TablespaceRemove>(),
    entry::<role::UserCreate>(),
    entry::<role::UserExists>(),
    entry::<role::UserList>(),
    entry::<role::UserRemove>(),
    entry::<role::UserUpdate>(),
    entry::<database::Version>(),
];

/// The rows by one of their columns, which is removed from them.
fn by_name(rows: Vec<Map>, column: &str) -> Map {
    let pair = |mut row: Map| (row.remove(column).unwrap_or_default(), Value::Map(row));
    rows.into_iter().map(pair).collect()
}
