//! [`Declaration`]: the states that one id declares, with the position of each argument.

use std::sync::Arc;

use rocksalt_core::yaml::{Node, NodeContent};
use rocksalt_core::{Map, Value};

use crate::files::Spot;

/// The body below an id.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub sls: Arc<str>,
    pub saltenv: Arc<str>,
    /// The sls that included this one, the nearest first.
    pub included_from: Vec<Arc<str>>,
    pub spot: Spot,
    /// A list, since there are few: a map would be slower.
    pub modules: Vec<ModuleDeclaration>,
    /// Whether its states have order numbers.
    pub numbered: bool,
}

/// The entry `file:` or `file.managed:` below an id.
#[derive(Clone, Debug)]
pub(crate) struct ModuleDeclaration {
    pub name: String,
    pub spot: Spot,
    pub body: ModuleBody,
}

#[derive(Clone, Debug)]
pub(crate) enum ModuleBody {
    List(Vec<ModuleItem>),
    /// A malformed body, which is reported after all files are read.
    Other(Value),
}

#[derive(Clone, Debug)]
pub(crate) enum ModuleItem {
    Function(String, Spot),
    /// Usually one argument; a list entry may hold several.
    Arguments(Vec<DeclaredArgument>),
    Other(Value),
}

#[derive(Clone, Debug)]
pub(crate) struct DeclaredArgument {
    pub key: Value,
    pub value: Value,
    pub spot: Spot,
    /// The positions of the list's entries, for requisites.
    pub entries: Vec<Spot>,
}

impl Declaration {
    pub fn module(&self, name: &str) -> Option<&ModuleDeclaration> {
        self.modules.iter().find(|module| module.name == name)
    }

    pub fn module_mut(&mut self, name: &str) -> Option<&mut ModuleDeclaration> {
        self.modules.iter_mut().find(|module| module.name == name)
    }

    /// The modules that declare states; `__sls__` and the like are metadata.
    pub fn states(&self) -> impl Iterator<Item = &ModuleDeclaration> {
        self.modules.iter().filter(|module| !module.name.starts_with("__"))
    }

    /// Sets a module; one of the same name is replaced in its place.
    pub fn set(&mut self, module: ModuleDeclaration) {
        match self.modules.iter_mut().find(|other| other.name == module.name) {
            Some(other) => *other = module,
            None => self.modules.push(module),
        }
    }

    pub fn to_value(&self) -> Value {
        let mut map: Map =
            self.modules.iter().map(|module| (module.name.as_str().into(), module.body.to_value())).collect();
        map.insert("__sls__", &*self.sls);
        map.insert("__env__", &*self.saltenv);
        if !self.included_from.is_empty() {
            let included: Vec<Value> = self.included_from.iter().map(|sls| (&**sls).into()).collect();
            map.insert("__sls_included_from__", included);
        }
        map.into()
    }
}

impl ModuleBody {
    pub fn read(node: Node, file: u32) -> ModuleBody {
        match node.content {
            NodeContent::List(nodes) => {
                // Leaves room for the function and the order, which are added later.
                let mut items = Vec::with_capacity(nodes.len() + 2);
                items.extend(nodes.into_iter().map(|node| ModuleItem::read(node, file)));
                ModuleBody::List(items)
            }
            content => ModuleBody::Other(Node { place: node.place, content }.into_value()),
        }
    }

    /// The entries; empty if the body is malformed.
    pub fn items(&self) -> &[ModuleItem] {
        match self {
            ModuleBody::List(items) => items,
            ModuleBody::Other(_) => &[],
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            ModuleBody::List(items) => Value::List(items.iter().map(ModuleItem::to_value).collect()),
            ModuleBody::Other(value) => value.clone(),
        }
    }
}

impl ModuleItem {
    fn read(node: Node, file: u32) -> ModuleItem {
        match node.content {
            NodeContent::Scalar(Value::String(text)) => {
                ModuleItem::Function(text, Spot::new(file, node.place.line, node.place.column))
            }
            NodeContent::Map(pairs) => ModuleItem::Arguments(
                pairs.into_iter().map(|(key, value)| DeclaredArgument::read(key, value, file)).collect(),
            ),
            content => ModuleItem::Other(Node { place: node.place, content }.into_value()),
        }
    }

    /// An argument that the compiler adds.
    pub fn argument(key: &str, value: impl Into<Value>, spot: Spot) -> ModuleItem {
        ModuleItem::Arguments(vec![DeclaredArgument {
            key: key.into(),
            value: value.into(),
            spot,
            entries: Vec::new(),
        }])
    }

    /// The first argument of the entry, the only one that Salt looks at.
    pub fn first(&self) -> Option<&DeclaredArgument> {
        match self {
            ModuleItem::Arguments(arguments) => arguments.first(),
            _ => None,
        }
    }

    /// The argument of an entry that has exactly one.
    pub fn single(&self) -> Option<&DeclaredArgument> {
        match self {
            ModuleItem::Arguments(arguments) if arguments.len() == 1 => arguments.first(),
            _ => None,
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            ModuleItem::Function(name, _) => name.as_str().into(),
            ModuleItem::Arguments(arguments) => {
                let pairs = arguments.iter().map(|argument| (argument.key.clone(), argument.value.clone()));
                Value::Map(pairs.collect())
            }
            ModuleItem::Other(value) => value.clone(),
        }
    }
}

impl DeclaredArgument {
    fn read(key: Node, value: Node, file: u32) -> DeclaredArgument {
        let spot = Spot::new(file, key.place.line, key.place.column);
        let entries = match &value.content {
            NodeContent::List(items) if key.as_str().is_some_and(refers) => {
                items.iter().map(|item| Spot::new(file, item.place.line, item.place.column)).collect()
            }
            _ => Vec::new(),
        };
        DeclaredArgument { key: key.into_value(), value: value.into_value(), spot, entries }
    }

    pub fn is(&self, key: &str) -> bool {
        self.key.as_str() == Some(key)
    }

    /// The position of an entry in the argument's list, or else of the argument.
    pub fn entry(&self, index: usize) -> Spot {
        self.entries.get(index).copied().unwrap_or(self.spot)
    }
}

/// Whether an argument references other states.
fn refers(key: &str) -> bool {
    crate::low::requisite::is_keyword(key) || key.ends_with("_in") || key == "use"
}
