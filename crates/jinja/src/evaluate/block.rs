//! Inheritance: blocks, `extends`, `super()` and `self`.

use std::cell::RefCell;
use std::rc::Rc;

use super::{RenderOutput, ScopeFrame};
use crate::arguments::FunctionArguments;
use crate::ast::{BlockDefinition, Expression, ParsedTemplate};
use crate::error::{Error, Result};
use crate::scope::{Blocks, Root, Scope};
use crate::symbol::Symbol;
use crate::value::{MissingName, PythonObject, Value, quoted};

/// The blocks that a template itself defines.
pub fn of_template(template: &Rc<ParsedTemplate>) -> Blocks {
    template.blocks.iter().map(|block| (block.symbol, vec![(Rc::clone(template), Rc::clone(block))])).collect()
}

impl Scope<'_> {
    /// Runs the whole template, then the templates that it extends.
    pub(crate) fn run(&self, output: &mut RenderOutput) -> Result<()> {
        let mut scope = self.clone();
        loop {
            scope.exec(&scope.root.template.body, output)?;
            let Some((parent, length)) = scope.root.extends.take() else { return Ok(()) };
            output.truncate(length);
            for block in &parent.blocks {
                let entry = (Rc::clone(&parent), Rc::clone(block));
                self.root.blocks.borrow_mut().entry(block.symbol).or_default().push(entry);
            }
            let root = Root {
                template: parent,
                frame: Rc::clone(&self.root.frame),
                blocks: Rc::clone(&self.root.blocks),
                extends: RefCell::default(),
            };
            self.charge(1)?;
            scope = Scope { root: Rc::new(root), ..self.clone() };
        }
    }

    #[inline(never)]
    pub(super) fn extends(&self, template: &Expression, output: &mut RenderOutput) -> Result<()> {
        if self.root.extends.borrow().is_some() {
            return Err(Error::runtime("extended multiple times"));
        }
        let value = self.eval(template)?;
        let parent = self.template(&value).map_err(|error| self.explained(error, template))?;
        // Templates that extend each other in a cycle would never end.
        let mut chain = 0;
        for blocks in self.root.blocks.borrow().values() {
            chain = chain.max(blocks.len());
        }
        if chain > 100 {
            return Err(Error::limit("templates extend each other without an end"));
        }
        *self.root.extends.borrow_mut() = Some((parent, output.text.len()));
        Ok(())
    }

    #[inline(never)]
    pub(super) fn run_block_here(&self, block: &BlockDefinition, output: &mut RenderOutput) -> Result<()> {
        let versions = self.root.blocks.borrow().get(&block.symbol).map_or(0, Vec::len);
        let around = if block.scoped { &self.frame } else { &self.root.frame };
        if block.required && versions <= 1 {
            return Err(Error::runtime(format!("Required block {} not found", quoted(&block.name))));
        }
        self.run_block(block.symbol, 0, around, output)
    }

    /// Runs the version of the block that has `level` overrides above it.
    fn run_block(
        &self,
        symbol: Symbol,
        level: usize,
        around: &Rc<ScopeFrame>,
        output: &mut RenderOutput,
    ) -> Result<()> {
        let found = self.root.blocks.borrow().get(&symbol).and_then(|all| all.get(level)).cloned();
        let Some((template, block)) = found else { return Ok(()) };
        let root = Root {
            template,
            frame: Rc::clone(&self.root.frame),
            blocks: Rc::clone(&self.root.blocks),
            extends: RefCell::default(),
        };
        let root = Rc::new(root);
        let frame = ScopeFrame::new(Some(Rc::clone(around)));
        let parent = BlockReference { symbol, level: level + 1, around: Rc::clone(around), root: Rc::clone(&root) };
        let name = Rc::clone(&block.name);
        let value = if parent.exists() {
            Value::object(parent)
        } else {
            self.undefined(format!("there is no parent block called {}.", quoted(&name)))
        };
        frame.set(self.environment().names.super_, value);
        let autoescape = self.environment().options().autoescape;
        let inner = Scope { session: self.session, root, frame, autoescape, top: false };
        self.deeper(|| inner.exec(&block.body, output))?;
        Ok(())
    }

    /// The value of the name `self`.
    pub(crate) fn self_reference(&self) -> Value {
        Value::object(SelfReference { root: Rc::clone(&self.root) })
    }
}

/// `super` in a block, or `self.name`.
struct BlockReference {
    symbol: Symbol,
    level: usize,
    around: Rc<ScopeFrame>,
    root: Rc<Root>,
}

impl BlockReference {
    fn exists(&self) -> bool {
        self.root.blocks.borrow().get(&self.symbol).is_some_and(|all| all.len() > self.level)
    }
}

impl PythonObject for BlockReference {
    fn type_name(&self) -> &str {
        "BlockReference"
    }

    fn module(&self) -> &str {
        "jinja2.runtime."
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        if name != "super" {
            return None;
        }
        let parent = BlockReference {
            symbol: self.symbol,
            level: self.level + 1,
            around: Rc::clone(&self.around),
            root: Rc::clone(&self.root),
        };
        Some(if parent.exists() {
            Value::object(parent)
        } else {
            let message = MissingName::Other("there is no parent block.".into());
            Value::undefined(crate::value::UndefinedKind::Strict, message)
        })
    }

    fn call(&self, scope: &Scope<'_>, arguments: FunctionArguments) -> Result<Value> {
        arguments.finish()?;
        let mut output = RenderOutput::new(scope.environment().options().limits.output_bytes);
        let around = Scope { root: Rc::clone(&self.root), ..scope.clone() };
        around.run_block(self.symbol, self.level, &self.around, &mut output)?;
        Ok(scope.markup(output.text))
    }
}

/// The template as `self`: its attributes are its blocks.
struct SelfReference {
    root: Rc<Root>,
}

impl PythonObject for SelfReference {
    fn type_name(&self) -> &str {
        "TemplateReference"
    }

    fn module(&self) -> &str {
        "jinja2.runtime."
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        let blocks = self.root.blocks.borrow();
        let (symbol, _) = blocks.iter().find(|(_, all)| all.first().is_some_and(|(_, block)| &*block.name == name))?;
        Some(Value::object(BlockReference {
            symbol: *symbol,
            level: 0,
            around: Rc::clone(&self.root.frame),
            root: Rc::clone(&self.root),
        }))
    }

    fn get_item(&self, key: &Value) -> Result<Option<Value>> {
        Ok(key.as_str().and_then(|name| self.get_attribute(name)))
    }

    fn repr(&self) -> String {
        format!("<TemplateReference {}>", quoted(&self.root.template.name))
    }
}
