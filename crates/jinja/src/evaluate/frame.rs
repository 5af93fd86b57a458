//! [`ScopeFrame`]: the variables of one scope, and the scope around it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::symbol::Symbol;
use crate::value::{Value, bury};

/// A frame with this many variables gets an index; with fewer, a linear search is faster.
const MANY: usize = 12;

pub struct ScopeFrame {
    variables: RefCell<FrameVariables>,
    parent: Option<Rc<ScopeFrame>>,
}

#[derive(Default)]
struct FrameVariables {
    list: Vec<Variable>,
    index: Option<HashMap<Symbol, usize, BuildHasherDefault<SymbolHasher>>>,
}

struct Variable {
    symbol: Symbol,
    value: Value,
    /// Whether the variable is part of the module when the template is imported.
    exported: bool,
}

impl ScopeFrame {
    pub fn new(parent: Option<Rc<ScopeFrame>>) -> Rc<ScopeFrame> {
        Rc::new(ScopeFrame { variables: RefCell::default(), parent })
    }

    /// Finds a variable in this frame or an enclosing one.
    pub fn get(&self, symbol: Symbol) -> Option<Value> {
        let mut frame = self;
        loop {
            if let Some(value) = frame.get_own(symbol) {
                return Some(value);
            }
            frame = frame.parent.as_deref()?;
        }
    }

    pub fn get_own(&self, symbol: Symbol) -> Option<Value> {
        let variables = self.variables.borrow();
        variables.position(symbol).map(|position| variables.list[position].value.clone())
    }

    pub fn set(&self, symbol: Symbol, value: Value) {
        self.put(symbol, value, true);
    }

    /// Sets a variable that isn't part of the module.
    pub fn set_private(&self, symbol: Symbol, value: Value) {
        self.put(symbol, value, false);
    }

    fn put(&self, symbol: Symbol, value: Value, exported: bool) {
        let mut variables = self.variables.borrow_mut();
        let old = match variables.position(symbol) {
            Some(position) => {
                let variable = &mut variables.list[position];
                variable.exported = exported;
                std::mem::replace(&mut variable.value, value)
            }
            None => {
                let position = variables.list.len();
                variables.list.push(Variable { symbol, value, exported });
                if let Some(index) = &mut variables.index {
                    index.insert(symbol, position);
                } else if position >= MANY {
                    variables.index =
                        Some(variables.list.iter().enumerate().map(|(at, variable)| (variable.symbol, at)).collect());
                }
                return;
            }
        };
        // Dropping a value may run long and reenter this frame, so the borrow ends first.
        drop(variables);
        drop(old);
    }

    /// Removes all variables, which breaks the cycle between a macro and the frame that holds it.
    pub fn clear(&self) {
        let variables = std::mem::take(&mut *self.variables.borrow_mut());
        bury(variables.list.into_iter().map(|variable| variable.value).collect());
    }

    /// The variables of this frame, without the enclosing ones.
    pub fn own(&self) -> Vec<(Symbol, Value, bool)> {
        let variables = self.variables.borrow();
        variables.list.iter().map(|variable| (variable.symbol, variable.value.clone(), variable.exported)).collect()
    }

    pub fn parent(&self) -> Option<&Rc<ScopeFrame>> {
        self.parent.as_ref()
    }
}

impl Drop for ScopeFrame {
    fn drop(&mut self) {
        self.clear();
    }
}

impl FrameVariables {
    fn position(&self, symbol: Symbol) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(&symbol).copied(),
            None => self.list.iter().position(|variable| variable.symbol == symbol),
        }
    }
}

/// Hashes symbols. They are small numbers, which only need to be spread.
#[derive(Default)]
pub struct SymbolHasher(u64);

impl Hasher for SymbolHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
