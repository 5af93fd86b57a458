//! `lvm`: physical volumes, volume groups and logical volumes, through the target's own LVM tools.

mod commands;
mod functions;
mod groups;
mod physical;
mod show;
mod volumes;

use super::{CatalogFunction, StateEntry, Thing, Touches, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Fullversion>(),
    entry::<functions::Lvcreate>(),
    entry::<functions::Lvdisplay>(),
    entry::<functions::Lvextend>(),
    entry::<functions::Lvremove>(),
    entry::<functions::Lvresize>(),
    entry::<functions::Pvcreate>(),
    entry::<functions::Pvdisplay>(),
    entry::<functions::Pvremove>(),
    entry::<functions::Pvresize>(),
    entry::<functions::Version>(),
    entry::<functions::Vgcreate>(),
    entry::<functions::Vgdisplay>(),
    entry::<functions::Vgextend>(),
    entry::<functions::Vgremove>(),
];

pub const STATES: &[StateEntry] = &[
    state::<volumes::LvAbsent>(),
    state::<volumes::LvPresent>(),
    state::<physical::PvAbsent>(),
    state::<physical::PvPresent>(),
    state::<groups::VgAbsent>(),
    state::<groups::VgPresent>(),
];

/// All of LVM's metadata, which LVM locks itself.
fn touches() -> Touches {
    Touches::nothing().writes(Thing::Path("/dev".into())).writes(Thing::Path("/etc/lvm".into()))
}
