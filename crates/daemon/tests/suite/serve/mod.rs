//! The daemon in this process, on ports of its own: what it makes, whom it lets in, and how it ends.

mod doors;
mod ends;
mod fixture;
mod limits;
mod presence;
mod starts;
