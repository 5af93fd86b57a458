//! The catalog of functions and states, a file for each noun.
//!
//! To add a noun: write `noun.rs` with a `FUNCTIONS` list, and add one line here in each place.

pub mod arguments;
mod contract;
#[cfg(feature = "docs")]
pub mod description;
mod from_template;
mod function;
mod in_place;
mod plan;
#[cfg(not(feature = "whole"))]
mod small;
mod tool;
mod verdict;

mod acl;
mod alias;
mod alternatives;
mod archive;
mod at;
mod beacons;
mod cmd;
mod config;
mod cp;
mod cron;
mod debconf;
mod defaults;
mod dig;
mod disk;
mod dnsutil;
mod docker;
mod environ;
mod event;
mod file;
mod firewalld;
mod gem;
mod git;
mod grains;
mod group;
mod hashutil;
mod host;
mod http;
mod ini;
mod iptables;
mod kmod;
mod locale;
mod log;
mod logrotate;
mod lvm;
mod matching;
mod mine;
mod module;
mod mount;
mod mysql;
mod network;
mod nftables;
mod npm;
mod pillar;
mod pip;
mod pkg;
mod pkgrepo;
mod postgres;
mod ps;
mod publish;
mod random;
mod saltutil;
mod schedule;
mod selinux;
mod service;
mod shadow;
mod slsutil;
mod sql;
mod ssh;
mod ssh_auth;
mod ssh_known_hosts;
mod state_functions;
mod stateconf;
mod status;
mod sys;
mod sysctl;
mod system;
mod test;
mod timezone;
mod user;
mod virtualenv;
mod x509;

pub use arguments::{NAMED, bind};
pub use contract::{Bound, Decision, State, StateEntry, Step, StepJoin, state};
pub use from_template::from_template;
pub use function::{CatalogFunction, Function, FunctionOutcome, entry};
pub use in_place::{InPlaceChange, changed, changes_in_place};
pub use plan::{Action, Plan};
pub use rocksalt_core::touches::{Thing, Touches};
pub use system::restart;
pub use verdict::{Verdict, change};

use rocksalt_core::description::is_meant;
use rocksalt_core::{Call, Problem, Return, call::ProblemKind, nearest};

use crate::machine::System;

/// Alphabetical by noun.
const NOUNS: &[(&str, &[CatalogFunction])] = &[
    ("acl", acl::FUNCTIONS),
    ("aliases", alias::FUNCTIONS),
    ("alternatives", alternatives::FUNCTIONS),
    ("archive", archive::FUNCTIONS),
    ("at", at::FUNCTIONS),
    ("beacons", beacons::FUNCTIONS),
    ("cmd", cmd::FUNCTIONS),
    ("config", config::FUNCTIONS),
    ("cp", cp::FUNCTIONS),
    ("cron", cron::FUNCTIONS),
    ("debconf", debconf::FUNCTIONS),
    ("defaults", defaults::FUNCTIONS),
    ("dig", dig::FUNCTIONS),
    ("disk", disk::FUNCTIONS),
    ("dnsutil", dnsutil::FUNCTIONS),
    ("docker", docker::FUNCTIONS),
    ("environ", environ::FUNCTIONS),
    ("event", event::FUNCTIONS),
    ("file", file::FUNCTIONS),
    ("firewalld", firewalld::FUNCTIONS),
    ("gem", gem::FUNCTIONS),
    ("git", git::FUNCTIONS),
    ("grains", grains::FUNCTIONS),
    ("group", group::FUNCTIONS),
    ("hashutil", hashutil::FUNCTIONS),
    ("http", http::FUNCTIONS),
    ("iptables", iptables::FUNCTIONS),
    ("kmod", kmod::FUNCTIONS),
    ("locale", locale::FUNCTIONS),
    ("log", log::FUNCTIONS),
    ("logrotate", logrotate::FUNCTIONS),
    ("lvm", lvm::FUNCTIONS),
    ("match", matching::FUNCTIONS),
    ("mine", mine::FUNCTIONS),
    ("mount", mount::FUNCTIONS),
    ("mysql", mysql::FUNCTIONS),
    ("network", network::FUNCTIONS),
    ("nftables", nftables::FUNCTIONS),
    ("npm", npm::FUNCTIONS),
    ("pillar", pillar::FUNCTIONS),
    ("pip", pip::FUNCTIONS),
    ("pkg", pkg::FUNCTIONS),
    ("postgres", postgres::FUNCTIONS),
    ("ps", ps::FUNCTIONS),
    ("publish", publish::FUNCTIONS),
    ("random", random::FUNCTIONS),
    ("saltutil", saltutil::FUNCTIONS),
    ("schedule", schedule::FUNCTIONS),
    ("selinux", selinux::FUNCTIONS),
    ("service", service::FUNCTIONS),
    ("shadow", shadow::FUNCTIONS),
    ("slsutil", slsutil::FUNCTIONS),
    ("ssh", ssh::FUNCTIONS),
    ("state", state_functions::FUNCTIONS),
    ("status", status::FUNCTIONS),
    ("sys", sys::FUNCTIONS),
    ("sysctl", sysctl::FUNCTIONS),
    ("system", system::FUNCTIONS),
    ("test", test::FUNCTIONS),
    ("timezone", timezone::FUNCTIONS),
    ("user", user::FUNCTIONS),
    ("virtualenv", virtualenv::FUNCTIONS),
    ("x509", x509::FUNCTIONS),
];

/// All functions.
#[cfg(feature = "whole")]
pub fn all() -> impl Iterator<Item = &'static CatalogFunction> {
    NOUNS.iter().flat_map(|(_, functions)| functions.iter())
}

/// The functions of the small agent, which is uploaded if a target has no agent yet (decision 0018); calls of all
/// others use the whole agent. A function is `small` if it is often called alone, needs neither templates nor patterns,
/// and leaves nothing in the agent's memory: the next call may use the other agent.
///
/// The list is computed at compile time, so that the program contains no other function.
#[cfg(not(feature = "whole"))]
static SMALL: [CatalogFunction; small::count(NOUNS)] = small::choose(NOUNS);

#[cfg(not(feature = "whole"))]
pub fn all() -> impl Iterator<Item = &'static CatalogFunction> {
    SMALL.iter()
}

#[cfg(not(feature = "whole"))]
const STATES: &[(&str, &[StateEntry])] = &[];

/// Alphabetical by noun; a noun's states are beside its functions.
#[cfg(feature = "whole")]
const STATES: &[(&str, &[StateEntry])] = &[
    ("acl", acl::STATES),
    ("alias", alias::STATES),
    ("alternatives", alternatives::STATES),
    ("archive", archive::STATES),
    ("at", at::STATES),
    ("cmd", cmd::STATES),
    ("cron", cron::STATES),
    ("debconf", debconf::STATES),
    ("docker_container", docker::CONTAINER_STATES),
    ("docker_image", docker::IMAGE_STATES),
    ("docker_network", docker::NETWORK_STATES),
    ("docker_volume", docker::VOLUME_STATES),
    ("environ", environ::STATES),
    ("event", event::STATES),
    ("file", file::STATES),
    ("firewalld", firewalld::STATES),
    ("gem", gem::STATES),
    ("git", git::STATES),
    ("grains", grains::STATES),
    ("group", group::STATES),
    ("host", host::STATES),
    ("http", http::STATES),
    ("ini", ini::STATES),
    ("iptables", iptables::STATES),
    ("kmod", kmod::STATES),
    ("locale", locale::STATES),
    ("logrotate", logrotate::STATES),
    ("lvm", lvm::STATES),
    ("module", module::STATES),
    ("mount", mount::STATES),
    ("mysql_database", mysql::DATABASE_STATES),
    ("mysql_grants", mysql::GRANTS_STATES),
    ("mysql_query", mysql::QUERY_STATES),
    ("mysql_user", mysql::USER_STATES),
    ("network", network::STATES),
    ("nftables", nftables::STATES),
    ("npm", npm::STATES),
    ("pip", pip::STATES),
    ("pkg", pkg::STATES),
    ("pkgrepo", pkgrepo::STATES),
    ("postgres_database", postgres::DATABASE_STATES),
    ("postgres_extension", postgres::EXTENSION_STATES),
    ("postgres_group", postgres::GROUP_STATES),
    ("postgres_language", postgres::LANGUAGE_STATES),
    ("postgres_privileges", postgres::PRIVILEGES_STATES),
    ("postgres_schema", postgres::SCHEMA_STATES),
    ("postgres_tablespace", postgres::TABLESPACE_STATES),
    ("postgres_user", postgres::USER_STATES),
    ("selinux", selinux::STATES),
    ("service", service::STATES),
    ("ssh_auth", ssh_auth::STATES),
    ("ssh_known_hosts", ssh_known_hosts::STATES),
    ("stateconf", stateconf::STATES),
    ("sysctl", sysctl::STATES),
    ("system", system::STATES),
    ("test", test::STATES),
    ("timezone", timezone::STATES),
    ("user", user::STATES),
    ("virtualenv", virtualenv::STATES),
    ("x509", x509::STATES),
];

/// All states.
pub fn states() -> impl Iterator<Item = &'static StateEntry> {
    STATES.iter().flat_map(|(_, states)| states.iter())
}

/// As [`matching`], for states.
pub fn matching_states(pattern: &str) -> impl Iterator<Item = &'static StateEntry> {
    states().filter(move |entry| is_meant(pattern, entry.name, &[]))
}

pub fn find_state(name: &str) -> Option<&'static StateEntry> {
    let (noun, _) = name.split_once('.')?;
    let (_, states) = STATES.iter().find(|(known, _)| *known == noun)?;
    states.iter().find(|entry| entry.name == name)
}

/// The nouns: `test`, `cmd`, …
pub fn nouns() -> impl Iterator<Item = &'static str> {
    NOUNS.iter().map(|(noun, _)| *noun)
}

/// The functions that a name selects: one function, all of a noun, or all that match a shell pattern; empty selects
/// all.
pub fn matching(pattern: &str) -> impl Iterator<Item = &'static CatalogFunction> {
    all().filter(move |entry| is_meant(pattern, entry.name, entry.aliases))
}

pub fn find(name: &str) -> Option<&'static CatalogFunction> {
    all().find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// Whether a function is a run of states, which needs the machine exclusively.
pub fn is_run(function: &str) -> bool {
    find(function).is_some_and(|entry| entry.nature.whole_machine)
}

/// As [`find`], with an error that suggests the nearest spelling.
pub fn get(name: &str) -> Result<&'static CatalogFunction, Problem> {
    find(name).ok_or_else(|| {
        let hint = nearest::hint(name, all().map(|entry| entry.name));
        // Salt's wording, which people and scripts search for.
        Problem::new(ProblemKind::UnknownFunction, format!("'{name}' is not available."))
            .hint(format!("`rocksalt doc` lists what there is{hint}"))
    })
}

/// Runs a call on a machine.
pub fn call(call: Call, machine: &dyn System) -> Return {
    match get(&call.function).and_then(|entry| entry.call(call, machine)) {
        Ok(outcome) => Return { value: outcome.value, retcode: outcome.retcode, problem: None },
        Err(problem) => problem.into(),
    }
}
