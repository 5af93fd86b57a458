//! [`Touches`]: what a step reads and writes, to find steps that can run concurrently.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    pub reads: Vec<Thing>,
    pub writes: Vec<Thing>,
    /// Unknown, so that it conflicts with every other step.
    pub everything: bool,
}

/// Something on a machine that steps can conflict on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Thing {
    /// A path and everything below it.
    Path(String),
    User(String),
    Group(String),
    Service(String),
    /// The package database, which allows one transaction at a time. A package may contain files, users and services,
    /// so a step that writes it conflicts with every step that touches anything.
    Packages,
    /// A variable of the agent's environment.
    Variable(String),
    /// The connections to other machines. A download reads it; a change of what is allowed through, such as a firewall
    /// rule, writes it.
    Network,
}

impl Touches {
    pub fn everything() -> Touches {
        Touches { reads: Vec::new(), writes: Vec::new(), everything: true }
    }

    pub fn nothing() -> Touches {
        Touches::default()
    }

    /// Whether it conflicts with no other step.
    pub fn is_nothing(&self) -> bool {
        !self.everything && self.reads.is_empty() && self.writes.is_empty()
    }

    /// Whether it conflicts with every step that touches anything.
    pub fn is_everything(&self) -> bool {
        self.everything || self.writes.contains(&Thing::Packages)
    }

    #[must_use]
    pub fn reads(mut self, thing: Thing) -> Touches {
        self.reads.push(thing);
        self
    }

    #[must_use]
    pub fn writes(mut self, thing: Thing) -> Touches {
        self.writes.push(thing);
        self
    }

    /// Adds the read of a source: a path of the machine or an address. Files of the controller (`salt://`) come over
    /// the link.
    #[must_use]
    pub fn from(self, source: &str) -> Touches {
        match source.split_once("://") {
            None if source.starts_with('/') => self.reads(Thing::Path(source.to_owned())),
            Some(("http" | "https" | "ftp" | "ftps" | "s3" | "swift", _)) => self.reads(Thing::Network),
            _ => self,
        }
    }

    /// Whether the steps must not run concurrently, whatever their order: both write the same thing, so that one change
    /// would be lost, or one of them cuts off the other's download.
    pub fn disturbs(&self, other: &Touches) -> bool {
        let cuts_off = |one: &Touches, other: &Touches| {
            one.writes.contains(&Thing::Network) && other.reads.contains(&Thing::Network)
        };
        overlap(&self.writes, &other.writes) || cuts_off(self, other) || cuts_off(other, self)
    }

    /// Whether the steps must not run concurrently and must keep their order.
    pub fn conflicts(&self, other: &Touches) -> bool {
        if self.is_nothing() || other.is_nothing() {
            return false;
        }
        self.is_everything()
            || other.is_everything()
            || overlap(&self.writes, &other.writes)
            || overlap(&self.writes, &other.reads)
            || overlap(&self.reads, &other.writes)
    }
}

fn overlap(these: &[Thing], those: &[Thing]) -> bool {
    these.iter().any(|a| those.iter().any(|b| a.meets(b)))
}

impl std::fmt::Display for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Thing::Path(path) => f.write_str(path),
            Thing::User(name) => write!(f, "user {name}"),
            Thing::Group(name) => write!(f, "group {name}"),
            Thing::Service(name) => write!(f, "service {name}"),
            Thing::Packages => f.write_str("packages"),
            Thing::Variable(name) => write!(f, "variable {name}"),
            Thing::Network => f.write_str("network"),
        }
    }
}

impl Thing {
    fn meets(&self, other: &Thing) -> bool {
        match (self, other) {
            (Thing::Path(a), Thing::Path(b)) => within(a, b) || within(b, a),
            (a, b) => a == b,
        }
    }
}

fn within(inner: &str, outer: &str) -> bool {
    let (inner, outer) = (inner.trim_end_matches('/'), outer.trim_end_matches('/'));
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet_from_above_and_below() {
        let write = |path: &str| Touches::nothing().writes(Thing::Path(path.into()));
        let read = |path: &str| Touches::nothing().reads(Thing::Path(path.into()));
        assert!(write("/etc/a").conflicts(&write("/etc")));
        assert!(write("/etc").conflicts(&read("/etc/a")));
        assert!(!write("/etc/a").conflicts(&write("/etc/ab")));
        assert!(!read("/etc/a").conflicts(&read("/etc/a")));
        assert!(Touches::everything().conflicts(&read("/etc/a")));
        assert!(!Touches::everything().conflicts(&Touches::nothing()));
        assert!(Touches::nothing().writes(Thing::Packages).conflicts(&read("/etc/a")));
    }

    #[test]
    fn whoever_fetches_is_disturbed_by_a_firewall_and_by_nobody_who_fetches() {
        let fetches = Touches::nothing().writes(Thing::Path("/srv/a".into())).reads(Thing::Network);
        let also = Touches::nothing().writes(Thing::Path("/srv/b".into())).reads(Thing::Network);
        let firewall = Touches::nothing().writes(Thing::Network);
        assert!(fetches.disturbs(&firewall) && firewall.disturbs(&fetches) && firewall.disturbs(&firewall));
        assert!(!fetches.disturbs(&also) && !fetches.conflicts(&also));
        assert!(fetches.conflicts(&firewall));
        // The order doesn't matter for reading a file that another step writes.
        let reads = Touches::nothing().reads(Thing::Path("/srv/a".into()));
        assert!(!fetches.disturbs(&reads) && fetches.conflicts(&reads));
    }
}
