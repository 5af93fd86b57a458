//! [`TreeLoader`]: loads imported templates from the file tree.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rocksalt_jinja::{LoadedTemplate, TemplateLoader, Value};

use crate::tree::SlsTree;

/// Names are paths from the top of the tree; those that begin with `./` or `../` are relative.
///
/// As in Salt, they are relative to the folder of the template that was last looked up from the top. That is the
/// importing file only until it imports another one from the top.
pub(super) struct TreeLoader {
    tree: Rc<SlsTree>,
    saltenv: String,
    /// The files read so far, by path: each is read once in a compilation.
    sources: RefCell<HashMap<String, Option<Rc<str>>>>,
    here: RefCell<LoaderPosition>,
}

/// The loader's state during the render of one file.
#[derive(Default)]
struct LoaderPosition {
    folder: String,
    /// The variables for imports without context; empty if the rendered file has none.
    variables: Vec<(&'static str, Value)>,
    /// The paths that names were resolved to in this render.
    known: HashMap<String, String>,
}

impl TreeLoader {
    pub fn new(tree: Rc<SlsTree>, saltenv: &str) -> TreeLoader {
        TreeLoader { tree, saltenv: saltenv.to_owned(), sources: RefCell::default(), here: RefCell::default() }
    }

    /// Resets the state for a new file.
    pub fn start(&self, path: &str, variables: &[(&'static str, Value)]) {
        let named = |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).cloned();
        let folder = match named("tpldir") {
            Some((_, value)) => value.as_str().unwrap_or_default().to_owned(),
            None => folder_of(path).to_owned(),
        };
        let variables = ["tplfile", "tpldir", "tpldot"].into_iter().filter_map(named).collect();
        *self.here.borrow_mut() = LoaderPosition { folder, variables, known: HashMap::new() };
    }

    fn resolve(&self, name: &str) -> Option<String> {
        let mut here = self.here.borrow_mut();
        if let Some(path) = here.known.get(name) {
            return Some(path.clone());
        }
        let is_relative = matches!(name.split('/').next(), Some("." | ".."));
        let path = if is_relative { normal(&format!("{}/{name}", here.folder))? } else { normal(name)? };
        if !is_relative {
            here.folder = match folder_of(&path) {
                "" => ".".to_owned(),
                folder => folder.to_owned(),
            };
        }
        if !here.variables.is_empty() {
            let (folder, file) = (here.folder.clone(), if is_relative { name } else { path.as_str() });
            let dotted = if folder == "." && !is_relative { String::new() } else { folder.replace('/', ".") };
            here.variables = vec![("tplfile", file.into()), ("tpldir", folder.into()), ("tpldot", dotted.into())];
        }
        here.known.insert(name.to_owned(), path.clone());
        Some(path)
    }

    fn source(&self, path: &str) -> Result<Option<Rc<str>>, String> {
        if let Some(source) = self.sources.borrow().get(path) {
            return Ok(source.clone());
        }
        let source = match self.tree.read(&self.saltenv, path)? {
            Some(contents) => {
                let text = std::str::from_utf8(&contents)
                    .map_err(|error| format!("{path} is no text: byte {} is not UTF-8", error.valid_up_to()))?;
                Some(Rc::from(text.replace("\r\n", "\n")))
            }
            None => None,
        };
        self.sources.borrow_mut().insert(path.to_owned(), source.clone());
        Ok(source)
    }
}

impl TemplateLoader for TreeLoader {
    fn load(&self, name: &str, _: Option<&str>) -> Result<Option<LoadedTemplate>, String> {
        let name = name.strip_prefix("salt://").unwrap_or(name);
        let Some(path) = self.resolve(name) else { return Ok(None) };
        Ok(self.source(&path)?.map(|source| LoadedTemplate { name: path, source }))
    }

    fn variables(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(self.here.borrow().variables.clone())
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Removes `.` and `..` from a path; `None` if it leaves the tree.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn paths_stay_in_the_tree() {
        let cases = [
            ("./a", Some("a")),
            ("a/../b/./c", Some("b/c")),
            ("../a", None),
            ("a/../../b", None),
            ("a//b", Some("a/b")),
        ];
        for (path, expected) in cases {
            assert_eq!(normal(path).as_deref(), expected, "{path}");
        }
    }
}
