//! [`ManagerArguments`]: the arguments of states that the package manager gets.

use rocksalt_core::Value;
use rocksalt_macros::arguments;

/// Declared here for their types and documentation. `Options::read` reads them, in states and functions alike.
#[arguments]
#[allow(dead_code, reason = "read by `Options::read`")]
pub struct ManagerArguments {
    /// The repository (of apt: the release) to take them from.
    fromrepo: Value,
    /// Accept unsigned packages.
    skip_verify: Value,
    /// What is recommended comes along, or does not (apt).
    install_recommends: Value,
    /// Only upgrade what is there (apt).
    only_upgrade: Value,
    /// Put the package's configuration files over changed ones (apt).
    force_conf_new: Value,
    /// Repositories to use besides (dnf).
    enablerepo: Value,
    /// Repositories not to use (dnf).
    disablerepo: Value,
    /// Exclusions to leave out (dnf): `main`, `all`, or a repository.
    disableexcludes: Value,
    /// Options of the manager's configuration, `key=value` (dnf).
    setopt: Value,
    /// Variables for the manager and the packages' scripts.
    env: Value,
}
