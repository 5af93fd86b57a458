//! Methods of strings that return strings.

use super::{MethodFunction, string_predicates, string_search};
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::filters::escape;
use crate::format;
use crate::scope::Scope;
use crate::value::{Value, quoted};

pub fn find(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "capitalize" => |_, value, arguments| changed(value, arguments, capitalize),
        "casefold" => |_, value, arguments| changed(value, arguments, |text| text.to_lowercase().replace('ß', "ss")),
        "center" => center,
        "encode" => encode,
        "expandtabs" => expand_tabs,
        "format" => |scope, value, arguments| format::brace(scope, value, arguments, None),
        "format_map" => |scope, value, mut arguments| {
            let mapping = arguments.take("mapping")?;
            arguments.finish()?;
            format::brace(scope, value, FunctionArguments::none(), Some(mapping))
        },
        "join" => join,
        "ljust" => left_justify,
        "lower" => |_, value, arguments| changed(value, arguments, str::to_lowercase),
        "lstrip" => |_, value, arguments| strip(value, arguments, true, false),
        "maketrans" => make_translation,
        "removeprefix" => |_, value, arguments| remove(value, arguments, "prefix"),
        "removesuffix" => |_, value, arguments| remove(value, arguments, "suffix"),
        "replace" => replace,
        "rjust" => right_justify,
        "rstrip" => |_, value, arguments| strip(value, arguments, false, true),
        "strip" => |_, value, arguments| strip(value, arguments, true, true),
        "swapcase" => |_, value, arguments| changed(value, arguments, swap_case),
        "title" => |_, value, arguments| changed(value, arguments, title),
        "translate" => translate,
        "upper" => |_, value, arguments| changed(value, arguments, str::to_uppercase),
        "zfill" => zero_fill,
        _ => return string_search::find(name).or_else(|| string_predicates::find(name)),
    })
}

/// The text of the method's value.
pub(super) fn own(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Wraps text derived from a value: it is safe if the value is.
pub(super) fn like(value: &Value, text: String) -> Value {
    if value.is_safe() { Value::safe(text) } else { text.into() }
}

/// Converts an argument that must be a string.
pub(super) fn string(value: &Value, what: &str) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.to_string()),
        other => {
            other.must_be_defined()?;
            Err(Error::type_error(format!("{what} must be str, not {}", other.type_name()).trim_start()))
        }
    }
}

fn changed(value: &Value, arguments: FunctionArguments, change: impl Fn(&str) -> String) -> Result<Value> {
    arguments.finish()?;
    Ok(like(value, change(own(value))))
}

pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => title_case(first).chars().chain(chars.as_str().to_lowercase().chars()).collect(),
        None => String::new(),
    }
}

/// The titlecase form of a letter. For ligatures, only the first of its letters is uppercase.
pub(crate) fn title_case(c: char) -> String {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => "ǅ".into(),
        'Ǉ' | 'ǈ' | 'ǉ' => "ǈ".into(),
        'Ǌ' | 'ǋ' | 'ǌ' => "ǋ".into(),
        'Ǳ' | 'ǲ' | 'ǳ' => "ǲ".into(),
        'ß' => "Ss".into(),
        c => c.to_uppercase().collect(),
    }
}

/// Uppercases each letter that doesn't follow a letter, and lowercases the others.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_word = false;
    for c in text.chars() {
        if in_word {
            out.extend(c.to_lowercase());
        } else {
            out.push_str(&title_case(c));
        }
        in_word = c.is_alphabetic();
    }
    out
}

fn swap_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
    }
    out
}

/// The width and fill character of `center` and the like.
fn justification(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<(usize, char)> {
    let width = arguments.take("width")?.to_index()?.max(0) as usize;
    let fill = match arguments.optional("fillchar")? {
        None => ' ',
        Some(fill) => {
            let text = string(&fill, "The fill character")?;
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => c,
                _ => return Err(Error::type_error("The fill character must be exactly one character long")),
            }
        }
    };
    arguments.finish()?;
    scope.check_size(width.saturating_mul(fill.len_utf8()))?;
    Ok((width.saturating_sub(own(value).chars().count()), fill))
}

fn fill(count: usize, fill: char) -> String {
    std::iter::repeat_n(fill, count).collect()
}

fn center(scope: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    let length = own(value).chars().count();
    let (missing, c) = justification(scope, value, arguments)?;
    // For an odd width, Python puts the extra fill character on the left.
    let left = missing / 2 + (missing & (missing + length) & 1);
    Ok(like(value, format!("{}{}{}", fill(left, c), own(value), fill(missing - left, c))))
}

fn left_justify(scope: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    let (missing, c) = justification(scope, value, arguments)?;
    Ok(like(value, format!("{}{}", own(value), fill(missing, c))))
}

fn right_justify(scope: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    let (missing, c) = justification(scope, value, arguments)?;
    Ok(like(value, format!("{}{}", fill(missing, c), own(value))))
}

fn zero_fill(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let width = arguments.take("width")?.to_index()?.max(0) as usize;
    arguments.finish()?;
    scope.check_size(width)?;
    let text = own(value);
    let missing = width.saturating_sub(text.chars().count());
    let (sign, digits) = match text.chars().next() {
        Some(c @ ('+' | '-')) => (c.to_string(), &text[1..]),
        _ => (String::new(), text),
    };
    Ok(like(value, format!("{sign}{}{digits}", fill(missing, '0'))))
}

fn encode(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let encoding = arguments.text("encoding", "utf-8")?;
    let errors = arguments.text("errors", "strict")?;
    arguments.finish()?;
    let limit = match encoding.to_lowercase().replace('_', "-").as_str() {
        "utf-8" | "utf8" => return Ok(Value::Bytes(own(value).as_bytes().into())),
        "ascii" | "us-ascii" => 128,
        "latin-1" | "latin1" | "iso-8859-1" => 256,
        _ => return Err(Error::exception("LookupError", format!("unknown encoding: {encoding}"))),
    };
    let mut bytes = Vec::new();
    for (position, c) in own(value).chars().enumerate() {
        match (u8::try_from(c as u32), errors.as_str()) {
            (Ok(byte), _) if u32::from(byte) < limit => bytes.push(byte),
            (_, "ignore") => {}
            (_, "replace") => bytes.push(b'?'),
            _ => {
                let shown = format::ascii(&quoted(&c.to_string()));
                return Err(Error::exception(
                    "UnicodeEncodeError",
                    format!(
                        "'{encoding}' codec can't encode character {shown} in position {position}: ordinal not in range({limit})"
                    ),
                ));
            }
        }
    }
    Ok(Value::Bytes(bytes.into()))
}

fn expand_tabs(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let size = arguments.integer("tabsize", 8)?.max(0) as usize;
    arguments.finish()?;
    let mut out = String::new();
    let mut column = 0;
    for c in own(value).chars() {
        match c {
            '\t' if size > 0 => {
                let blanks = size - column % size;
                scope.check_size(out.len().saturating_add(blanks))?;
                out.push_str(&" ".repeat(blanks));
                column += blanks;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            c => {
                out.push(c);
                column += 1;
            }
        }
    }
    Ok(like(value, out))
}

fn join(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let items = arguments.take("iterable")?;
    arguments.finish()?;
    if !items.is_iterable() {
        return Err(Error::type_error("can only join an iterable"));
    }
    let mut out = String::new();
    for (index, item) in items.iterate()?.enumerate() {
        let item = item?;
        if index > 0 {
            out.push_str(own(value));
        }
        match &item {
            Value::String(_) if value.is_safe() => escape::write_escaped(&item, &mut out)?,
            Value::String(text) => out.push_str(text),
            other => {
                other.must_be_usable()?;
                return Err(Error::type_error(format!(
                    "sequence item {index}: expected str instance, {} found",
                    other.type_name()
                )));
            }
        }
        scope.charge(1)?;
        if out.len() > 1 << 16 {
            scope.check_size(out.len())?;
        }
    }
    Ok(like(value, out))
}

fn strip(value: &Value, mut arguments: FunctionArguments, left: bool, right: bool) -> Result<Value> {
    let chars = arguments.optional("chars")?.filter(|chars| !chars.is_none());
    arguments.finish()?;
    let chars = match chars {
        Some(chars) => {
            let name = match (left, right) {
                (true, true) => "strip",
                (true, false) => "lstrip",
                _ => "rstrip",
            };
            let Value::String(text) = &chars else {
                chars.must_be_defined()?;
                return Err(Error::type_error(format!("{name} arg must be None or str")));
            };
            Some(text.chars().collect::<Vec<char>>())
        }
        None => None,
    };
    let goes = |c: char| chars.as_ref().map_or_else(|| is_space(c), |chars| chars.contains(&c));
    let mut text = own(value);
    if left {
        text = text.trim_start_matches(goes);
    }
    if right {
        text = text.trim_end_matches(goes);
    }
    Ok(like(value, text.to_owned()))
}

/// Python's `str.isspace` for one character.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

fn remove(value: &Value, mut arguments: FunctionArguments, what: &str) -> Result<Value> {
    let part = string(&arguments.take(what)?, &format!("remove{what}() argument"))?;
    arguments.finish()?;
    let text = own(value);
    let rest = if what == "prefix" { text.strip_prefix(part.as_str()) } else { text.strip_suffix(part.as_str()) };
    Ok(like(value, rest.unwrap_or(text).to_owned()))
}

fn replace(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let old = string(&arguments.take("old")?, "replace() argument 1")?;
    let new = arguments.take("new")?;
    let new = if value.is_safe() { escape::escaped(&new)? } else { string(&new, "replace() argument 2")? };
    let count = arguments.integer("count", -1)?;
    arguments.finish()?;
    Ok(like(value, replaced(scope, own(value), &old, &new, count)?))
}

/// Replaces at most `count` occurrences, or all if `count` is negative.
pub(crate) fn replaced(scope: &Scope<'_>, text: &str, old: &str, new: &str, count: i64) -> Result<String> {
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let found = text.matches(old).take(most).count();
    scope.check_size(text.len().saturating_add(found.saturating_mul(new.len())))?;
    Ok(text.replacen(old, new, found))
}

fn make_translation(_: &Scope<'_>, _: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let first = arguments.take("x")?;
    let (second, third) = (arguments.optional("y")?, arguments.optional("z")?);
    arguments.finish()?;
    let mut dict = crate::value::Dict::new();
    let code = |c: char| Value::Int(i64::from(c as u32));
    match (&first, second) {
        (Value::Dict(map), None) => {
            for (key, value) in map.borrow().iter() {
                let key = key.as_str().and_then(|text| text.chars().next()).map_or_else(|| key.clone(), code);
                dict.insert(key, value.clone())?;
            }
        }
        (from, Some(to)) => {
            let (from, to) = (string(from, "maketrans() argument 1")?, string(&to, "maketrans() argument 2")?);
            if from.chars().count() != to.chars().count() {
                return Err(Error::value_error("the first two maketrans arguments must have equal length"));
            }
            for (from, to) in from.chars().zip(to.chars()) {
                dict.insert(code(from), code(to))?;
            }
        }
        _ => return Err(Error::type_error("if you give only one argument to maketrans it must be a dict")),
    }
    for c in third.map_or(Ok(String::new()), |third| string(&third, "maketrans() argument 3"))?.chars() {
        dict.insert(code(c), Value::None)?;
    }
    Ok(Value::dict(dict))
}

fn translate(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let table = arguments.take("table")?;
    arguments.finish()?;
    let mut out = String::new();
    for c in own(value).chars() {
        match table.get_item(&Value::Int(i64::from(c as u32)))? {
            None => out.push(c),
            Some(Value::None) => {}
            Some(Value::Int(code)) => out.extend(u32::try_from(code).ok().and_then(char::from_u32)),
            Some(other) => out.push_str(&other.to_text()?),
        }
        scope.check_size(out.len())?;
    }
    Ok(like(value, out))
}
