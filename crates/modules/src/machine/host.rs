//! [`Host`]: the real machine.
