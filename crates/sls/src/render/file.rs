//! Renders a file that isn't an sls: templates of `file.managed`, `slsutil.renderer`, `render`.

use std::sync::Arc;

use rocksalt_core::{Map, Value};

use super::{PipeData, RenderContext, default_pipe, render};
use crate::compilation::Compilation;
use crate::fault::SlsFault;
use crate::inputs::CompileInputs;

/// A file to render.
pub struct RenderRequest<'a> {
    pub contents: Arc<[u8]>,
    /// Its path in the tree, to which imports that begin with `./` are relative.
    pub path: &'a str,
    pub saltenv: &'a str,
    /// The name as an sls: `slsutil.renderer` uses an empty name; a template of `file.managed` isn't an sls.
    pub sls: Option<&'a str>,
    /// The renderers for a file without a shebang; the configured ones by default.
    pub pipe: Option<&'a str>,
    /// Whether a first line such as `#!jinja|yaml` is a shebang: it is in a state file, but not in a template.
    pub shebang: bool,
    /// Variables besides `salt`, `grains`, `pillar`, `opts` and `saltenv`.
    pub context: &'a Map,
}

/// Renders a file to text or data.
pub fn render_file(inputs: &CompileInputs<'_>, file: &RenderRequest<'_>) -> Result<Value, SlsFault> {
    let compilation = Compilation::new(inputs.clone());
    let number = compilation.add_file(file.path, file.contents.clone());
    let rendering = RenderContext {
        compilation: &compilation,
        saltenv: file.saltenv,
        sls: file.sls,
        path: file.path,
        context: file.context,
    };
    let pipe = file.pipe.unwrap_or_else(|| default_pipe(inputs.options));
    match render(&file.contents, pipe, file.shebang, &rendering) {
        Ok(rendered) => match rendered.stage {
            PipeData::Text(text) => Ok(Value::String(text.text)),
            PipeData::Data(node) => Ok(node.into_value()),
        },
        Err(error) => Err(compilation.fault(number, &error, error.text.clone())),
    }
}
