//! Reaches a target, puts the agent there and exchanges frames with it.
