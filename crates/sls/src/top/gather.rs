//! Renders the top files of all environments, and those that they include.

use indexmap::IndexMap;
use rocksalt_core::Map;
use rocksalt_core::yaml::{Node, NodeContent};

use crate::compilation::Compilation;
use crate::inputs::CompileInputs;
use crate::options::{names, text};
use crate::python;
use crate::render::PipeData;
use crate::tree::SlsFile;

/// A rendered top file.
pub(super) struct TopFile {
    pub number: u32,
    /// Environments with their contents, except for `include`.
    pub sections: Vec<(Node, Node)>,
}

pub(super) type TopFiles = IndexMap<String, Vec<TopFile>>;

/// The top files by environment. As in Salt, one that doesn't render leaves all of them empty, with a warning.
pub(super) fn gather(compilation: &Compilation<'_>) -> TopFiles {
    let options = compilation.inputs.options;
    let wanted = match compilation.inputs.saltenv {
        Some(saltenv) => vec![saltenv.to_owned()],
        None if strategy(&compilation.inputs) == "same" && text(options, "default_top").is_none() => {
            return TopFiles::new();
        }
        None => match text(options, "state_top_saltenv") {
            Some(saltenv) => vec![saltenv.to_owned()],
            None => environments(&compilation.inputs),
        },
    };
    let name = text(options, "state_top").unwrap_or("top.sls");
    let path = name.strip_prefix("salt://").unwrap_or(name).trim_start_matches('/');
    let mut files = TopFiles::new();
    let mut includes: Vec<(String, Vec<String>)> = Vec::new();
    for saltenv in wanted {
        let entry = files.entry(saltenv.clone()).or_default();
        let Ok(Some(contents)) = compilation.tree.read(&saltenv, path) else { continue };
        let Some((file, included)) = render(compilation, &saltenv, SlsFile { path: path.to_owned(), contents }) else {
            return TopFiles::new();
        };
        entry.push(file);
        includes.push((saltenv, included));
    }
    for (saltenv, patterns) in includes {
        let mut done = Vec::new();
        for sls in patterns.iter().flat_map(|pattern| compilation.tree.matching(&saltenv, pattern)) {
            if done.contains(&sls) {
                continue;
            }
            let Ok(Some(found)) = compilation.tree.find(&saltenv, &sls) else { continue };
            let Some((file, _)) = render(compilation, &saltenv, found) else { return TopFiles::new() };
            files.entry(saltenv.clone()).or_default().push(file);
            done.push(sls);
        }
    }
    files
}

/// The environments in order: those of `env_order`, or `base` and then those of the configuration.
fn environments(inputs: &CompileInputs<'_>) -> Vec<String> {
    let known = inputs.sources.environments();
    let order = names(inputs.options, "env_order");
    let mut environments: Vec<String> = Vec::new();
    if order.is_empty() {
        for name in std::iter::once("base".to_owned()).chain(known) {
            if !environments.contains(&name) {
                environments.push(name);
            }
        }
    } else {
        for name in order {
            if known.iter().any(|known| known == name) && !environments.iter().any(|there| there == name) {
                environments.push(name.to_owned());
            }
        }
    }
    environments
}

pub(super) fn strategy<'a>(inputs: &CompileInputs<'a>) -> &'a str {
    text(inputs.options, "top_file_merging_strategy").unwrap_or("merge")
}

/// Renders a top file; returns it with the names that it includes.
fn render(compilation: &Compilation<'_>, saltenv: &str, found: SlsFile) -> Option<(TopFile, Vec<String>)> {
    let output = compilation.render(saltenv, "", &found, &Map::new());
    let warn = |text: String, error: &crate::render::Error| {
        let fault = compilation.fault(output.file, error, text);
        compilation.warnings.borrow_mut().push(fault);
    };
    let pairs = match output.result {
        Ok(PipeData::Data(Node { content: NodeContent::Map(pairs), .. })) => pairs,
        Ok(_) => {
            let error = crate::render::Error::refused("").at(1, 1).hint("a top file is a map of environments");
            warn(format!("The top file of {saltenv} is no map"), &error);
            return None;
        }
        Err(error) => {
            warn(format!("Unable to render top file: {}", error.text), &error);
            return None;
        }
    };
    let mut sections = Vec::with_capacity(pairs.len());
    let mut included = Vec::new();
    for (key, value) in pairs {
        match (key.as_str(), value.items()) {
            (Some("include"), Some(items)) => {
                included.extend(items.iter().map(|item| python::text(&item.clone().into_value())));
            }
            (Some("include"), None) => {}
            _ => sections.push((key, value)),
        }
    }
    Some((TopFile { number: output.file, sections }, included))
}
