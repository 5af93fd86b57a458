//! `mount`: file systems and swap, both as currently mounted and in `/etc/fstab`.

mod active;
mod entries;
mod fstab;
mod functions;
mod mounted;
mod mounting;
mod options;
mod swap;
mod unmounted;

use rocksalt_core::Value;

use super::{CatalogFunction, StateEntry, Thing, Touches, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Active>(),
    entry::<functions::Fstab>(),
    entry::<functions::GetDeviceFromPath>(),
    entry::<functions::GetMountFromPath>(),
    entry::<functions::IsFuseExec>(),
    entry::<functions::IsMounted>(),
    entry::<mounting::Mount>(),
    entry::<mounting::Remount>(),
    entry::<functions::RmFstab>(),
    entry::<functions::SetFstab>(),
    entry::<swap::Swapoff>(),
    entry::<swap::Swapon>(),
    entry::<swap::Swaps>(),
    entry::<mounting::Umount>(),
];

pub const STATES: &[StateEntry] = &[
    state::<entries::FstabAbsent>(),
    state::<entries::FstabPresent>(),
    state::<mounted::Mounted>(),
    state::<swap::Swap>(),
    state::<unmounted::Unmounted>(),
];

const FSTAB: &str = "/etc/fstab";

fn fstab_path() -> String {
    FSTAB.to_owned()
}

/// Options as a list, or as a comma-separated text.
fn listed(options: &Value) -> Vec<String> {
    match options {
        Value::Null => Vec::new(),
        Value::List(options) => options.iter().map(ToString::to_string).collect(),
        text => text.to_string().split(',').map(|option| option.trim().to_owned()).collect(),
    }
}

/// A mount point without slashes at its end.
fn trimmed(name: &str) -> &str {
    let short = name.trim_end_matches('/');
    if short.is_empty() && name.starts_with('/') { "/" } else { short }
}

/// A mount hides the paths below its mount point, so all of them are touched.
fn touches(name: &str, device: &str, config: &str, persist: bool) -> Touches {
    let mut touches = Touches::nothing().writes(Thing::Path(name.to_owned()));
    if device.starts_with('/') {
        touches = touches.reads(Thing::Path(device.to_owned()));
    }
    let config = Thing::Path(config.to_owned());
    if persist { touches.writes(config) } else { touches }
}
