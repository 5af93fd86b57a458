//! What can be done to a machine, and how to look at it.
