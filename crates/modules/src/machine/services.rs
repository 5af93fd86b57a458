//! [`Services`]: what the controller provides to a call, one trait for each kind of service.

use std::sync::Arc;

use rocksalt_core::{Map, Problem, Value, call::ProblemKind};

use super::{StateRequest, Template, TreeEntry};
use crate::Result;
use crate::catalog::FunctionOutcome;

/// The controller's file tree, as one run sees it.
///
/// A file is fetched only once in a run; `path` never starts with `salt://` or a slash.
pub trait FileTree: Send + Sync {
    /// The names of the environments: `base`, `dev` …
    fn environments(&self) -> Result<Vec<String>>;

    /// Every entry of an environment, sorted by path.
    fn entries(&self, saltenv: &str) -> Result<Arc<Vec<TreeEntry>>>;

    /// A file's content; `None` if there is no such file.
    fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>>;

    /// A file's sha256 in hex; `None` if there is no such file.
    fn hash(&self, saltenv: &str, path: &str) -> Result<Option<String>>;
}

/// This target's pillar, compiled by the controller.
pub trait TargetPillar: Send + Sync {
    /// The pillar. If parts of it failed to render, `_errors` lists why, as in Salt.
    fn pillar(&self) -> Result<Arc<Map>>;

    /// Forgets the pillar, so that the next read compiles it again.
    fn refresh(&self);
}

/// Renders templates. As in Salt, their functions run on this machine.
pub trait TemplateRenderer: Send + Sync {
    /// Renders a template to text.
    fn render(&self, template: &Template<'_>) -> Result<String>;

    /// Renders with a pipe of renderers that ends with data: `jinja|yaml`.
    fn render_data(&self, template: &Template<'_>) -> Result<Value>;
}

/// Compiles and runs states.
pub trait StateRunner: Send + Sync {
    /// Serves all of Salt's `state.*` functions.
    fn run(&self, request: StateRequest) -> Result<FunctionOutcome>;
}

/// The services that a [`HostSystem`](super::HostSystem) gets when a call begins.
pub struct Services {
    pub files: Arc<dyn FileTree>,
    pub pillar: Arc<dyn TargetPillar>,
    pub templates: Arc<dyn TemplateRenderer>,
    pub states: Arc<dyn StateRunner>,
}

impl Services {
    /// Services from one object that provides all of them.
    pub fn all_from<S>(provider: Arc<S>) -> Services
    where
        S: FileTree + TargetPillar + TemplateRenderer + StateRunner + 'static,
    {
        Services {
            files: Arc::clone(&provider) as Arc<dyn FileTree>,
            pillar: Arc::clone(&provider) as Arc<dyn TargetPillar>,
            templates: Arc::clone(&provider) as Arc<dyn TemplateRenderer>,
            states: provider,
        }
    }

    /// For a machine without a controller: the pillar is empty, everything else fails.
    pub fn none() -> Services {
        Services::all_from(Arc::new(NoServices))
    }
}

struct NoServices;

fn absent() -> crate::Error {
    Problem::new(ProblemKind::Failed, "there is no controller that keeps files and pillar").into()
}

impl FileTree for NoServices {
    fn environments(&self) -> Result<Vec<String>> {
        Err(absent())
    }

    fn entries(&self, _: &str) -> Result<Arc<Vec<TreeEntry>>> {
        Err(absent())
    }

    fn read(&self, _: &str, _: &str) -> Result<Option<Arc<[u8]>>> {
        Err(absent())
    }

    fn hash(&self, _: &str, _: &str) -> Result<Option<String>> {
        Err(absent())
    }
}

impl TargetPillar for NoServices {
    fn pillar(&self) -> Result<Arc<Map>> {
        Ok(Arc::default())
    }

    fn refresh(&self) {}
}

impl TemplateRenderer for NoServices {
    fn render(&self, _: &Template<'_>) -> Result<String> {
        Err(absent())
    }

    fn render_data(&self, _: &Template<'_>) -> Result<Value> {
        Err(absent())
    }
}

impl StateRunner for NoServices {
    fn run(&self, _: StateRequest) -> Result<FunctionOutcome> {
        Err(absent())
    }
}
