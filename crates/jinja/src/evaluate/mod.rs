//! Running a parsed template.

mod block;
mod expression;
mod frame;
mod loops;
mod macros;
mod module;
mod output;
mod statement;
mod translate;

pub use frame::Frame;
pub use output::Output;

pub(crate) use frame::SymbolHasher;

use std::cell::RefCell;
use std::rc::Rc;

use crate::ast::{StatementKind, Template};
use crate::environment::Environment;
use crate::error::Result;
use crate::scope::{Root, Scope, Session};
use crate::value::Value;

/// Renders a template and puts an ending behind it; with a map, also says from where each line came.
pub fn render(
    environment: &Environment,
    template: &Rc<Template>,
    context: &[(&str, Value)],
    mapped: bool,
    ending: &str,
) -> Result<(String, Vec<u32>)> {
    let session = Session::new(environment, context);
    let limit = environment.options().limits.output_bytes;
    let mut output = if mapped { Output::mapped(limit, Rc::clone(template)) } else { Output::new(limit) };
    let scope = root_scope(&session, template, Some(Rc::clone(&session.base)));
    scope.run(&mut output)?;
    output.text.push_str(ending);
    Ok(output.into_lines())
}

/// The value of the expression that is the template's only statement.
pub fn evaluate(environment: &Environment, template: &Rc<Template>, context: &[(&str, Value)]) -> Result<Value> {
    let session = Session::new(environment, context);
    let scope = root_scope(&session, template, Some(Rc::clone(&session.base)));
    match template.body.first().map(|statement| &statement.kind) {
        Some(StatementKind::Print(expression)) => scope.eval(expression),
        _ => Ok(Value::None),
    }
}

/// The top of a template whose variables are within those of `parent`.
fn root_scope<'a>(session: &'a Session<'a>, template: &Rc<Template>, parent: Option<Rc<Frame>>) -> Scope<'a> {
    let frame = Frame::new(parent);
    let root = Root {
        template: Rc::clone(template),
        frame: Rc::clone(&frame),
        blocks: Rc::new(RefCell::new(block::of_template(template))),
        extends: RefCell::default(),
    };
    let autoescape = session.environment.options().autoescape;
    Scope { session, root: Rc::new(root), frame, autoescape, top: true }
}
