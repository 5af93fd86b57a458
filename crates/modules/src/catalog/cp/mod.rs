//! `cp`: copies files between the controller and the target.

mod cache;
mod fetch;
mod list;
mod push;
pub mod source;
mod template;
mod transfer;
mod url;

pub use cache::{cached, destination, directory};
pub use list::TreeListing;
pub use url::content as url_content;

use super::{CatalogFunction, Function, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<cache::CacheDest>(),
    entry::<cache::CacheDir>(),
    entry::<cache::CacheFile>(),
    entry::<cache::CacheFiles>(),
    entry::<list::Envs>(),
    entry::<fetch::GetDir>(),
    entry::<fetch::GetFile>(),
    entry::<fetch::GetFileStr>(),
    entry::<template::GetTemplate>(),
    entry::<fetch::GetUrl>(),
    entry::<list::HashFile>(),
    entry::<cache::IsCached>(),
    entry::<list::ListMaster>(),
    entry::<list::ListMasterDirs>(),
    entry::<list::ListMasterSymlinks>(),
    entry::<cache::ListMinion>(),
    entry::<list::ListStates>(),
    entry::<push::Push>(),
    entry::<push::PushDir>(),
    entry::<transfer::Receive>(),
    entry::<transfer::Send>(),
    entry::<list::StatFile>(),
];
