//! `pkg`'s functions.

mod change;
mod details;
mod look;

use super::{Entry, Function, entry};

pub const FUNCTIONS: &[Entry] = &[
    entry::<details::FileDict>(),
    entry::<details::FileList>(),
    entry::<change::Hold>(),
    entry::<details::InfoInstalled>(),
    entry::<change::Install>(),
    entry::<look::LatestVersion>().also(&["pkg.available_version"]),
    entry::<details::ListHolds>(),
    entry::<look::ListPkgs>(),
    entry::<details::ListRepoPkgs>(),
    entry::<details::ListUpgrades>(),
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
