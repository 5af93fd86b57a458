//! Sets Jinja up as Salt does: variables, a loader over the file tree, options and error texts.

mod engine;
mod explain;
mod failure;
mod functions;
mod inherit;
mod loader;
mod options;
mod variables;

pub(crate) use engine::TemplateEngine;
