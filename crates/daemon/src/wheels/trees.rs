//! Reads trees of files.

use rocksalt_backends::files::{FileBackend, TreePath};
use rocksalt_core::{Map, Value};

use crate::functions::FunctionFailure;

/// The largest file that is returned.
const MAX_FILE_SIZE: u64 = 1 << 20;

pub fn base() -> String {
    "base".into()
}

pub fn read_only() -> FunctionFailure {
    FunctionFailure::failed("the tree is read-only here: change it at its source, such as version control")
}

/// Lists a tree: directories are maps, files are `f`.
pub async fn list(files: &dyn FileBackend, environment: &str) -> Result<Value, FunctionFailure> {
    let names = files.list(environment).await.map_err(|error| FunctionFailure::failed(error.to_string()))?;
    let mut tree = Map::new();
    for name in names {
        let mut place = &mut tree;
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                place.insert(part, "f");
                break;
            }
            let below = place.entry(part);
            if below.as_map().is_none() {
                *below = Map::new().into();
            }
            let Value::Map(map) = below else { break };
            place = map;
        }
    }
    Ok(tree.into())
}

pub async fn find(files: &dyn FileBackend, environment: &str, path: &str) -> Result<Value, FunctionFailure> {
    let name = TreePath::parse(path).map_err(|error| FunctionFailure::failed(error.to_string()))?;
    let names = files.list(environment).await.map_err(|error| FunctionFailure::failed(error.to_string()))?;
    let found = names.iter().filter(|known| **known == name.as_str());
    Ok(Value::List(
        found.map(|known| Map::from_iter([(known.as_str().into(), "txt".into())]).into()).collect::<Vec<Value>>(),
    ))
}

pub async fn read(files: &dyn FileBackend, environment: &str, path: &str) -> Result<Value, FunctionFailure> {
    let name = TreePath::parse(path).map_err(|error| FunctionFailure::failed(error.to_string()))?;
    let content = files
        .read(environment, &name, MAX_FILE_SIZE)
        .await
        .map_err(|error| FunctionFailure::failed(error.to_string()))?;
    let text = String::from_utf8(content).map_err(|_| FunctionFailure::failed(format!("{path} is not UTF-8")))?;
    Ok(Value::List(vec![Map::from_iter([(path.into(), text.into())]).into()]))
}
