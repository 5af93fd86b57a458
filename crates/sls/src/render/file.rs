//! Renders a file outside of any sls: templates of `file.managed`, `slsutil.renderer`, `render`.

use std::sync::Arc;

use rocksalt_core::{Map, Value};

use super::{Rendering, Stage, default_pipe, render};
use crate::fault::Fault;
use crate::session::Session;
use crate::setting::Setting;

/// A file that is to be rendered.
pub struct File<'a> {
    pub contents: Arc<[u8]>,
    /// Its path in the tree: imports that begin with `./` are relative to it.
    pub path: &'a str,
    pub saltenv: &'a str,
    /// As which sls: `slsutil.renderer` takes a file for one without a name; templates of `file.managed` are none.
    pub sls: Option<&'a str>,
    /// The renderers for a file without a shebang; the configured ones if it isn't said.
    pub pipe: Option<&'a str>,
    /// Whether a first line `#!jinja|yaml` counts: it does in a state file, and not in a template.
    pub shebang: bool,
    /// Variables besides `salt`, `grains`, `pillar`, `opts` and `saltenv`.
    pub context: &'a Map,
}

/// The text or the data that comes out.
pub fn file(setting: &Setting<'_>, file: &File<'_>) -> Result<Value, Fault> {
    let session = Session::new(setting.clone());
    let number = session.note(file.path, file.contents.clone());
    let rendering =
        Rendering { session: &session, saltenv: file.saltenv, sls: file.sls, path: file.path, context: file.context };
    let pipe = file.pipe.unwrap_or_else(|| default_pipe(setting.options));
    match render(&file.contents, pipe, file.shebang, &rendering) {
        Ok(rendered) => match rendered.stage {
            Stage::Text(text) => Ok(Value::String(text.text)),
            Stage::Data(node) => Ok(node.into_value()),
        },
        Err(error) => Err(session.fault(number, &error, error.text.clone())),
    }
}
