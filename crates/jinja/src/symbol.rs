//! [`Symbol`]: a variable's name as a number, for fast lookups.

use std::collections::HashMap;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol(u32);

impl Symbol {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names known to an environment's templates and contexts.
#[derive(Default)]
pub struct Symbols {
    numbers: HashMap<Rc<str>, Symbol>,
    names: Vec<Rc<str>>,
}

impl Symbols {
    pub fn intern(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.numbers.get(name) {
            return *symbol;
        }
        let name: Rc<str> = name.into();
        let symbol = Symbol(self.names.len() as u32);
        self.names.push(Rc::clone(&name));
        self.numbers.insert(name, symbol);
        symbol
    }

    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.numbers.get(name).copied()
    }

    pub fn name(&self, symbol: Symbol) -> Rc<str> {
        Rc::clone(&self.names[symbol.index()])
    }
}
