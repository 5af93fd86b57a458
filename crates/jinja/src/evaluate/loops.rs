//! `for` loops and their `loop` variable.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use super::statement::Flow;
use super::{RenderOutput, ScopeFrame};
use crate::arguments::FunctionArguments;
use crate::ast::For;
use crate::error::{Error, Result};
use crate::scope::{Root, Scope};
use crate::value::{Iter, MissingName, PythonObject, Value};

/// The `loop` variable. It takes items one by one, so that the loop sees changes made by its body.
pub struct Loop {
    definition: Rc<For>,
    /// The scope around the loop.
    frame: Rc<ScopeFrame>,
    root: Rc<Root>,
    iterable: Value,
    items: RefCell<Iter>,
    /// Items that were fetched ahead, for `loop.last` and the like.
    ahead: RefCell<VecDeque<Value>>,
    /// Counts from 0; `None` before the first item.
    index: Cell<Option<usize>>,
    depth: usize,
    previous: RefCell<Option<Value>>,
    current: RefCell<Option<Value>>,
    changed: RefCell<Option<Vec<Value>>>,
}

impl Scope<'_> {
    #[inline(never)]
    pub(crate) fn for_loop(&self, definition: &Rc<For>, output: &mut RenderOutput) -> Result<()> {
        let iterable = self.eval(&definition.iterable)?;
        self.run_loop(definition, iterable, 0, output)
    }

    fn run_loop(&self, definition: &Rc<For>, iterable: Value, depth: usize, output: &mut RenderOutput) -> Result<()> {
        let items = iterable.iterate().map_err(|error| self.explained(error, &definition.iterable))?;
        let own = Rc::new(Loop {
            definition: Rc::clone(definition),
            frame: Rc::clone(&self.frame),
            root: Rc::clone(&self.root),
            iterable,
            items: RefCell::new(items),
            ahead: RefCell::default(),
            index: Cell::new(None),
            depth,
            previous: RefCell::default(),
            current: RefCell::default(),
            changed: RefCell::default(),
        });
        let loop_symbol = self.environment().names.loop_;
        let mut inner = self.inner();
        let mut any = false;
        while let Some(item) = own.advance(self)? {
            self.charge(1)?;
            // The frame is reused unless something, such as a macro, still holds it.
            if Rc::strong_count(&inner.frame) == 1 {
                inner.frame.clear();
            } else {
                inner = self.inner();
            }
            inner.frame.set(loop_symbol, Value::Object(Rc::<Loop>::clone(&own)));
            inner.assign(&definition.target, item)?;
            match inner.exec(&definition.body, output)? {
                // As in Jinja, only a body that ran to its end counts, so `else` also runs after a `break`.
                Flow::Next => any = true,
                Flow::Continue => {}
                Flow::Break => break,
            }
        }
        if !any {
            inner.exec(&definition.otherwise, output)?;
        }
        Ok(())
    }
}

impl Loop {
    /// Fetches the next item that passes the loop's filter.
    fn fetch(&self, scope: &Scope<'_>) -> Result<Option<Value>> {
        loop {
            let item = self.items.try_borrow_mut().map_or(None, |mut items| items.next());
            let Some(item) = item.transpose()? else { return Ok(None) };
            let Some(filter) = &self.definition.filter else { return Ok(Some(item)) };
            scope.charge(1)?;
            let around = Scope { frame: Rc::clone(&self.frame), root: Rc::clone(&self.root), ..scope.clone() };
            let inner = around.inner();
            let missing = MissingName::Other("'loop' is undefined. The filter section of a loop as well as the else block don't have access to the special 'loop' variable of the current loop. Because there is no parent loop it's undefined. Happened in loop on line 1".into());
            if self.depth == 0 && inner.frame.get(scope.environment().names.loop_).is_none() {
                inner.frame.set(scope.environment().names.loop_, Value::undefined(scope.undefined_kind(), missing));
            }
            inner.assign(&self.definition.target, item.clone())?;
            if inner.eval_truth(filter)? {
                return Ok(Some(item));
            }
        }
    }

    fn advance(&self, scope: &Scope<'_>) -> Result<Option<Value>> {
        let ahead = self.ahead.borrow_mut().pop_front();
        let next = match ahead {
            Some(item) => Some(item),
            None => self.fetch(scope)?,
        };
        if let Some(item) = &next {
            self.index.set(Some(self.index.get().map_or(0, |index| index + 1)));
            let before = self.current.replace(Some(item.clone()));
            *self.previous.borrow_mut() = before;
        }
        Ok(next)
    }

    fn peek(&self, scope: &Scope<'_>) -> Result<Option<Value>> {
        if self.ahead.borrow().is_empty() {
            let next = self.fetch(scope)?;
            self.ahead.borrow_mut().extend(next);
        }
        Ok(self.ahead.borrow().front().cloned())
    }

    fn length(&self, scope: &Scope<'_>) -> Result<usize> {
        if self.definition.filter.is_none()
            && let Ok(length) = self.iterable.len()
        {
            return Ok(length);
        }
        while let Some(item) = self.fetch(scope)? {
            self.ahead.borrow_mut().push_back(item);
        }
        Ok(self.position() + 1 + self.ahead.borrow().len())
    }

    fn position(&self) -> usize {
        self.index.get().unwrap_or(0)
    }

    pub(super) fn attribute(&self, scope: &Scope<'_>, own: &Value, name: &str) -> Result<Value> {
        let index = self.position();
        Ok(match name {
            "index" => (index + 1).into(),
            "index0" => index.into(),
            "first" => (index == 0).into(),
            "last" => self.peek(scope)?.is_none().into(),
            "length" => self.length(scope)?.into(),
            "revindex" => (self.length(scope)? as i64 - index as i64).into(),
            "revindex0" => (self.length(scope)? as i64 - index as i64 - 1).into(),
            "depth" => (self.depth + 1).into(),
            "depth0" => self.depth.into(),
            "previtem" => match self.previous.borrow().clone() {
                Some(item) => item,
                None => scope.undefined("there is no previous item"),
            },
            "nextitem" => match self.peek(scope)? {
                Some(item) => item,
                None => scope.undefined("there is no next item"),
            },
            _ => own.attribute(name, scope.undefined_kind())?,
        })
    }

    pub(super) fn call_method(
        &self,
        scope: &Scope<'_>,
        own: &Value,
        name: &str,
        mut arguments: FunctionArguments,
    ) -> Result<Value> {
        match name {
            "cycle" => {
                let mut values = arguments.rest();
                if values.is_empty() {
                    return Err(Error::type_error("no items for cycling given"));
                }
                let index = self.position() % values.len();
                Ok(values.swap_remove(index))
            }
            "changed" => {
                let values = arguments.rest();
                let before = self.changed.borrow().clone();
                let same = match before {
                    Some(before) => Value::tuple(before).equals(&Value::tuple(values.clone()))?,
                    None => false,
                };
                if !same {
                    *self.changed.borrow_mut() = Some(values);
                }
                Ok((!same).into())
            }
            _ => {
                let callee = self.attribute(scope, own, name)?;
                scope.call(&callee, arguments)
            }
        }
    }
}

impl PythonObject for Loop {
    fn type_name(&self) -> &str {
        "LoopContext"
    }

    fn module(&self) -> &str {
        "jinja2.runtime."
    }

    fn is_callable(&self) -> bool {
        true
    }

    /// `loop(items)` runs the loop's body on other items, for example on the branches of a tree.
    fn call(&self, scope: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
        if !self.definition.recursive {
            return Err(Error::type_error("The loop must have the 'recursive' marker to be called recursively."));
        }
        let items = arguments.take("iterable")?;
        let around = Scope { frame: Rc::clone(&self.frame), root: Rc::clone(&self.root), top: false, ..scope.clone() };
        let mut output = RenderOutput::new(scope.environment().options().limits.output_bytes);
        scope.deeper(|| around.run_loop(&self.definition, items, self.depth + 1, &mut output))?;
        Ok(scope.markup(output.text))
    }

    fn repr(&self) -> String {
        let length = self.iterable.len().map_or("?".to_owned(), |length| length.to_string());
        format!("<LoopContext {}/{length}>", self.position() + 1)
    }
}
