//! The functions of `file_roots` and `pillar_roots`: reads trees of files.

use std::marker::PhantomData;

use rocksalt_backends::files::{FileBackend, TreePath};
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionFailure};

/// The largest file that is returned.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// A tree, and the names of its functions.
pub trait RootsTree: Send + 'static {
    const FIND: &'static str;
    const LIST_ENV: &'static str;
    const LIST_ROOTS: &'static str;
    const READ: &'static str;
    const WRITE: &'static str;
    /// What is stored of a read, whose result may be secret.
    const READ_RECORD: CallRecord;

    fn files(context: &FunctionContext) -> &dyn FileBackend;
}

/// Finds a file: its environment and path.
#[derive(Deserialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "", rename = "Find")]
pub struct Find<T: RootsTree> {
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "base")]
    saltenv: String,
    #[serde(skip)]
    tree: PhantomData<fn() -> T>,
}

impl<T: RootsTree> ControllerFunction for Find<T> {
    const NAME: &'static str = T::FIND;
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let name = TreePath::parse(&self.path).map_err(failed)?;
        let names = T::files(&context).list(&self.saltenv).await.map_err(failed)?;
        let found = names.iter().filter(|known| **known == name.as_str());
        Ok(Value::List(
            found.map(|known| Map::from_iter([(known.as_str().into(), "txt".into())]).into()).collect::<Vec<Value>>(),
        ))
    }
}

/// All files of an environment as nested maps.
#[derive(Deserialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "", rename = "ListEnv")]
pub struct ListEnv<T: RootsTree> {
    /// The environment.
    #[serde(default = "base")]
    saltenv: String,
    #[serde(skip)]
    tree: PhantomData<fn() -> T>,
}

impl<T: RootsTree> ControllerFunction for ListEnv<T> {
    const NAME: &'static str = T::LIST_ENV;
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        nested(T::files(&context), &self.saltenv).await
    }
}

/// All files of all environments as nested maps.
#[derive(Deserialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "", rename = "ListRoots")]
pub struct ListRoots<T: RootsTree> {
    #[serde(skip)]
    tree: PhantomData<fn() -> T>,
}

impl<T: RootsTree> ControllerFunction for ListRoots<T> {
    const NAME: &'static str = T::LIST_ROOTS;
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let files = T::files(&context);
        let mut all = Map::new();
        for environment in files.environments() {
            let tree = nested(files, &environment).await?;
            all.insert(environment, vec![tree]);
        }
        Ok(all.into())
    }
}

/// The content of a file.
#[derive(Deserialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "", rename = "Read")]
pub struct Read<T: RootsTree> {
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "base")]
    saltenv: String,
    #[serde(skip)]
    tree: PhantomData<fn() -> T>,
}

impl<T: RootsTree> ControllerFunction for Read<T> {
    const NAME: &'static str = T::READ;
    const RECORD: CallRecord = T::READ_RECORD;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let path = self.path;
        let name = TreePath::parse(&path).map_err(failed)?;
        let content = T::files(&context).read(&self.saltenv, &name, MAX_FILE_SIZE).await.map_err(failed)?;
        let text = String::from_utf8(content).map_err(|_| FunctionFailure::failed(format!("{path} is not UTF-8")))?;
        Ok(Value::List(vec![Map::from_iter([(path.into(), text.into())]).into()]))
    }
}

/// Writes a file. Always fails: the tree is read-only here.
#[derive(Deserialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "", rename = "Write")]
#[allow(dead_code, reason = "not supported")]
pub struct Write<T: RootsTree> {
    /// What to write.
    data: Value,
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "base")]
    saltenv: String,
    /// The index of the directory.
    #[serde(default)]
    index: Value,
    #[serde(skip)]
    tree: PhantomData<fn() -> T>,
}

impl<T: RootsTree> ControllerFunction for Write<T> {
    const NAME: &'static str = T::WRITE;

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Err(FunctionFailure::failed("the tree is read-only here: change it at its source, such as version control"))
    }
}

fn base() -> String {
    "base".into()
}

fn failed(error: rocksalt_backends::files::Error) -> FunctionFailure {
    FunctionFailure::failed(error.to_string())
}

/// The files of an environment: directories are maps, files are `f`.
async fn nested(files: &dyn FileBackend, environment: &str) -> Result<Value, FunctionFailure> {
    let names = files.list(environment).await.map_err(failed)?;
    let mut tree = Map::new();
    for name in names {
        let mut directory = &mut tree;
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                directory.insert(part, "f");
                break;
            }
            let below = directory.entry(part);
            if below.as_map().is_none() {
                *below = Map::new().into();
            }
            let Value::Map(map) = below else { break };
            directory = map;
        }
    }
    Ok(tree.into())
}
