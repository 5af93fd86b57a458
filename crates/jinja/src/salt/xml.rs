//! Writes data as XML, in the layout of Salt's `xml` filter.

use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{MAX_NESTING, Value};

struct Element {
    tag: String,
    attributes: Vec<(String, String)>,
    text: Option<String>,
    children: Vec<Element>,
}

/// Writes the whole document, with its header and a final newline.
pub(super) fn document(scope: &Scope<'_>, value: &Value) -> Result<String> {
    let mut root = None;
    for (tag, inner) in pairs(value)? {
        // As in Salt, the last element is the root.
        root = add(scope, &tag, &inner, None, 0)?.or(root);
    }
    let Some(root) = root else {
        return Err(Error::exception("AttributeError", "'NoneType' object has no attribute 'iter'"));
    };
    let mut out = String::from("<?xml version=\"1.0\" ?>\n");
    write(&root, 0, &mut out);
    Ok(out)
}

/// The named entries of a value.
fn pairs(value: &Value) -> Result<Vec<(String, Value)>> {
    match value {
        Value::Dict(dict) => {
            let dict = dict.borrow().clone();
            dict.iter().map(|(key, value)| Ok((key.to_text()?, value.clone()))).collect()
        }
        Value::List(items) | Value::Tuple(items) => match items.borrow().as_slice() {
            [Value::String(name), value] => Ok(vec![(name.to_string(), value.clone())]),
            [] => Err(Error::exception("IndexError", "list index out of range")),
            _ => Ok(Vec::new()),
        },
        _ => Err(Error::runtime("Value is not a dict or list. Cannot render as XML")),
    }
}

/// Adds an element to its parent, or returns it if there is no parent.
fn add(
    scope: &Scope<'_>,
    tag: &str,
    value: &Value,
    parent: Option<&mut Element>,
    depth: usize,
) -> Result<Option<Element>> {
    if depth > MAX_NESTING {
        return Err(Error::too_deep("writing"));
    }
    // An element takes far more memory than a single step accounts for.
    scope.charge(100)?;
    if let Value::List(items) = value {
        let items = items.borrow().clone();
        let Some(parent) = parent else { return Ok(None) };
        for item in &items {
            add(scope, tag, item, Some(&mut *parent), depth + 1)?;
        }
        return Ok(None);
    }
    let mut element = Element { tag: tag.to_owned(), attributes: Vec::new(), text: None, children: Vec::new() };
    match value {
        Value::String(_) | Value::Int(_) | Value::BigInt(_) | Value::Bool(_) | Value::Float(_) => {
            element.text = Some(value.to_text()?);
        }
        other => {
            let is_dict = matches!(other, Value::Dict(_));
            for (name, inner) in pairs(other)? {
                if matches!(inner, Value::Dict(_) | Value::List(_)) {
                    add(scope, &name, &inner, Some(&mut element), depth + 1)?;
                } else if is_dict {
                    element.attributes.push((name, inner.to_text()?));
                }
            }
        }
    }
    match parent {
        Some(parent) => {
            parent.children.push(element);
            Ok(None)
        }
        None => Ok(Some(element)),
    }
}

fn write(element: &Element, depth: usize, out: &mut String) {
    let indent = " ".repeat(depth);
    out.push_str(&format!("{indent}<{}", element.tag));
    for (name, value) in &element.attributes {
        out.push_str(&format!(" {name}=\"{}\"", escape(value)));
    }
    match (&element.text, element.children.is_empty()) {
        (Some(text), _) if !text.is_empty() => {
            out.push_str(&format!(">{}</{}>\n", escape(text), element.tag));
        }
        (_, true) => out.push_str("/>\n"),
        (_, false) => {
            out.push_str(">\n");
            element.children.iter().for_each(|child| write(child, depth + 1, out));
            out.push_str(&format!("{indent}</{}>\n", element.tag));
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('>', "&gt;")
}
