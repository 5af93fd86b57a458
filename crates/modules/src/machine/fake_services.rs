//! [`FakeServices`]: files, pillar and a renderer in memory, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use rocksalt_core::{Map, Value};

use super::{EntryKind, FileTree, StateRequest, StateRunner, TargetPillar, Template, TemplateRenderer, TreeEntry};
use crate::catalog::FunctionOutcome;
use crate::text::digest;
use crate::{Error, Result};

type FakeRunner = Box<dyn Fn(StateRequest) -> Result<FunctionOutcome> + Send + Sync>;
type FakeRenderer = Box<dyn Fn(&Template<'_>) -> Result<String> + Send + Sync>;

#[derive(Default)]
pub struct FakeServices {
    pillar: Arc<Map>,
    files: BTreeMap<(String, String), Arc<[u8]>>,
    /// Entries of environment `base` that are not plain files of mode 0644.
    kinds: BTreeMap<String, EntryKind>,
    renderer: Option<FakeRenderer>,
    state_runner: Option<FakeRunner>,
}

impl FakeServices {
    /// Sets the function that serves runs of states.
    #[must_use]
    pub fn with_state_runner(
        mut self,
        run: impl Fn(StateRequest) -> Result<FunctionOutcome> + Send + Sync + 'static,
    ) -> FakeServices {
        self.state_runner = Some(Box::new(run));
        self
    }

    #[must_use]
    pub fn with_pillar(mut self, pillar: Map) -> FakeServices {
        self.pillar = Arc::new(pillar);
        self
    }

    /// Adds a file to environment `base`.
    #[must_use]
    pub fn with_file(mut self, path: &str, content: impl AsRef<[u8]>) -> FakeServices {
        self.files.insert(("base".into(), path.into()), content.as_ref().into());
        self
    }

    #[must_use]
    pub fn with_mode(mut self, path: &str, mode: u32) -> FakeServices {
        let size = self.files.get(&("base".into(), path.into())).map_or(0, |content| content.len() as u64);
        self.kinds.insert(path.into(), EntryKind::File { size, mode });
        self
    }

    /// Adds a link, with the content of the file to which it points, which must be added before.
    #[must_use]
    pub fn with_link(mut self, path: &str, target: &str) -> FakeServices {
        let beside = path.rsplit_once('/').map_or(target.to_owned(), |(above, _)| format!("{above}/{target}"));
        if let Some(content) = self.files.get(&("base".into(), beside)).cloned() {
            self.files.insert(("base".into(), path.into()), content);
        }
        self.kinds.insert(path.into(), EntryKind::Link { target: target.into() });
        self
    }

    /// Adds an empty directory.
    #[must_use]
    pub fn with_directory(mut self, path: &str) -> FakeServices {
        self.kinds.insert(path.into(), EntryKind::Directory);
        self
    }

    #[must_use]
    pub fn with_renderer(
        mut self,
        renderer: impl Fn(&Template<'_>) -> Result<String> + Send + Sync + 'static,
    ) -> FakeServices {
        self.renderer = Some(Box::new(renderer));
        self
    }
}

impl TargetPillar for FakeServices {
    fn pillar(&self) -> Result<Arc<Map>> {
        Ok(Arc::clone(&self.pillar))
    }

    fn refresh(&self) {}
}

impl FileTree for FakeServices {
    fn environments(&self) -> Result<Vec<String>> {
        let mut names: Vec<String> = self.files.keys().map(|(saltenv, _)| saltenv.clone()).collect();
        names.dedup();
        Ok(names)
    }

    fn entries(&self, saltenv: &str) -> Result<Arc<Vec<TreeEntry>>> {
        let mut found = BTreeMap::new();
        for ((_, path), content) in self.files.iter().filter(|((of, _), _)| of == saltenv) {
            for (end, _) in path.match_indices('/') {
                found.insert(path[..end].to_owned(), EntryKind::Directory);
            }
            found.insert(path.clone(), EntryKind::File { size: content.len() as u64, mode: 0o644 });
        }
        if saltenv == "base" {
            found.extend(self.kinds.iter().map(|(path, kind)| (path.clone(), kind.clone())));
        }
        Ok(Arc::new(found.into_iter().map(|(path, kind)| TreeEntry { path, kind }).collect()))
    }

    fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>> {
        Ok(self.files.get(&(saltenv.to_owned(), path.to_owned())).cloned())
    }

    fn hash(&self, saltenv: &str, path: &str) -> Result<Option<String>> {
        Ok(self.read(saltenv, path)?.map(|content| digest::of(digest::DigestAlgorithm::Sha256, &content)))
    }
}

impl TemplateRenderer for FakeServices {
    fn render(&self, template: &Template<'_>) -> Result<String> {
        match &self.renderer {
            Some(render) => render(template),
            None => Err(Error::failed("this tree renders nothing")),
        }
    }

    fn render_data(&self, template: &Template<'_>) -> Result<Value> {
        self.render(template).map(Value::String)
    }
}

impl StateRunner for FakeServices {
    fn run(&self, request: StateRequest) -> Result<FunctionOutcome> {
        match &self.state_runner {
            Some(run) => run(request),
            None => Err(Error::failed("this tree has no states")),
        }
    }
}
