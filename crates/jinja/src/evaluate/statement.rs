//! Runs statements.

use std::rc::Rc;

use super::RenderOutput;
use super::macros::MacroObject;
use crate::ast::{AssignmentTarget, Expression, ExpressionKind, Macro, Statement, StatementKind};
use crate::error::{Error, Result};
use crate::filters::escape;
use crate::salt;
use crate::scope::Scope;
use crate::value::{MissingName, UndefinedKind, Value};

/// How a list of statements ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Next,
    Break,
    Continue,
}

impl Scope<'_> {
    pub(crate) fn exec(&self, body: &[Statement], output: &mut RenderOutput) -> Result<Flow> {
        for statement in body {
            match &statement.kind {
                StatementKind::Data => self.data(statement, output)?,
                StatementKind::Print(expression) => self.print(statement, expression, output)?,
                _ => {
                    self.charge(1)?;
                    let flow = self
                        .deeper(|| self.exec_inner(statement, output))
                        .map_err(|error| self.located(error, statement.span))?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a body and returns its output as text.
    pub(crate) fn captured(&self, body: &[Statement]) -> Result<String> {
        let mut output = RenderOutput::new(self.environment().options().limits.output_bytes);
        self.exec(body, &mut output)?;
        Ok(output.text)
    }

    /// Wraps text that the template produced. With autoescape it is marked as safe.
    pub(crate) fn markup(&self, text: String) -> Value {
        if self.autoescape { Value::safe(text) } else { text.into() }
    }

    /// Whether printing is disabled, because the template extends another.
    pub(crate) fn is_silent(&self) -> bool {
        self.top && self.root.extends.borrow().is_some()
    }

    fn data(&self, statement: &Statement, output: &mut RenderOutput) -> Result<()> {
        let template = &self.root.template;
        let span = statement.span;
        let text = &template.source[span.start as usize..span.end as usize];
        output.mark(template, span, true);
        match self.environment().options().newline_sequence.as_str() {
            "\n" => output.text.push_str(text),
            newline => output.text.push_str(&text.replace('\n', newline)),
        }
        output.check()
    }

    fn print(&self, statement: &Statement, expression: &Expression, output: &mut RenderOutput) -> Result<()> {
        if self.is_silent() {
            return Ok(());
        }
        let value = self.eval(expression)?;
        output.mark(&self.root.template, statement.span, false);
        self.write(&value, output).map_err(|error| self.explained(error, expression))?;
        output.check()
    }

    fn exec_inner(&self, statement: &Statement, output: &mut RenderOutput) -> Result<Flow> {
        match &statement.kind {
            StatementKind::Data | StatementKind::Print(_) => {}
            StatementKind::If { branches, otherwise } => return self.if_statement(branches, otherwise, output),
            StatementKind::For(definition) => self.for_loop(definition, output)?,
            StatementKind::Set { target, value } => {
                let found = self.eval(value)?;
                self.assign(target, found).map_err(|error| self.explained(error, value))?;
            }
            StatementKind::SetBlock { target, filter, body } => self.set_block(target, filter.as_ref(), body)?,
            StatementKind::With { bindings, body } => {
                let inner = self.inner();
                for (target, value) in bindings {
                    inner.assign(target, self.eval(value)?)?;
                }
                return inner.exec(body, output);
            }
            StatementKind::Macro(definition) => self.define_macro(definition),
            StatementKind::CallBlock { caller, call } => self.call_block(caller, call, output)?,
            StatementKind::FilterBlock { filter, body } => {
                let text = self.inner().captured(body)?;
                let value = self.filtered(filter, self.markup(text))?;
                self.emit(&value, output)?;
            }
            StatementKind::Block(_) if self.is_silent() => {}
            StatementKind::Block(block) => self.run_block_here(block, output)?,
            StatementKind::Extends(template) => self.extends(template, output)?,
            StatementKind::Include { template, ignore_missing, with_context } => {
                if !self.is_silent() {
                    output.mark(&self.root.template, statement.span, false);
                    self.include(template, *ignore_missing, *with_context, output)?;
                }
            }
            StatementKind::Import { template, target, with_context } => {
                let module = self.import(template, *with_context)?;
                self.frame.set_private(*target, module);
            }
            StatementKind::FromImport { template, names, with_context } => {
                self.import_names(template, names, *with_context, statement.span)?;
            }
            StatementKind::Do(expression) => {
                self.eval(expression)?;
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Autoescape { flag, body } => {
                let mut inner = self.inner();
                inner.autoescape = self.eval_truth(flag)?;
                return inner.exec(body, output);
            }
            StatementKind::Translate(translate) => self.translate(translate, output)?,
            StatementKind::Debug => self.debug(output)?,
        }
        Ok(Flow::Next)
    }

    fn if_statement(
        &self,
        branches: &[(Expression, Vec<Statement>)],
        otherwise: &[Statement],
        output: &mut RenderOutput,
    ) -> Result<Flow> {
        for (condition, body) in branches {
            if self.eval_truth(condition)? {
                return self.exec(body, output);
            }
        }
        self.exec(otherwise, output)
    }

    fn define_macro(&self, definition: &Rc<Macro>) {
        let value = Value::object(MacroObject::new(self, definition));
        if let Some(symbol) = definition.symbol {
            self.frame.set(symbol, value);
            self.session.remember(&self.frame);
        }
    }

    /// Prints a value.
    pub(crate) fn emit(&self, value: &Value, output: &mut RenderOutput) -> Result<()> {
        if self.is_silent() {
            return Ok(());
        }
        self.write(value, output)?;
        output.check()
    }

    fn write(&self, value: &Value, output: &mut RenderOutput) -> Result<()> {
        if self.autoescape {
            escape::write_escaped(value, &mut output.text)
        } else if self.environment().options().salt {
            salt::print::write(value, &mut output.text, self.environment().options().limits.output_bytes)
        } else {
            value.write_text(&mut output.text)
        }
    }

    #[inline(never)]
    fn set_block(&self, target: &AssignmentTarget, filter: Option<&Expression>, body: &[Statement]) -> Result<()> {
        let mut inner = self.inner();
        inner.top = false;
        let mut value = self.markup(inner.captured(body)?);
        if let Some(filter) = filter {
            value = self.filtered(filter, value)?;
        }
        self.assign(target, value)
    }

    /// Applies a chain of filters to the text of a body.
    pub(crate) fn filtered(&self, filter: &Expression, value: Value) -> Result<Value> {
        let ExpressionKind::Filter(call) = &filter.kind else { return Ok(value) };
        let value = match &call.value {
            Some(inner) => self.deeper(|| self.filtered(inner, value))?,
            None => value,
        };
        self.apply_filter(call, value).map_err(|error| self.located(error, filter.span))
    }

    pub(crate) fn assign(&self, target: &AssignmentTarget, value: Value) -> Result<()> {
        match target {
            AssignmentTarget::Name(symbol) => self.frame.set(*symbol, value),
            AssignmentTarget::Attribute(symbol, attribute) => {
                let namespace = self.name(*symbol);
                match &namespace {
                    Value::Object(object) => object.set_attribute(attribute, value)?,
                    _ => return Err(Error::runtime("cannot assign attribute on non-namespace object")),
                }
            }
            AssignmentTarget::Tuple(targets) => {
                let items = unpack(&value, targets.len())?;
                for (target, item) in targets.iter().zip(items) {
                    self.deeper(|| self.assign(target, item))?;
                }
            }
        }
        Ok(())
    }

    /// Creates an undefined value with an explanation.
    pub(crate) fn undefined(&self, message: impl Into<String>) -> Value {
        Value::undefined(self.undefined_kind(), MissingName::Other(message.into()))
    }

    #[inline(never)]
    fn debug(&self, output: &mut RenderOutput) -> Result<()> {
        let environment = self.environment();
        let mut text = String::from("{'context': {");
        for (index, (name, value)) in self.variables().iter().enumerate() {
            let comma = if index == 0 { "" } else { ",\n             " };
            let shown = match value.as_undefined() {
                Some(undefined) if undefined.kind == UndefinedKind::Strict => undefined.message(),
                _ => value.repr()?,
            };
            text.push_str(&format!("{comma}'{name}': {shown}"));
        }
        let names = |names: Vec<Rc<str>>| {
            names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(",\n             ")
        };
        text.push_str(&format!("}},\n 'filters': [{}],\n", names(environment.filter_names())));
        text.push_str(&format!(" 'tests': [{}]}}", names(environment.test_names())));
        self.emit(&text.into(), output)
    }
}

fn unpack(value: &Value, count: usize) -> Result<Vec<Value>> {
    if !value.is_iterable() {
        value.must_be_usable()?;
        return Err(Error::type_error(format!("cannot unpack non-iterable {} object", value.type_name())));
    }
    let mut items = Vec::with_capacity(count);
    for item in value.iterate()? {
        if items.len() == count {
            return Err(Error::value_error(format!("too many values to unpack (expected {count})")));
        }
        items.push(item?);
    }
    if items.len() < count {
        let got = items.len();
        return Err(Error::value_error(format!("not enough values to unpack (expected {count}, got {got})")));
    }
    Ok(items)
}
