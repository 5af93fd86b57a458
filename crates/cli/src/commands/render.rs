//! `rocksalt render`: renders a template.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use rocksalt_core::{Call, Map, Value, json};

use super::Context;
use super::state;
use crate::failure::{Failure, FailureKind};
use crate::printing::Printing;
use crate::stdout::print_line;
use crate::this_machine::ThisMachine;

/// Renders files as templates, with this machine's grains and pillar (or those given).
#[derive(Args)]
pub struct Options {
    /// The files: paths here, or salt://…
    #[arg(required = true)]
    files: Vec<String>,

    /// What to render with: jinja gives text, jinja|yaml data
    #[arg(long, default_value = "jinja")]
    renderer: String,

    #[command(flatten)]
    printing: Printing,
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    let machine = ThisMachine::open(&context, None)?;
    let (mut rendered, mut errors) = (Map::new(), Vec::new());
    for file in &options.files {
        let path = match file.starts_with("salt://") {
            true => file.clone(),
            false => absolute(file)?.to_string_lossy().into_owned(),
        };
        let call = Call::new("slsutil.renderer")
            .kwarg("path", path.as_str())
            .kwarg("default_renderer", options.renderer.as_str());
        let result = machine.call(&call).await?;
        match result.problem {
            None => drop(rendered.insert(shown(&context, &path), result.value)),
            Some(problem) => errors.push(problem.text),
        }
    }
    if context.common.json {
        let (name, value) = match errors.is_empty() {
            true => ("render", Value::Map(rendered)),
            false => ("errors", Value::List(errors.iter().map(|error| error.as_str().into()).collect())),
        };
        print_line!("{}", json::compact(&Map::from_iter([(name.into(), value)]).into()));
    } else {
        for (name, value) in rendered.iter() {
            if options.files.len() > 1 {
                print_line!("# {name}");
            }
            match value {
                Value::String(text) => print_line!("{}", text.strip_suffix('\n').unwrap_or(text)),
                data => drop(state::print(&context, &options.printing, "render", data.clone())?),
            }
        }
        errors.iter().for_each(|error| eprintln!("error: {error}"));
    }
    if errors.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::silent(FailureKind::Usage)) }
}

fn absolute(file: &str) -> Result<PathBuf, Failure> {
    let fault = |error: std::io::Error| Failure::usage(format!("can't read {file}: {error}"));
    let path = std::path::absolute(file).map_err(fault)?;
    std::fs::metadata(&path).map_err(fault)?;
    Ok(path)
}

/// The path relative to the parent of the configuration's directory, if it is below that.
fn shown(context: &Context, path: &str) -> String {
    let above = context.config.directory.as_deref().and_then(std::path::Path::parent);
    let relative = above.and_then(|above| std::path::Path::new(path).strip_prefix(above).ok());
    relative.map_or_else(|| path.to_owned(), |relative| relative.to_string_lossy().into_owned())
}
