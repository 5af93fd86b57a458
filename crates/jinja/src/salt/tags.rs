//! Salt's tags: `load_*` parses data in the template, `import_*` data in another file; `profile` only renders.

use crate::ast::{AssignmentTarget, CallArguments, Expression, ExpressionKind, FilterCall, StatementKind};
use crate::environment::AnyFilter;
use crate::error::Result;
use crate::parser::TemplateParser;
use crate::value::Value;

/// Parses a tag whose name is the current token, up to the end of its last block.
pub(crate) type Tag = fn(&mut TemplateParser<'_>, &str) -> Result<Vec<StatementKind>>;

/// Parses `{% load_yaml as name %} … {% endload %}`.
pub(super) fn load(parser: &mut TemplateParser<'_>, name: &str) -> Result<Vec<StatementKind>> {
    parser.advance()?;
    parser.expect_word("as")?;
    let target = parser.target(false)?;
    let filter = filtered(parser, name, None)?;
    let (body, _) = parser.body(&["endload"])?;
    Ok(vec![StatementKind::SetBlock { target, filter: Some(filter), body }])
}

/// Parses `{% import_yaml "file" as name with context %}`.
pub(super) fn import(parser: &mut TemplateParser<'_>, name: &str) -> Result<Vec<StatementKind>> {
    let import = parser.import()?;
    let StatementKind::Import { target, .. } = &import else { return Ok(vec![import]) };
    let target = *target;
    let imported = parser.node(ExpressionKind::Name(target), parser.span(), 0)?;
    let value = filtered(parser, &name.replacen("import", "load", 1), Some(imported))?;
    Ok(vec![import, StatementKind::Set { target: AssignmentTarget::Name(target), value }])
}

/// Parses `{% profile as "label" %} … {% endprofile %}`. Salt logs the duration; here it isn't measured.
pub(super) fn profile(parser: &mut TemplateParser<'_>, _: &str) -> Result<Vec<StatementKind>> {
    parser.advance()?;
    parser.expect_word("as")?;
    let label = parser.expression()?;
    let always = parser.node(ExpressionKind::Constant(Value::Bool(true)), parser.span(), 0)?;
    let (body, _) = parser.body(&["endprofile"])?;
    // Like `if`, the tag has no scope of its own.
    Ok(vec![StatementKind::Do(label), StatementKind::If { branches: vec![(always, body)], otherwise: Vec::new() }])
}

/// Applies one of Salt's filters to a value, or to the body of a block.
fn filtered(parser: &TemplateParser<'_>, name: &str, value: Option<Expression>) -> Result<Expression> {
    let filter = super::FILTERS.iter().find(|(known, _)| *known == name).map(|(_, filter)| AnyFilter::Plain(*filter));
    let below = value.as_ref().map_or(0, |value| value.depth);
    let call =
        FilterCall { value, name: name.into(), span: parser.span(), filter, arguments: CallArguments::default() };
    parser.node(ExpressionKind::Filter(Box::new(call)), parser.span(), below)
}
