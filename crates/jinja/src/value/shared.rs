//! [`SharedCell`]: a shared, mutable container that can be dropped safely at any depth of nesting.

use std::cell::{Cell, RefCell};
use std::ops::Deref;

use super::{Dict, PythonSet, Value};

/// A container, borrowed like a [`RefCell`]. Never hold a borrow while calling into a template.
pub struct SharedCell<T: CellContents>(RefCell<T>);

/// Takes the children out of a container that is dropped.
pub trait CellContents: Default {
    fn values(self) -> Vec<Value>;
}

impl<T: CellContents> SharedCell<T> {
    pub fn new(contents: T) -> SharedCell<T> {
        SharedCell(RefCell::new(contents))
    }
}

impl<T: CellContents> Deref for SharedCell<T> {
    type Target = RefCell<T>;

    fn deref(&self) -> &RefCell<T> {
        &self.0
    }
}

impl<T: CellContents> Drop for SharedCell<T> {
    fn drop(&mut self) {
        bury(std::mem::take(self.0.get_mut()).values());
    }
}

impl CellContents for Vec<Value> {
    fn values(self) -> Vec<Value> {
        self
    }
}

impl CellContents for Dict {
    fn values(self) -> Vec<Value> {
        self.into_values()
    }
}

impl CellContents for PythonSet {
    fn values(self) -> Vec<Value> {
        self.into_values()
    }
}

thread_local! {
    static GRAVES: RefCell<Vec<Vec<Value>>> = const { RefCell::new(Vec::new()) };
    static DIGGING: Cell<bool> = const { Cell::new(false) };
}

/// Drops values one after the other, so that deeply nested containers don't overflow the stack.
pub(crate) fn bury(values: Vec<Value>) {
    let leaf = |value: &Value| {
        !matches!(
            value,
            Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::Set(_) | Value::Object(_) | Value::Undefined(_)
        )
    };
    if values.iter().all(leaf) {
        return;
    }
    // When a thread ends, its thread-locals are gone; then the values are dropped recursively.
    let Ok(true) = GRAVES.try_with(|graves| graves.try_borrow_mut().map(|mut graves| graves.push(values)).is_ok())
    else {
        return;
    };
    if DIGGING.try_with(|digging| digging.replace(true)) != Ok(false) {
        return;
    }
    while let Ok(Some(batch)) = GRAVES.try_with(|graves| graves.borrow_mut().pop()) {
        drop(batch);
    }
    let _ = DIGGING.try_with(|digging| digging.set(false));
}
