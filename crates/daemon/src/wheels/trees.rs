//! What can be seen of a tree of files.

use rocksalt_backends::files::{FileBackend, TreePath};
use rocksalt_core::{Map, Value};

use crate::functions::Failure;

/// The largest file that is shown.
const LARGEST: u64 = 1 << 20;

pub fn base() -> String {
    "base".into()
}

pub fn read_only() -> Failure {
    Failure::said("nothing is written here by request: change the tree where it is kept, in version control say")
}

/// Directories are maps, files are `f`.
pub async fn list(files: &dyn FileBackend, environment: &str) -> Result<Value, Failure> {
    let names = files.list(environment).await.map_err(|error| Failure::said(error.to_string()))?;
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

pub async fn find(files: &dyn FileBackend, environment: &str, path: &str) -> Result<Value, Failure> {
    let name = TreePath::parse(path).map_err(|error| Failure::said(error.to_string()))?;
    let names = files.list(environment).await.map_err(|error| Failure::said(error.to_string()))?;
    let found = names.iter().filter(|known| **known == name.as_str());
    Ok(Value::List(
        found.map(|known| Map::from_iter([(known.as_str().into(), "txt".into())]).into()).collect::<Vec<Value>>(),
    ))
}

pub async fn read(files: &dyn FileBackend, environment: &str, path: &str) -> Result<Value, Failure> {
    let name = TreePath::parse(path).map_err(|error| Failure::said(error.to_string()))?;
    let content = files.read(environment, &name, LARGEST).await.map_err(|error| Failure::said(error.to_string()))?;
    let text = String::from_utf8(content).map_err(|_| Failure::said(format!("{path} is no text")))?;
    Ok(Value::List(vec![Map::from_iter([(path.into(), text.into())]).into()]))
}
