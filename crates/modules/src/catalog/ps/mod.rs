//! `ps`: processes, and their use of resources.

pub mod process;

mod find;
mod info;
mod resources;
pub mod users;

use super::{CatalogFunction, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<resources::BootTime>(),
    entry::<resources::CpuPercent>(),
    entry::<resources::CpuTimes>(),
    entry::<resources::DiskIoCounters>(),
    entry::<resources::DiskPartitionUsage>(),
    entry::<resources::DiskPartitions>(),
    entry::<resources::DiskUsage>(),
    entry::<find::GetPidList>(),
    entry::<resources::GetUsers>(),
    entry::<find::KillPid>(),
    entry::<resources::NetworkIoCounters>(),
    entry::<resources::NumCpus>(),
    entry::<find::Pgrep>(),
    entry::<find::Pkill>(),
    entry::<info::ProcInfo>(),
    entry::<find::Psaux>(),
    entry::<find::Status>(),
    entry::<resources::SwapMemory>(),
    entry::<info::Top>(),
    entry::<resources::TotalPhysicalMemory>(),
    entry::<resources::VirtualMemory>(),
];
