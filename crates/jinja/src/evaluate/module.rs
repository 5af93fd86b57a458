//! Loads other templates: `include`, `import` and `from … import`.

use std::rc::Rc;

use super::loops::Loop;
use super::{RenderOutput, ScopeFrame, root_scope};
use crate::ast::{Expression, ParsedTemplate, Span};
use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::place;
use crate::salt;
use crate::scope::Scope;
use crate::symbol::Symbol;
use crate::value::{MissingName, PythonObject, Value, quoted};

/// An imported template: its top-level variables and its output.
pub struct TemplateModule {
    name: Rc<str>,
    exported: Vec<(Rc<str>, Value)>,
    text: Value,
}

impl TemplateModule {
    fn new(environment: &Environment, name: &Rc<str>, frame: &ScopeFrame, text: Value) -> TemplateModule {
        let exported = frame.own().into_iter().filter_map(|(symbol, value, exported)| {
            let name = environment.symbol_name(symbol);
            (exported && !name.starts_with('_')).then_some((name, value))
        });
        TemplateModule { name: Rc::clone(name), exported: exported.collect(), text }
    }
}

impl PythonObject for TemplateModule {
    fn type_name(&self) -> &str {
        "TemplateModule"
    }

    fn module(&self) -> &str {
        "jinja2.environment."
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        self.exported.iter().find(|(own, _)| **own == *name).map(|(_, value)| value.clone())
    }

    fn repr(&self) -> String {
        format!("<TemplateModule {}>", quoted(&self.name))
    }

    fn text(&self) -> String {
        self.text.as_str().unwrap_or_default().to_owned()
    }
}

impl<'a> Scope<'a> {
    /// Loads the template that a value names; for a list, the first one that exists.
    pub(crate) fn template(&self, value: &Value) -> Result<Rc<ParsedTemplate>> {
        let names: Vec<Value> = match value {
            Value::String(_) => vec![value.clone()],
            Value::Undefined(undefined) => return Err(undefined.error()),
            Value::List(_) | Value::Tuple(_) => value.to_vec()?,
            other => vec![other.clone()],
        };
        for name in &names {
            let name = name.to_text()?;
            match self.environment().template(&name, Some(self.template_name())) {
                Err(error) if error.kind == ErrorKind::TemplateMissing && error.line == 0 => {}
                other => return other,
            }
        }
        if let [single] = &names[..] {
            return Err(Error::template_missing(single.to_text()?));
        }
        let mut error = match names.is_empty() {
            true => Error::template_missing("Tried to select from an empty list of templates."),
            false => {
                let names: Vec<String> = names.iter().map(Value::to_text).collect::<Result<_>>()?;
                Error::template_missing(format!("none of the templates given were found: {}", names.join(", ")))
            }
        };
        error.exception = "TemplatesNotFound";
        Err(error)
    }

    /// The frame that encloses another template's own variables.
    fn parent_frame(&self, template: &ParsedTemplate, with_context: bool) -> Option<Rc<ScopeFrame>> {
        if with_context {
            let names = &self.environment().names;
            if self.frame.get(names.loop_).is_none_or(|own| own.downcast::<Loop>().is_none()) {
                return Some(Rc::clone(&self.frame));
            }
            // The other template sees the loop's variables, but not `loop` itself.
            let frame = ScopeFrame::new(Some(Rc::clone(&self.frame)));
            let missing = MissingName::Name(self.environment().symbol_name(names.loop_));
            frame.set_private(names.loop_, Value::undefined(self.undefined_kind(), missing));
            return Some(frame);
        }
        if !self.environment().options().salt {
            return None;
        }
        // Salt gives every template its variables as globals, and three that name the template's place.
        let frame = ScopeFrame::new(Some(Rc::clone(&self.session.base)));
        let names = self.environment().loader_variables();
        for (name, value) in names.unwrap_or_else(|| salt::place_names(&template.name).into()) {
            frame.set(self.environment().symbol(name), value);
        }
        Some(frame)
    }

    #[inline(never)]
    pub(super) fn include(
        &self,
        template: &Expression,
        ignore_missing: bool,
        with_context: bool,
        output: &mut RenderOutput,
    ) -> Result<()> {
        let value = self.eval(template)?;
        let found = match self.template(&value) {
            Err(error) if ignore_missing && error.kind == ErrorKind::TemplateMissing && error.line == 0 => {
                return Ok(());
            }
            other => other.map_err(|error| self.explained(error, template))?,
        };
        let mut scope = root_scope(self.session, &found, self.parent_frame(&found, with_context));
        scope.autoescape = self.autoescape;
        self.deeper(|| scope.run(output)).map_err(|error| self.traced(error, template.span))
    }

    /// Adds this place to the trace of an error in another template.
    #[cold]
    fn traced(&self, mut error: Error, span: Span) -> Error {
        let template = &self.root.template;
        error.trace.push((template.name.to_string(), place::line(&template.source, span.start)));
        error.trace.truncate(20);
        error
    }

    #[inline(never)]
    pub(crate) fn import(&self, template: &Expression, with_context: bool) -> Result<Value> {
        let value = self.eval(template)?;
        let found = self.template(&value).map_err(|error| self.explained(error, template))?;
        let key = Rc::clone(&found.name);
        if !with_context && let Some(module) = self.session.modules.borrow().get(&key) {
            return Ok(module.clone());
        }
        let scope = root_scope(self.session, &found, self.parent_frame(&found, with_context));
        let mut output = RenderOutput::new(self.environment().options().limits.output_bytes);
        self.deeper(|| scope.run(&mut output)).map_err(|error| self.traced(error, template.span))?;
        self.session.remember(&scope.frame);
        let module = TemplateModule::new(self.environment(), &key, &scope.frame, self.markup(output.text));
        let module = Value::object(module);
        if !with_context {
            self.session.modules.borrow_mut().insert(key, module.clone());
        }
        Ok(module)
    }

    #[inline(never)]
    pub(super) fn import_names(
        &self,
        template: &Expression,
        names: &[(Rc<str>, Symbol)],
        with_context: bool,
        span: Span,
    ) -> Result<()> {
        let value = self.import(template, with_context)?;
        let Some(module) = value.downcast::<TemplateModule>() else { return Ok(()) };
        for (name, target) in names {
            let found = module.get_attribute(name).unwrap_or_else(|| {
                let line = place::line(&self.root.template.source, span.start);
                let known = module.exported.iter().map(|(name, _)| &**name);
                let hint = rocksalt_core::nearest::hint(name, known);
                self.undefined(format!(
                    "the template {} (imported on line {line} in {}) does not export the requested name {}{hint}",
                    quoted(&module.name),
                    quoted(&self.root.template.name),
                    quoted(name)
                ))
            });
            self.frame.set_private(*target, found);
        }
        Ok(())
    }
}
