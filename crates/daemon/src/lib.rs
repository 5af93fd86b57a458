//! The controller as a service, alone or in a cluster.
