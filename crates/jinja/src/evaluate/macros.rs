//! Macros and call blocks.

use std::rc::Rc;

use super::{RenderOutput, ScopeFrame};
use crate::arguments::FunctionArguments;
use crate::ast::{Expression, ExpressionKind, Macro};
use crate::error::{Error, Result};
use crate::place;
use crate::scope::{Root, Scope};
use crate::value::{Dict, MarkupText, MissingName, PythonObject, Value, quoted};

/// A macro with the variables that surround its definition.
pub struct MacroObject {
    definition: Rc<Macro>,
    closure: Rc<ScopeFrame>,
    root: Rc<Root>,
    autoescape: bool,
}

impl MacroObject {
    pub(super) fn new(scope: &Scope<'_>, definition: &Rc<Macro>) -> MacroObject {
        MacroObject {
            definition: Rc::clone(definition),
            closure: Rc::clone(&scope.frame),
            root: Rc::clone(&scope.root),
            autoescape: scope.autoescape,
        }
    }

    /// Binds the arguments to the parameters, as Jinja does.
    fn bind(&self, inner: &Scope<'_>, mut arguments: FunctionArguments) -> Result<()> {
        let definition = &*self.definition;
        let names = &inner.environment().names;
        let mut explicit_caller = false;
        let mut missing = Vec::new();
        for parameter in &definition.parameters {
            let value = match arguments.next_positional() {
                Some(value) => Some(value),
                None => arguments.keyword(&parameter.name),
            };
            explicit_caller |= &*parameter.name == "caller";
            match value {
                Some(value) => inner.frame.set(parameter.symbol, value),
                None => missing.push(parameter),
            }
        }
        // A default may use the parameters before it.
        for parameter in missing {
            let value = match &parameter.default {
                Some(default) => inner.eval(default)?,
                None => inner.undefined(format!("parameter {} was not provided", quoted(&parameter.name))),
            };
            inner.frame.set(parameter.symbol, value);
        }
        if definition.uses_caller && !explicit_caller {
            let caller = arguments.keyword("caller").unwrap_or_else(|| {
                Value::undefined(inner.undefined_kind(), MissingName::Other("No caller defined".into()))
            });
            inner.frame.set(names.caller, caller);
        }
        let keywords = arguments.keywords();
        if definition.uses_kwargs {
            let mut dict = Dict::new();
            for (name, value) in keywords {
                dict.insert(Value::String(MarkupText::from(name)), value)?;
            }
            inner.frame.set(names.kwargs, Value::dict(dict));
        } else if let Some((name, _)) = keywords.first() {
            let macro_name = quoted(&definition.name);
            if keywords.iter().any(|(name, _)| &**name == "caller") {
                return Err(Error::type_error(format!(
                    "macro {macro_name} was invoked with two values for the special caller argument. This is most likely a bug."
                )));
            }
            let mut error = Error::type_error(format!("macro {macro_name} takes no keyword argument {}", quoted(name)));
            error.suggest(name, definition.parameters.iter().map(|parameter| &*parameter.name));
            return Err(error);
        }
        let more = arguments.rest();
        if definition.uses_varargs {
            inner.frame.set(names.varargs, Value::tuple(more));
        } else if !more.is_empty() {
            return Err(Error::type_error(format!(
                "macro {} takes not more than {} argument(s)",
                quoted(&definition.name),
                definition.parameters.len()
            )));
        }
        Ok(())
    }
}

impl PythonObject for MacroObject {
    fn type_name(&self) -> &str {
        "Macro"
    }

    fn module(&self) -> &str {
        "jinja2.runtime."
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        let definition = &*self.definition;
        Some(match name {
            "name" => Value::from(Rc::clone(&definition.name)),
            "arguments" => Value::tuple(
                definition.parameters.iter().map(|parameter| Value::from(Rc::clone(&parameter.name))).collect(),
            ),
            "catch_kwargs" => definition.uses_kwargs.into(),
            "catch_varargs" => definition.uses_varargs.into(),
            "caller" => definition.uses_caller.into(),
            _ => return None,
        })
    }

    fn call(&self, scope: &Scope<'_>, arguments: FunctionArguments) -> Result<Value> {
        let inner = Scope {
            session: scope.session,
            root: Rc::clone(&self.root),
            frame: ScopeFrame::new(Some(Rc::clone(&self.closure))),
            autoescape: self.autoescape,
            top: false,
        };
        let mut output = RenderOutput::new(scope.environment().options().limits.output_bytes);
        self.bind(&inner, arguments)?;
        scope.deeper(|| inner.exec(&self.definition.body, &mut output)).map_err(|mut error| {
            // The trace lists call sites from the inside out.
            let template = &self.root.template;
            error.trace.push((template.name.to_string(), place::line(&template.source, self.definition.span.start)));
            error.trace.truncate(20);
            error
        })?;
        Ok(scope.markup(output.text))
    }

    fn repr(&self) -> String {
        format!("<Macro {}>", quoted(&self.definition.name))
    }
}

impl Scope<'_> {
    #[inline(never)]
    pub(super) fn call_block(&self, caller: &Rc<Macro>, call: &Expression, output: &mut RenderOutput) -> Result<()> {
        let ExpressionKind::Call(call) = &call.kind else { return Ok(()) };
        let caller = Value::object(MacroObject::new(self, caller));
        let value = self.call_with(call, |mut arguments| {
            let function: Rc<str> = arguments.function().into();
            let (positional, mut keyword) = (arguments.rest(), arguments.keywords());
            keyword.push(("caller".into(), caller));
            FunctionArguments::new(positional, keyword).named(function)
        })?;
        self.emit(&value, output)
    }
}
