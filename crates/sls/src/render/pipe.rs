//! Passes a file through the renderers in its shebang, or the default ones.

use std::sync::Arc;

use rocksalt_core::Map;
use rocksalt_core::nearest::nearest;

use super::{Error, MappedText, PipeData, RENDERERS, Renderer, nothing, open};
use crate::compilation::Compilation;
use crate::fault::SlsFault;
use crate::functions::Decryptor;
use crate::options::{names, text};

/// A file that is being rendered.
#[derive(Clone, Copy)]
pub struct RenderContext<'r, 'a> {
    pub(crate) compilation: &'r Compilation<'a>,
    pub(crate) saltenv: &'r str,
    /// The sls; a top file has an empty name, and a file that isn't an sls has `None`.
    pub(crate) sls: Option<&'r str>,
    /// Its path in the tree.
    pub(crate) path: &'r str,
    /// Variables beyond the usual ones.
    pub(crate) context: &'r Map,
}

/// The result of the pipe.
pub(crate) struct PipeOutput {
    pub stage: PipeData,
    /// A problem that the user should know about, although Salt doesn't report it.
    pub warning: Option<SlsFault>,
}

/// Salt's renderers that run Python or that aren't supported here.
const FOREIGN: [&str; 21] = [
    "aws_kms",
    "cheetah",
    "dson",
    "genshi",
    "hjson",
    "json5",
    "mako",
    "msgpack",
    "nacl",
    "pass",
    "py",
    "pydsl",
    "pyobjects",
    "stateconf",
    "wempy",
    "yaml_mako",
    "json_mako",
    "yaml_wempy",
    "json_wempy",
    "yamlex",
    "yamlex_jinja",
];

impl<'a> RenderContext<'_, 'a> {
    pub(crate) fn decrypt(&self) -> &'a dyn Decryptor {
        self.compilation.inputs.decrypt
    }
}

/// Renders a whole file. An empty text renders to an empty map, whatever the renderers are.
pub(crate) fn render(
    source: &Arc<[u8]>,
    default: &str,
    shebang: bool,
    rendering: &RenderContext<'_, '_>,
) -> Result<PipeOutput, Error> {
    let source = std::str::from_utf8(source).map_err(|error| {
        Error::other(format!("'utf-8' codec can't decode byte at position {}", error.valid_up_to()))
    })?;
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if source.trim().is_empty() {
        return Ok(PipeOutput { stage: PipeData::Data(nothing()), warning: None });
    }
    let pipe = if shebang { pipe_of(source, default) } else { default.to_owned() };
    let stages = match stages(&pipe, rendering)? {
        Ok(stages) => stages,
        Err(warning) => return Ok(PipeOutput { stage: PipeData::Data(nothing()), warning: Some(warning) }),
    };
    let mut stage = PipeData::Text(MappedText { text: source.replace("\r\n", "\n"), lines: Vec::new() });
    if stages.is_empty() {
        stage = PipeData::Data(nothing());
    }
    for (renderer, argument) in stages {
        stage = renderer.render(stage, &argument, rendering)?;
    }
    Ok(PipeOutput { stage, warning: None })
}

/// The pipe in the first line, or the default. `#!/bin/sh` isn't a pipe.
fn pipe_of(source: &str, default: &str) -> String {
    let line = source.lines().next().unwrap_or_default();
    match line.strip_prefix("#!") {
        Some(pipe) if !pipe.starts_with('/') => pipe.trim().to_owned(),
        _ => default.to_owned(),
    }
}

type PipeStages = Vec<(&'static dyn Renderer, String)>;

/// The renderers of a pipe, or a warning about an unknown one, for which Salt treats the file as empty.
fn stages(pipe: &str, rendering: &RenderContext<'_, '_>) -> Result<Result<PipeStages, SlsFault>, Error> {
    let options = rendering.compilation.inputs.options;
    let (allowed, forbidden) = (names(options, "renderer_whitelist"), names(options, "renderer_blacklist"));
    let pipe = match pipe {
        "yaml_jinja" => "jinja|yaml",
        "json_jinja" => "jinja|json",
        other => other,
    };
    let mut stages: PipeStages = Vec::new();
    for part in pipe.split('|').map(str::trim) {
        let (name, argument) = part.split_once(' ').unwrap_or((part, ""));
        if (!allowed.is_empty() && !allowed.contains(&name)) || forbidden.contains(&name) {
            continue;
        }
        if FOREIGN.contains(&name) {
            return Err(Error::refused(format!("the renderer '{name}' is not part of Rocksalt, which runs no Python"))
                .at(1, 1)
                .hint("write the file for jinja|yaml: salt['…'], grains and pillar are there, too"));
        }
        match open(name) {
            Some(renderer) => stages.push((renderer, argument.trim().to_owned())),
            None => {
                let text = format!("The renderer \"{pipe}\" is not available; '{}' counts as empty", rendering.path);
                let known = RENDERERS.map(|renderer| renderer.name());
                let hint = match nearest(name, known) {
                    Some(right) => format!("did you mean '{right}'?"),
                    None => format!("there are {}", known.join(", ")),
                };
                return Ok(Err(SlsFault::new(text).hint(hint)));
            }
        }
    }
    Ok(Ok(stages))
}

/// The pipe for files without a shebang.
pub(crate) fn default_pipe(options: &Map) -> &str {
    text(options, "renderer").unwrap_or("jinja|yaml")
}
