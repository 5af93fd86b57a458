//! Templates as Salt sets Jinja up: its variables, its loader over the file tree, its options and its error texts.

mod engine;
mod explain;
mod failure;
mod functions;
mod inherit;
mod loader;
mod options;
mod variables;

pub(crate) use engine::TemplateEngine;
