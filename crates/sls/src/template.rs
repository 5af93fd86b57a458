//! [`render_template`]: a text that is no state file, rendered with the same means.

use std::sync::Arc;

use rocksalt_core::{Map, Value};

use crate::fault::Fault;
use crate::render::{Rendering, Stage, render, render_with};
use crate::session::Session;
use crate::setting::Setting;

/// A text and how to render it.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    pub text: &'a str,
    /// Where it comes from: `salt://web/nginx.conf`, or a path of the machine.
    pub source: &'a str,
    pub saltenv: &'a str,
    /// `jinja`, or a pipe of renderers.
    pub pipe: &'a str,
    /// Whether a first line such as `#!jinja|yaml` counts more than `pipe`.
    pub shebang: bool,
    /// Variables besides the usual ones.
    pub context: &'a Map,
}

/// Text if the pipe ends with text, else data.
pub fn render_template(setting: &Setting<'_>, template: &Template<'_>) -> Result<Value, Fault> {
    let session = Session::new(*setting);
    let path = template.source.strip_prefix("salt://").unwrap_or(template.source);
    let contents: Arc<[u8]> = template.text.as_bytes().into();
    let file = session.note(path, Arc::clone(&contents));
    let rendering =
        Rendering { session: &session, saltenv: template.saltenv, sls: "", path, context: template.context };
    let rendered = match template.shebang {
        true => render(&contents, template.pipe, &rendering),
        false => render_with(template.text, template.pipe, &rendering),
    };
    match rendered {
        Ok(rendered) => Ok(match rendered.stage {
            Stage::Text(text) => text.text.into(),
            Stage::Data(node) => node.into_value(),
        }),
        Err(error) => Err(session.fault(file, &error, error.text.clone())),
    }
}
