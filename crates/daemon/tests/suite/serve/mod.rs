//! The daemon in this process, on its own ports: what it creates, whom it accepts, and how it ends.

mod doors;
mod ends;
mod fixture;
mod limits;
mod presence;
mod starts;
