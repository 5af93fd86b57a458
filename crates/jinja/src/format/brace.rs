//! `'…'.format(…)`: Python's brace formatting.

use super::percent::ascii;
use super::spec::format_value;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::filters::escape;
use crate::scope::Scope;
use crate::value::{Value, quoted};

/// Formats a text. `mapping` is set for `format_map`. Safe text escapes the inserted values and stays safe.
pub fn brace(
    scope: &Scope<'_>,
    template: &Value,
    mut arguments: FunctionArguments,
    mapping: Option<Value>,
) -> Result<Value> {
    let Value::String(text) = template else { return Err(Error::type_error("must be str")) };
    let formatter = BraceFormatter {
        scope,
        safe: text.is_safe(),
        positional: arguments.rest(),
        keyword: arguments.keywords(),
        mapping,
    };
    let mut automatic = Numbering::Unknown;
    let out = formatter.run(text, 2, &mut automatic)?;
    Ok(if text.is_safe() { Value::safe(out) } else { out.into() })
}

struct BraceFormatter<'a, 'b> {
    scope: &'a Scope<'b>,
    safe: bool,
    positional: Vec<Value>,
    keyword: Vec<(std::rc::Rc<str>, Value)>,
    mapping: Option<Value>,
}

/// Whether fields are numbered automatically or explicitly.
enum Numbering {
    Unknown,
    Automatic(usize),
    Manual,
}

impl BraceFormatter<'_, '_> {
    fn run(&self, text: &str, depth: usize, numbering: &mut Numbering) -> Result<String> {
        if depth == 0 {
            return Err(Error::value_error("Max string recursion exceeded"));
        }
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::new();
        let mut at = 0;
        while let Some(c) = chars.get(at) {
            at += 1;
            match c {
                '{' if chars.get(at) == Some(&'{') => {
                    out.push('{');
                    at += 1;
                }
                '}' if chars.get(at) == Some(&'}') => {
                    out.push('}');
                    at += 1;
                }
                '}' => return Err(Error::value_error("Single '}' encountered in format string")),
                '{' => {
                    let end = self.field_end(&chars, at)?;
                    let field: String = chars[at..end].iter().collect();
                    out.push_str(&self.field(&field, depth, numbering)?);
                    self.scope.check_size(out.len())?;
                    at = end + 1;
                }
                c => out.push(*c),
            }
        }
        Ok(out)
    }

    fn field_end(&self, chars: &[char], start: usize) -> Result<usize> {
        if start >= chars.len() {
            return Err(Error::value_error("Single '{' encountered in format string"));
        }
        let mut open = 1;
        let mut bracket = false;
        for (index, c) in chars.iter().enumerate().skip(start) {
            match c {
                '[' if open == 1 => bracket = true,
                ']' => bracket = false,
                '{' if !bracket => open += 1,
                '}' if !bracket => {
                    open -= 1;
                    if open == 0 {
                        return Ok(index);
                    }
                }
                _ => {}
            }
        }
        Err(Error::value_error("expected '}' before end of string"))
    }

    fn field(&self, field: &str, depth: usize, numbering: &mut Numbering) -> Result<String> {
        let bracket_end = field.rfind(']').filter(|end| {
            field
                .find([':', '!'])
                .is_none_or(|mark| field[..mark].contains('[') && *end > mark && !field[..mark].contains(']'))
        });
        let name_end = bracket_end.map_or(0, |end| end + 1);
        let name_end = field[name_end..].find([':', '!']).map_or(field.len(), |mark| name_end + mark);
        let (name, rest) = field.split_at(name_end);
        let (conversion, spec) = match rest.strip_prefix('!') {
            Some(rest) => {
                let mut parts = rest.chars();
                let conversion = parts
                    .next()
                    .ok_or_else(|| Error::value_error("end of string while looking for conversion specifier"))?;
                match parts.as_str() {
                    "" => (Some(conversion), ""),
                    rest => (
                        Some(conversion),
                        rest.strip_prefix(':')
                            .ok_or_else(|| Error::value_error("expected ':' after conversion specifier"))?,
                    ),
                }
            }
            None => (None, rest.strip_prefix(':').unwrap_or(rest)),
        };
        let value = self.lookup(name, numbering)?;
        let spec = if spec.contains(['{', '}']) { self.run(spec, depth - 1, numbering)? } else { spec.to_owned() };
        let value = match conversion {
            None => value,
            Some('s') => value.to_text()?.into(),
            Some('r') => value.repr()?.into(),
            Some('a') => ascii(&value.repr()?).into(),
            Some(other) => {
                return Err(Error::value_error(format!("Unknown conversion specifier {other}")));
            }
        };
        if self.safe {
            if spec.is_empty() {
                return escape::escaped(&value);
            }
            return Ok(escape::escape(&format_value(self.scope, &value, &spec)?));
        }
        format_value(self.scope, &value, &spec)
    }

    fn lookup(&self, name: &str, numbering: &mut Numbering) -> Result<Value> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut rest) = name.split_at(end);
        let mut value = if first.is_empty() || first.bytes().all(|byte| byte.is_ascii_digit()) {
            self.positional_field(first, numbering)?
        } else {
            let found = match &self.mapping {
                Some(mapping) => mapping.get_item(&first.into())?,
                None => self.keyword.iter().find(|(own, _)| **own == *first).map(|(_, value)| value.clone()),
            };
            found.ok_or_else(|| Error::exception("KeyError", quoted(first)))?
        };
        while !rest.is_empty() {
            (value, rest) = match rest.strip_prefix('.') {
                Some(more) => attribute(&value, more)?,
                None => item(&value, rest.strip_prefix('[').unwrap_or(rest))?,
            };
        }
        Ok(value)
    }

    /// Looks up `{}` or `{0}`; a text must not mix both.
    fn positional_field(&self, first: &str, numbering: &mut Numbering) -> Result<Value> {
        let switched = |from: &str, to: &str| Error::value_error(format!("cannot switch from {from} to {to}"));
        let (automatic, manual) = ("automatic field numbering", "manual field specification");
        let index = match (first.parse::<usize>(), &numbering) {
            (Err(_), Numbering::Manual) => return Err(switched(manual, automatic)),
            (Ok(_), Numbering::Automatic(_)) => return Err(switched(automatic, manual)),
            (Ok(index), _) => {
                *numbering = Numbering::Manual;
                index
            }
            (Err(_), _) => {
                let index = if let Numbering::Automatic(index) = numbering { *index } else { 0 };
                *numbering = Numbering::Automatic(index + 1);
                index
            }
        };
        if self.mapping.is_some() {
            return Err(Error::value_error("Format string contains positional fields"));
        }
        self.positional.get(index).cloned().ok_or_else(|| {
            let message = format!("Replacement index {index} out of range for positional args tuple");
            Error::exception("IndexError", message)
        })
    }
}

/// Resolves `.name` to the attribute, and returns the rest of the text.
fn attribute<'t>(value: &Value, more: &'t str) -> Result<(Value, &'t str)> {
    let end = more.find(['.', '[']).unwrap_or(more.len());
    let attribute = &more[..end];
    let found = value.get_attribute(attribute)?.ok_or_else(|| {
        let type_name = value.type_name();
        Error::exception("AttributeError", format!("'{type_name}' object has no attribute '{attribute}'"))
    })?;
    Ok((found, &more[end..]))
}

/// Resolves `[key]` to the item, and returns the rest of the text.
fn item<'t>(value: &Value, more: &'t str) -> Result<(Value, &'t str)> {
    let end = more.find(']').ok_or_else(|| Error::value_error("Missing ']' in format string"))?;
    let digits = more[..end].bytes().all(|byte| byte.is_ascii_digit());
    let key: Value = match more[..end].parse::<i64>() {
        Ok(index) if digits => Value::Int(index),
        _ => more[..end].into(),
    };
    let found = value.get_item(&key)?.ok_or_else(|| match value {
        Value::Dict(_) => Error::exception("KeyError", key.repr().unwrap_or_default()),
        _ if !digits => Error::type_error(format!("{} indices must be integers or slices, not str", value.type_name())),
        _ => Error::exception("IndexError", format!("{} index out of range", value.type_name())),
    })?;
    let rest = &more[end + 1..];
    if !rest.is_empty() && !rest.starts_with(['.', '[']) {
        return Err(Error::value_error("Only '.' or '[' may follow ']' in format field specifier"));
    }
    Ok((found, rest))
}
