//! [`Generator`]: the result of Jinja's lazy filters, which can be iterated once.

use std::cell::RefCell;

use super::{PythonObject, Value, shared::bury};

pub struct Generator {
    function: &'static str,
    items: RefCell<std::vec::IntoIter<Value>>,
}

impl Generator {
    pub fn new(function: &'static str, items: Vec<Value>) -> Generator {
        Generator { function, items: RefCell::new(items.into_iter()) }
    }

    pub fn take_next(&self) -> Option<Value> {
        self.items.borrow_mut().next()
    }
}

impl PythonObject for Generator {
    fn type_name(&self) -> &str {
        if self.function.starts_with("list_") || self.function == "reversed" { self.function } else { "generator" }
    }

    fn iterate(&self) -> Option<Vec<Value>> {
        Some(std::mem::take(&mut *self.items.borrow_mut()).collect())
    }

    fn repr(&self) -> String {
        match self.type_name() {
            "generator" => format!("<generator object {} at {:p}>", self.function, self),
            other => format!("<{other} object at {self:p}>"),
        }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        bury(std::mem::take(self.items.get_mut()).collect());
    }
}
