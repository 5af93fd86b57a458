//! `status`: the kernel's counters, under Salt's names.

mod machine_wide;
mod tables;

use super::{CatalogFunction, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<machine_wide::AllStatus>(),
    entry::<tables::Cpuinfo>(),
    entry::<tables::Cpustats>(),
    entry::<machine_wide::Custom>(),
    entry::<tables::Diskstats>(),
    entry::<machine_wide::Diskusage>(),
    entry::<machine_wide::Loadavg>(),
    entry::<machine_wide::Master>(),
    entry::<tables::Meminfo>(),
    entry::<tables::Netdev>(),
    entry::<tables::Netstats>(),
    entry::<machine_wide::Nproc>(),
    entry::<machine_wide::Pid>(),
    entry::<machine_wide::PingMaster>(),
    entry::<machine_wide::Procs>(),
    entry::<machine_wide::Time>(),
    entry::<machine_wide::Uptime>(),
    entry::<machine_wide::Version>(),
    entry::<tables::Vmstats>(),
    entry::<machine_wide::W>(),
];
