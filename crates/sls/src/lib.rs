//! Turns state files into a schedule of steps.
//!
//! This crate does no I/O: files come from [`FileSources`], functions of templates from
//! [`TemplateFunctions`], and facts about states from a [`StateCatalog`]. The stages of a run:
//!
//! 1. [`pillar::compile`] (on the controller) compiles the pillar of a machine;
//! 2. [`compile`] renders the selected sls with everything they include into [`High`] data;
//! 3. [`low`] applies `extend` and the like, resolves the requisites and sorts the steps: [`Low`];
//! 4. the runner walks [`Low::steps`].
//!
//! Every stage returns all of its errors at once, as [`SlsFault`]s with locations and Salt's texts.

pub mod fault;
pub mod files;
pub mod functions;
pub mod inputs;
pub mod sources;

pub mod high;
pub mod low;
pub mod outputs;
pub mod pillar;
pub mod render;
pub mod schedule;
pub mod top;

mod compilation;
mod options;
mod python;
mod template;
mod tree;

pub use fault::{SlsFault, SlsFaultKind, SourceLocation};
pub use functions::{ChangedArgument, Decryptor, StateCatalog, TemplateFunctions};
pub use high::{High, SlsSelection, compile};
pub use inputs::CompileInputs;
pub use low::{Chunk, Low, LowStep, Need, Requisite, low};
pub use rocksalt_jinja::TemplateMachine;
pub use sources::FileSources;
pub use top::top;
