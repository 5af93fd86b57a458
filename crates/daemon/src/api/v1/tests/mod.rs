//! The API as its users see it: a request service on a store in memory, with simulated targets.

mod client;
mod doors;
mod jobs;
mod paper;
mod world;
