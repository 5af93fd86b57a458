//! Regular expressions in filters and tests, as in Python's `re`.

use rocksalt_core::pattern::{self, Flags, Pattern, ReplacementTemplate};

use super::text::string;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;

pub(super) fn regex_search(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    groups(&value, arguments, Pattern::new)
}

pub(super) fn regex_match(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    groups(&value, arguments, Pattern::at_start)
}

/// The tuple of groups, or of the whole match if the pattern has none.
fn groups(
    value: &Value,
    mut arguments: FunctionArguments,
    build: fn(&str, Flags) -> Result<Pattern, pattern::Error>,
) -> Result<Value> {
    let expression = arguments.take("rgx")?;
    let flags = flags(&mut arguments)?;
    arguments.finish()?;
    let pattern = build(string(&expression)?, flags).map_err(failure)?;
    let Some(found) = pattern.groups(string(value)?).map_err(failure)? else { return Ok(Value::None) };
    let wanted = if found.len() > 1 { &found[1..] } else { &found[..] };
    Ok(Value::tuple(wanted.iter().map(|group| Value::from(*group)).collect()))
}

pub(super) fn regex_replace(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let expression = arguments.take("rgx")?;
    let replacement = arguments.take("val")?;
    let flags = flags(&mut arguments)?;
    arguments.finish()?;
    let pattern = Pattern::new(string(&expression)?, flags).map_err(failure)?;
    let template = ReplacementTemplate::parse(string(&replacement)?).map_err(failure)?;
    let text = string(&value)?;
    // In the worst case the replacement is inserted between all characters.
    scope.check_size(text.len().saturating_add(string(&replacement)?.len()))?;
    let (replaced, count) = pattern.replace(text, &template, 0).map_err(failure)?;
    scope.charge(count)?;
    scope.check_size(replaced.len())?;
    Ok(replaced.into())
}

pub(super) fn regex_escape(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let mut out = String::new();
    for c in string(&value)?.chars() {
        if "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    Ok(out.into())
}

/// The test `text is match("pattern")`.
pub(super) fn is_match(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<bool> {
    let expression = arguments.take("rgx")?;
    let flags = flags(&mut arguments)?;
    arguments.finish()?;
    let pattern = Pattern::at_start(string(&expression)?, flags).map_err(failure)?;
    pattern.matches(string(&value)?).map_err(failure)
}

fn flags(arguments: &mut FunctionArguments) -> Result<Flags> {
    let ignore_case = arguments.flag("ignorecase", false)?;
    let multi_line = arguments.flag("multiline", false)?;
    Ok(Flags { ignore_case, multi_line, ..Flags::NONE })
}

fn failure(error: pattern::Error) -> Error {
    Error::exception("error", error.to_string())
}
