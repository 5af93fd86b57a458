//! The tests of the backends, in one binary.

mod files_roots;
mod pillar_conformance;
mod roster_cases;
mod roster_conformance;
mod roster_edges;
mod store_cluster;
mod store_conformance;
mod store_disk;
mod store_etcd;
