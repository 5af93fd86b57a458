//! `file`: reads and changes files and directories.

mod block;
mod content;
mod copy;
mod criteria;
mod directory;
mod find;
mod line;
mod look;
mod names;
mod owner;
mod path;
mod pattern_flags;
mod read;
mod replace;
mod stat;
mod states;
mod tree;
mod write;

pub use content::{sum_of, text_or_bytes};
pub use copy::copy_all;
pub use owner::{gid, uid};
pub use path::{absolute, canonical, expand, followed, full_mode, make_all, octal, walk};
pub use states::{
    Flag, Proof, STATES, choose, difference, fetch, missing_directories, read_hash, redacted, render, variables,
};

use super::{CatalogFunction, Function, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<look::Access>(),
    entry::<write::Append>(),
    entry::<names::Basename>(),
    entry::<block::Blockreplace>(),
    entry::<read::CheckHash>(),
    entry::<owner::Chgrp>(),
    entry::<owner::Chown>(),
    entry::<replace::Comment>(),
    entry::<replace::CommentLine>(),
    entry::<read::Contains>(),
    entry::<read::ContainsGlob>(),
    entry::<read::ContainsRegex>(),
    entry::<copy::Copy>(),
    entry::<look::DirectoryExists>(),
    entry::<names::Dirname>(),
    entry::<stat::Diskusage>(),
    entry::<look::FileExists>(),
    entry::<find::Find>(),
    entry::<read::GetDiff>(),
    entry::<stat::GetGid>(),
    entry::<stat::GetGroup>(),
    entry::<read::GetHash>(),
    entry::<stat::GetMode>(),
    entry::<stat::GetSelinuxContext>(),
    entry::<read::GetSum>(),
    entry::<stat::GetUid>(),
    entry::<stat::GetUser>(),
    entry::<owner::GidToGroup>(),
    entry::<read::Grep>(),
    entry::<owner::GroupToGid>(),
    entry::<look::IsBlkdev>(),
    entry::<look::IsChrdev>(),
    entry::<look::IsFifo>(),
    entry::<look::IsHardlink>(),
    entry::<look::IsLink>(),
    entry::<names::Join>(),
    entry::<owner::Lchown>(),
    entry::<line::Line>(),
    entry::<copy::Link>(),
    entry::<stat::Lstat>(),
    entry::<directory::Makedirs>(),
    entry::<directory::MakedirsPerms>(),
    entry::<directory::Mkdir>(),
    entry::<copy::Move>(),
    entry::<names::Normpath>(),
    entry::<names::Pardir>(),
    entry::<look::PathExistsGlob>(),
    entry::<write::Prepend>(),
    entry::<read::Read>(),
    entry::<look::Readdir>(),
    entry::<look::Readlink>(),
    entry::<copy::Remove>(),
    entry::<copy::Rename>(),
    entry::<replace::Replace>(),
    entry::<copy::Rmdir>(),
    entry::<read::Search>(),
    entry::<read::SeekRead>(),
    entry::<write::SeekWrite>(),
    entry::<owner::SetMode>(),
    entry::<stat::Stats>(),
    entry::<stat::Statvfs>(),
    entry::<copy::Symlink>(),
    entry::<write::Touch>(),
    entry::<tree::Tree>(),
    entry::<write::Truncate>(),
    entry::<owner::UidToUser>(),
    entry::<replace::Uncomment>(),
    entry::<owner::UserToUid>(),
    entry::<write::Write>(),
];
