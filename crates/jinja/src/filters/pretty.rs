//! The filter `pprint`, which works like Python's `pprint.pformat`.

use std::cell::Cell;

use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::methods;
use crate::scope::Scope;
use crate::value::{Comparison, Dict, Value, quoted, visit};
use rocksalt_core::sort::sort_by;

const WIDTH: usize = 80;

pub fn pprint(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let mut out = String::new();
    write(&sorted(&value, 0, &Cell::new(0))?, &mut out, 0, 0, 1)?;
    Ok(out.into())
}

/// Sorts all dicts inside by their keys.
fn sorted(value: &Value, depth: usize, visits: &Cell<usize>) -> Result<Value> {
    visit(visits, depth, "printing")?;
    let all = |items: &[Value]| items.iter().map(|item| sorted(item, depth + 1, visits)).collect::<Result<Vec<_>>>();
    Ok(match value {
        Value::List(items) => Value::list(all(&items.borrow())?),
        Value::Tuple(items) => Value::tuple(all(&items.borrow())?),
        Value::Dict(dict) => {
            let mut pairs: Vec<(Value, Value)> =
                dict.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            sort_by(&mut pairs, |(a, _), (b, _)| match a.compares(Comparison::Less, b) {
                Ok(true) => std::cmp::Ordering::Less,
                Ok(false) if a.equals(b).unwrap_or(false) => std::cmp::Ordering::Equal,
                Ok(false) => std::cmp::Ordering::Greater,
                Err(_) => a.type_name().cmp(b.type_name()),
            });
            let mut dict = Dict::new();
            for (key, value) in pairs {
                dict.insert(key, sorted(&value, depth + 1, visits)?)?;
            }
            Value::dict(dict)
        }
        other => other.clone(),
    })
}

/// Writes a value. `allowance` is the width to reserve for what follows on its last line.
fn write(value: &Value, out: &mut String, indent: usize, allowance: usize, level: usize) -> Result<()> {
    let repr = value.repr()?;
    if repr.chars().count() <= WIDTH.saturating_sub(indent + allowance) {
        out.push_str(&repr);
        return Ok(());
    }
    match value {
        Value::Dict(dict) => {
            let dict = dict.borrow();
            out.push('{');
            for (index, (key, value)) in dict.iter().enumerate() {
                if index > 0 {
                    line(out, ",", indent + 1);
                }
                let key = key.repr()?;
                out.push_str(&key);
                out.push_str(": ");
                let rest = if index + 1 == dict.len() { allowance + 1 } else { 1 };
                write(value, out, indent + 1 + key.chars().count() + 2, rest, level + 1)?;
            }
            out.push('}');
        }
        Value::List(items) => write_items(&items.borrow(), out, ("[", "]"), indent, allowance, level)?,
        Value::Tuple(items) => {
            let close = if items.borrow().len() == 1 { ",)" } else { ")" };
            write_items(&items.borrow(), out, ("(", close), indent, allowance, level)?;
        }
        Value::Set(items) => {
            let items: Vec<Value> = items.borrow().iter().cloned().collect();
            write_items(&items, out, ("{", "}"), indent, allowance, level)?;
        }
        Value::String(text) => write_text(text, out, indent, allowance, level),
        _ => out.push_str(&repr),
    }
    Ok(())
}

fn write_items(
    items: &[Value],
    out: &mut String,
    (open, close): (&str, &str),
    indent: usize,
    allowance: usize,
    level: usize,
) -> Result<()> {
    out.push_str(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            line(out, ",", indent + 1);
        }
        let rest = if index + 1 == items.len() { allowance + close.len() } else { 1 };
        write(item, out, indent + 1, rest, level + 1)?;
    }
    out.push_str(close);
    Ok(())
}

fn line(out: &mut String, before: &str, indent: usize) {
    out.push_str(before);
    out.push('\n');
    out.push_str(&" ".repeat(indent));
}

/// Splits a long string into several literals, which Python concatenates.
fn write_text(text: &str, out: &mut String, mut indent: usize, mut allowance: usize, level: usize) {
    if level == 1 {
        indent += 1;
        allowance += 1;
    }
    let width = WIDTH.saturating_sub(indent);
    let length = |text: &str| quoted(text).chars().count();
    let lines = methods::lines(text, true);
    let mut chunks: Vec<String> = Vec::new();
    for (index, text) in lines.iter().enumerate() {
        let last_line = index + 1 == lines.len();
        if length(text) <= if last_line { width.saturating_sub(allowance) } else { width } {
            chunks.push(quoted(text));
            continue;
        }
        let words = words(text);
        let mut current = String::new();
        for (at, word) in words.iter().enumerate() {
            let last = last_line && at + 1 == words.len();
            let candidate = format!("{current}{word}");
            if length(&candidate) > if last { width.saturating_sub(allowance) } else { width } {
                if !current.is_empty() {
                    chunks.push(quoted(&current));
                }
                current = (*word).to_owned();
            } else {
                current = candidate;
            }
        }
        if !current.is_empty() {
            chunks.push(quoted(&current));
        }
    }
    let parentheses = level == 1 && chunks.len() > 1;
    if parentheses {
        out.push('(');
    }
    for (index, chunk) in chunks.iter().enumerate() {
        if index > 0 {
            line(out, "", indent);
        }
        out.push_str(chunk);
    }
    if parentheses {
        out.push(')');
    }
}

/// Splits text into words, each with the blanks that follow it.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(methods::is_space).unwrap_or(rest.len());
        let blank = rest[word..].find(|c| !methods::is_space(c)).unwrap_or(rest.len() - word);
        words.push(&rest[..word + blank]);
        rest = &rest[word + blank..];
    }
    words
}
