//! Which targets are meant.
