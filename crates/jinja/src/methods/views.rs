//! Views of a dict: `dict.keys()`, `.values()` and `.items()`.

use std::rc::Rc;

use crate::error::Result;
use crate::value::{Dict, PythonObject, SharedCell, Value};

pub struct View {
    pub dict: Rc<SharedCell<Dict>>,
    pub kind: ViewKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ViewKind {
    Keys,
    Values,
    Items,
}

impl View {
    /// Whether the view supports set operations: keys and items do.
    pub fn is_set(&self) -> bool {
        self.kind != ViewKind::Values
    }

    pub fn items(&self) -> Vec<Value> {
        let dict = self.dict.borrow();
        match self.kind {
            ViewKind::Keys => dict.keys().cloned().collect(),
            ViewKind::Values => dict.values().cloned().collect(),
            ViewKind::Items => dict.iter().map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()])).collect(),
        }
    }
}

impl PythonObject for View {
    fn type_name(&self) -> &str {
        match self.kind {
            ViewKind::Keys => "dict_keys",
            ViewKind::Values => "dict_values",
            ViewKind::Items => "dict_items",
        }
    }

    fn len(&self) -> Option<usize> {
        Some(self.dict.borrow().len())
    }

    fn contains(&self, value: &Value) -> Option<Result<bool>> {
        match self.kind {
            ViewKind::Keys => Some(self.dict.borrow().contains(value)),
            _ => None,
        }
    }

    fn iterate(&self) -> Option<Vec<Value>> {
        Some(self.items())
    }

    fn equals(&self, other: &Value) -> Option<bool> {
        let other = other.downcast::<View>()?;
        if self.kind == ViewKind::Values || other.kind != self.kind {
            return Some(Rc::ptr_eq(&self.dict, &other.dict) && self.kind == other.kind);
        }
        let theirs = other.items();
        let mine = self.items();
        let within = |item: &Value| theirs.iter().any(|other| other.equals(item).unwrap_or(false));
        Some(mine.len() == theirs.len() && mine.iter().all(within))
    }

    fn repr(&self) -> String {
        let items = Value::list(self.items()).repr().unwrap_or_default();
        format!("{}({items})", self.type_name())
    }
}
