//! `archive`: tar and zip archives on the target.
//!
//! Tar archives are read by the target's own tar, which every target has and which supports the compressions whose
//! tools are installed. Zip archives are read here: few targets have `unzip`, and the agent has no Python for it.

#![allow(clippy::result_large_err, reason = "a verdict found on the way is how most runs end, not a rare error")]

mod cipher;
mod contents;
mod crc;
mod entries;
mod extract;
mod extracted;
mod functions;
mod inflate;
mod place;
mod tar;
mod zip;

use serde::{Deserialize, Serialize};

use super::{CatalogFunction, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::CmdUnzip>(),
    entry::<functions::CmdZip>(),
    entry::<functions::Gunzip>(),
    entry::<functions::Gzip>(),
    entry::<functions::IsEncrypted>(),
    entry::<functions::List>(),
    entry::<functions::Tar>(),
    entry::<functions::Unzip>(),
    entry::<functions::Zip>(),
];

pub const STATES: &[StateEntry] = &[state::<extracted::Extracted>()];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ArchiveFormat {
    Tar,
    Rar,
    Zip,
}

impl ArchiveFormat {
    fn named(name: &str) -> Option<ArchiveFormat> {
        match name.to_lowercase().as_str() {
            "tar" => Some(ArchiveFormat::Tar),
            "rar" => Some(ArchiveFormat::Rar),
            "zip" => Some(ArchiveFormat::Zip),
            _ => None,
        }
    }

    /// The format by the extension. Salt doesn't know `.tar.zst`; current tars do.
    fn of(name: &str) -> Option<ArchiveFormat> {
        const TAR: [&str; 12] = [
            ".tar",
            ".tar.gz",
            ".tgz",
            ".tar.bz2",
            ".tbz2",
            ".tbz",
            ".tar.xz",
            ".txz",
            ".tar.lzma",
            ".tlz",
            ".tar.zst",
            ".tzst",
        ];
        let name = name.to_lowercase();
        match &name {
            name if TAR.iter().any(|ending| name.ends_with(ending)) => Some(ArchiveFormat::Tar),
            name if name.ends_with(".zip") => Some(ArchiveFormat::Zip),
            name if name.ends_with(".rar") => Some(ArchiveFormat::Rar),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ArchiveFormat::Tar => "tar",
            ArchiveFormat::Rar => "rar",
            ArchiveFormat::Zip => "zip",
        }
    }
}
