//! Runs a parsed template.

mod block;
mod expression;
mod frame;
mod loops;
mod macros;
mod module;
mod output;
mod statement;
mod translate;

pub use frame::ScopeFrame;
pub use output::RenderOutput;

pub(crate) use frame::SymbolHasher;

use std::cell::RefCell;
use std::rc::Rc;

use crate::ast::{ParsedTemplate, StatementKind};
use crate::environment::Environment;
use crate::error::Result;
use crate::scope::{RenderSession, Root, Scope};
use crate::value::Value;

/// Renders a template and appends an ending; with a map, also records where each line came from.
pub fn render(
    environment: &Environment,
    template: &Rc<ParsedTemplate>,
    context: &[(&str, Value)],
    mapped: bool,
    ending: &str,
) -> Result<(String, Vec<u32>)> {
    let session = RenderSession::new(environment, context);
    let limit = environment.options().limits.output_bytes;
    let mut output = if mapped { RenderOutput::mapped(limit, Rc::clone(template)) } else { RenderOutput::new(limit) };
    let scope = root_scope(&session, template, Some(Rc::clone(&session.base)));
    scope.run(&mut output)?;
    output.text.push_str(ending);
    Ok(output.into_lines())
}

/// Evaluates the expression that is the template's only statement.
pub fn evaluate(environment: &Environment, template: &Rc<ParsedTemplate>, context: &[(&str, Value)]) -> Result<Value> {
    let session = RenderSession::new(environment, context);
    let scope = root_scope(&session, template, Some(Rc::clone(&session.base)));
    match template.body.first().map(|statement| &statement.kind) {
        Some(StatementKind::Print(expression)) => scope.eval(expression),
        _ => Ok(Value::None),
    }
}

/// The top-level scope of a template; its variables are nested in those of `parent`.
fn root_scope<'a>(
    session: &'a RenderSession<'a>,
    template: &Rc<ParsedTemplate>,
    parent: Option<Rc<ScopeFrame>>,
) -> Scope<'a> {
    let frame = ScopeFrame::new(parent);
    let root = Root {
        template: Rc::clone(template),
        frame: Rc::clone(&frame),
        blocks: Rc::new(RefCell::new(block::of_template(template))),
        extends: RefCell::default(),
    };
    let autoescape = session.environment.options().autoescape;
    Scope { session, root: Rc::new(root), frame, autoescape, top: true }
}
