//! Turns state files into a schedule of steps.
//!
//! Pure: files come from [`Sources`], functions of templates from [`Functions`], and what is known of
//! states from a [`Catalog`]; the host gives all three. The way of a run:
//!
//! 1. [`pillar::compile`] (on the controller) gives the pillar of a machine;
//! 2. [`compile`] renders the wanted sls with all that they include into [`High`] data;
//! 3. [`low`] applies what states say of each other, resolves the requisites and sorts: [`Low`];
//! 4. the runner walks [`Low::steps`].
//!
//! Every stage gives all of its errors at once, as [`Fault`]s with places, in Salt's words.

pub mod fault;
pub mod files;
pub mod functions;
pub mod setting;
pub mod sources;

pub mod high;
pub mod low;
pub mod merge;
pub mod outputs;
pub mod pillar;
pub mod render;
pub mod schedule;
pub mod top;

mod python;
mod session;
mod template;
mod tree;

pub use fault::{Fault, Place};
pub use functions::{Catalog, Changed, Decrypt, Functions};
pub use high::{High, Wanted, compile};
pub use low::{Chunk, Low, Need, Requisite, Step, low};
pub use rocksalt_jinja::Machine;
pub use setting::Setting;
pub use sources::Sources;
pub use top::top;
