//! The nouns that processes exchange, and the rules on them that need no I/O.
//!
//! All types that are sent between processes or stored are defined here.

pub mod hash;
mod hex;
pub mod value;

pub mod json;
pub mod yaml;

pub mod arguments;
pub mod call;
pub mod description;
pub mod event;
pub mod job_id;
pub mod job_options;
pub mod job_update;
pub mod record;
pub mod request;

pub mod frame;
pub mod keeper;
pub mod link;
pub mod log;
pub mod roster;
pub mod target;
pub mod touches;

pub mod masking;
pub mod memory;
pub mod merge;
pub mod nearest;
mod option_defaults;
pub mod pattern;
pub mod secret;
pub mod sort;

pub use call::{Call, Problem, Return};
pub use event::Event;
pub use hex::hex;
pub use job_id::JobId;
pub use option_defaults::option_defaults;
pub use secret::Secret;
pub use value::{Map, Value};
