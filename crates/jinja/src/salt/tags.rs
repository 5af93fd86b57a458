//! Salt's tags: `load_*` reads data written in the template, `import_*` data in another file, `profile` is kept silent.

use crate::ast::{CallArguments, Expression, ExpressionKind, FilterCall, StatementKind, Target};
use crate::error::Result;
use crate::parser::Parser;

/// Reads a tag, the name of which is the current token, up to the end of its last block.
pub(crate) type Tag = fn(&mut Parser<'_>, &str) -> Result<Vec<StatementKind>>;

/// `{% load_yaml as name %} … {% endload %}`
pub(super) fn load(parser: &mut Parser<'_>, name: &str) -> Result<Vec<StatementKind>> {
    parser.advance()?;
    parser.expect_word("as")?;
    let target = parser.target(&[], false)?;
    let filter = parser.named_filter(name, None)?;
    let (body, _) = parser.body(&["endload"])?;
    Ok(vec![StatementKind::SetBlock { target, filter: Some(filter), body }])
}

/// `{% import_yaml "file" as name with context %}`
pub(super) fn import(parser: &mut Parser<'_>, name: &str) -> Result<Vec<StatementKind>> {
    let filter_name = name.replacen("import", "load", 1);
    let import = parser.import()?;
    let StatementKind::Import { target, .. } = &import else { return Ok(vec![import]) };
    let target = *target;
    let imported = parser.node(ExpressionKind::Name(target), parser.span(), 0)?;
    let value = parser.named_filter(&filter_name, Some(imported))?;
    Ok(vec![import, StatementKind::Set { target: Target::Name(target), value }])
}

/// `{% profile as "label" %} … {% endprofile %}`: Salt logs how long it took; there is no log here.
pub(super) fn profile(parser: &mut Parser<'_>, _: &str) -> Result<Vec<StatementKind>> {
    parser.advance()?;
    parser.expect_word("as")?;
    let label = parser.expression()?;
    let (body, _) = parser.body(&["endprofile"])?;
    let mut statements = vec![StatementKind::Do(label)];
    statements.extend(body.into_iter().map(|statement| statement.kind));
    Ok(statements)
}
