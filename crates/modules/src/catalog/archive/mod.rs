//! `archive`: tar and zip archives on the target.
//!
//! Tar archives are read by the target's own tar, which every target has and which knows the compressions that there
//! are tools for. Zip archives are read here: few targets have `unzip`, and the agent brings no Python to do without.

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

use super::{Entry, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[Entry] = &[
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
enum Format {
    Tar,
    Rar,
    Zip,
}

impl Format {
    fn named(name: &str) -> Option<Format> {
        match name.to_lowercase().as_str() {
            "tar" => Some(Format::Tar),
            "rar" => Some(Format::Rar),
            "zip" => Some(Format::Zip),
            _ => None,
        }
    }

    /// By the name's ending. Salt doesn't know `.tar.zst`; today's tar does.
    fn of(name: &str) -> Option<Format> {
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
            name if TAR.iter().any(|ending| name.ends_with(ending)) => Some(Format::Tar),
            name if name.ends_with(".zip") => Some(Format::Zip),
            name if name.ends_with(".rar") => Some(Format::Rar),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Tar => "tar",
            Format::Rar => "rar",
            Format::Zip => "zip",
        }
    }
}
