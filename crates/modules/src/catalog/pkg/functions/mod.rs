//! `pkg`'s functions.

mod change;
mod details;
mod look;

use super::super::pkgrepo::functions as repositories;
use super::{CatalogFunction, Function, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<repositories::DelRepo>(),
    entry::<details::FileDict>(),
    entry::<details::FileList>(),
    entry::<repositories::GetRepo>(),
    entry::<change::Hold>(),
    entry::<details::InfoInstalled>(),
    entry::<change::Install>(),
    entry::<look::LatestVersion>(),
    entry::<details::ListHolds>(),
    entry::<look::ListPkgs>(),
    entry::<details::ListRepoPkgs>(),
    entry::<repositories::ListRepos>(),
    entry::<details::ListUpgrades>(),
    entry::<repositories::ModRepo>(),
    entry::<details::NormalizeName>(),
    entry::<details::Owner>(),
    entry::<change::Purge>(),
    entry::<change::RefreshDb>(),
    entry::<change::Remove>(),
    entry::<change::Unhold>(),
    entry::<change::Upgrade>(),
    entry::<details::UpgradeAvailable>(),
    entry::<look::Version>(),
    entry::<look::VersionCmp>(),
];
