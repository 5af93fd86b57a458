//! The API as its users see it: a request service over a store in memory, targets that answer without being there.

mod client;
mod doors;
mod jobs;
mod paper;
mod world;
