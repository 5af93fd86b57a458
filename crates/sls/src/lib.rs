//! Turns state files into a schedule of steps.
