//! Renders the top files of all environments, and those they include.

use indexmap::IndexMap;
use rocksalt_core::Map;
use rocksalt_core::yaml::{Content, Node};

use crate::python;
use crate::render::Stage;
use crate::session::Session;
use crate::setting::{Setting, names, text};
use crate::tree::Found;

/// A rendered top file.
pub(super) struct File {
    pub number: u32,
    /// Environments and what is below them; `include` is taken out.
    pub sections: Vec<(Node, Node)>,
}

pub(super) type Files = IndexMap<String, Vec<File>>;

/// The top files by environment. One that doesn't render leaves all of them empty, as in Salt, with a warning.
pub(super) fn gather(session: &Session<'_>) -> Files {
    let options = session.setting.options;
    let wanted = match session.setting.saltenv {
        Some(saltenv) => vec![saltenv.to_owned()],
        None if strategy(&session.setting) == "same" && text(options, "default_top").is_none() => return Files::new(),
        None => match text(options, "state_top_saltenv") {
            Some(saltenv) => vec![saltenv.to_owned()],
            None => environments(&session.setting),
        },
    };
    let name = text(options, "state_top").unwrap_or("top.sls");
    let path = name.strip_prefix("salt://").unwrap_or(name).trim_start_matches('/');
    let mut files = Files::new();
    let mut includes: Vec<(String, Vec<String>)> = Vec::new();
    for saltenv in wanted {
        let entry = files.entry(saltenv.clone()).or_default();
        let Ok(Some(contents)) = session.tree.read(&saltenv, path) else { continue };
        let Some((file, included)) = render(session, &saltenv, Found { path: path.to_owned(), contents }) else {
            return Files::new();
        };
        entry.push(file);
        includes.push((saltenv, included));
    }
    for (saltenv, patterns) in includes {
        let mut done = Vec::new();
        for sls in patterns.iter().flat_map(|pattern| session.tree.matching(&saltenv, pattern)) {
            if done.contains(&sls) {
                continue;
            }
            let Ok(Some(found)) = session.tree.find(&saltenv, &sls) else { continue };
            let Some((file, _)) = render(session, &saltenv, found) else { return Files::new() };
            files.entry(saltenv.clone()).or_default().push(file);
            done.push(sls);
        }
    }
    files
}

/// The environments in their order: `env_order`, or `base` and then as configured.
fn environments(setting: &Setting<'_>) -> Vec<String> {
    let known = setting.sources.environments();
    let order = names(setting.options, "env_order");
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

pub(super) fn strategy<'a>(setting: &Setting<'a>) -> &'a str {
    text(setting.options, "top_file_merging_strategy").unwrap_or("merge")
}

/// A top file and what it includes.
fn render(session: &Session<'_>, saltenv: &str, found: Found) -> Option<(File, Vec<String>)> {
    let output = session.render(saltenv, "", &found, &Map::new());
    let warn = |text: String, error: &crate::render::Error| {
        let fault = session.fault(output.file, error, text);
        session.warnings.borrow_mut().push(fault);
    };
    let pairs = match output.result {
        Ok(Stage::Data(Node { content: Content::Map(pairs), .. })) => pairs,
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
    Some((File { number: output.file, sections }, included))
}
