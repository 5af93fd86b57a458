//! `${ outputs['id'].stdout }` in arguments: references to the outputs of other states.
//!
//! Only this exact form is a reference: dollar, brace, space, `outputs`. A shell's `${HOME}` stays text.

use std::collections::HashMap;

use rocksalt_core::{Map, Value};
use rocksalt_jinja::{Environment, Options};

use crate::low::Chunk;

const OPENING: &str = "${ outputs";

/// A part of a text with references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPiece<'t> {
    Text(&'t str),
    /// The text between the braces.
    Expression(&'t str),
}

/// Splits a text at its references. A text without references, or with an unclosed one, is a single piece.
pub fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(found) = text[from..].find(OPENING) {
        let opening = from + found;
        let inner = opening + "${".len();
        let rest = &text[opening + OPENING.len()..];
        let whole_word = !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        match closing(&text[inner..]).filter(|_| whole_word) {
            Some(length) => {
                if opening > start {
                    pieces.push(TextPiece::Text(&text[start..opening]));
                }
                pieces.push(TextPiece::Expression(text[inner..inner + length].trim()));
                start = inner + length + 1;
                from = start;
            }
            None => from = opening + OPENING.len(),
        }
    }
    if start < text.len() || pieces.is_empty() {
        pieces.push(TextPiece::Text(&text[start..]));
    }
    pieces
}

/// The position of the brace that closes an expression; quotes and nested braces are skipped.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The states that an expression references: `outputs['id']`, `outputs["id"]`, `outputs.name`.
///
/// `outputs('db1')['id']` belongs to another machine and is not included.
pub fn states_in(expression: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, word) in expression.match_indices("outputs") {
        let before = expression[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '\'' | '"')) {
            continue;
        }
        found.extend(step_of(expression[at + word.len()..].trim_start()));
    }
    found
}

/// The steps of other machines that an expression references: `outputs('db1')['id']`, `outputs('db1').name`.
pub fn elsewhere_in(expression: &str) -> Vec<(&str, &str)> {
    let quoted = |text: &str| text.chars().next().filter(|letter| matches!(letter, '\'' | '"'));
    let mut found = Vec::new();
    for (at, word) in expression.match_indices("outputs") {
        let before = expression[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '\'' | '"')) {
            continue;
        }
        let rest = expression[at + word.len()..].trim_start();
        let Some(inside) = rest.strip_prefix('(').map(str::trim_start) else { continue };
        let Some((machine, rest)) = quoted(inside).and_then(|quote| inside[1..].split_once(quote)) else { continue };
        let Some(rest) = rest.trim_start().strip_prefix(')').map(str::trim_start) else { continue };
        found.extend(step_of(rest).map(|step| (machine, step)));
    }
    found
}

/// The step after `outputs` or `outputs('db1')`: `['id']` or `.name`.
fn step_of(rest: &str) -> Option<&str> {
    let id = match rest.strip_prefix('[').map(str::trim_start) {
        Some(index) => {
            let quote = index.chars().next().filter(|letter| matches!(letter, '\'' | '"'))?;
            index[1..].split_once(quote).map(|(id, _)| id)
        }
        None => rest.strip_prefix('.').map(|name| {
            let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
            &name[..end]
        }),
    };
    id.filter(|id| !id.is_empty())
}

/// Whether a value contains a reference at any depth.
pub fn are_in(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(OPENING),
        Value::List(items) => items.iter().any(are_in),
        Value::Map(map) => map.values().any(are_in),
        _ => false,
    }
}

/// Evaluates an expression. `outputs` has the outputs of the states that it references, `elsewhere` those of other
/// machines by id.
pub fn evaluate(expression: &str, outputs: &Map, elsewhere: &Map) -> Result<Value, String> {
    let environment = Environment::new(Options::salt());
    let outputs = rocksalt_jinja::Value::object(OutputsByTarget {
        here: rocksalt_jinja::Value::from(Value::Map(outputs.clone())),
        elsewhere: elsewhere.clone(),
    });
    // An expression has only one line, so its number isn't shown.
    let told = |error: rocksalt_jinja::Error| error.to_string().trim_end_matches("; line 1").to_owned();
    let value = environment.evaluate(expression, &[("outputs", outputs)]).map_err(told)?;
    value.to_core().map_err(told)
}

/// `outputs` in an expression: a map of this machine's steps, and a function that returns another machine's.
struct OutputsByTarget {
    here: rocksalt_jinja::Value,
    elsewhere: Map,
}

impl rocksalt_jinja::PythonObject for OutputsByTarget {
    fn type_name(&self) -> &str {
        "outputs"
    }

    fn get_attribute(&self, name: &str) -> Option<rocksalt_jinja::Value> {
        self.get_item(&rocksalt_jinja::Value::from(Value::from(name))).ok().flatten()
    }

    fn get_item(&self, key: &rocksalt_jinja::Value) -> rocksalt_jinja::Result<Option<rocksalt_jinja::Value>> {
        let rocksalt_jinja::Value::Dict(here) = &self.here else { return Ok(None) };
        Ok(here.borrow().get(key)?.cloned())
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(
        &self,
        _: &rocksalt_jinja::Scope<'_>,
        mut arguments: rocksalt_jinja::FunctionArguments,
    ) -> rocksalt_jinja::Result<rocksalt_jinja::Value> {
        let machine = arguments.rest().first().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
        let of_machine = self.elsewhere.get(&machine).cloned().unwrap_or_else(|| Map::new().into());
        Ok(of_machine.into())
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(OPENING) => {
            for piece in pieces(text) {
                if let TextPiece::Expression(expression) = piece {
                    found.extend(states_in(expression).into_iter().map(str::to_owned));
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Map(map) => map.values().for_each(|item| collect(item, found)),
        _ => {}
    }
}

/// Makes every reference a requisite: a state that uses an output requires the state that provides it.
pub fn require<'c>(chunks: impl Iterator<Item = &'c mut Chunk>) {
    let mut chunks: Vec<&mut Chunk> = chunks.collect();
    let users: Vec<(usize, Vec<String>)> = chunks
        .iter()
        .enumerate()
        .filter(|(_, chunk)| chunk.name.contains(OPENING) || chunk.arguments.values().any(are_in))
        .map(|(index, chunk)| {
            let mut found = Vec::new();
            collect(&chunk.name.as_str().into(), &mut found);
            chunk.arguments.values().for_each(|value| collect(value, &mut found));
            (index, found)
        })
        .collect();
    if users.is_empty() {
        return;
    }
    let registered: HashMap<String, String> = chunks
        .iter()
        .filter_map(|chunk| Some((chunk.arguments.get("register")?.as_str()?.to_owned(), chunk.id.clone())))
        .collect();
    for (index, found) in users {
        let mut required = match chunks[index].arguments.remove("require") {
            Some(Value::List(required)) => required,
            Some(Value::Null) | None => Vec::new(),
            Some(one) => vec![one],
        };
        for id in found {
            let id = registered.get(&id).cloned().unwrap_or(id);
            let reference = Value::from(id.as_str());
            if id != chunks[index].id && !required.contains(&reference) {
                required.push(reference);
            }
        }
        if !required.is_empty() {
            chunks[index].arguments.insert("require", required);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_reference() {
        use TextPiece::*;
        let cases: &[(&str, &[TextPiece<'_>])] = &[
            ("", &[Text("")]),
            ("plain", &[Text("plain")]),
            ("${HOME} ${outputs.x}", &[Text("${HOME} ${outputs.x}")]),
            ("${ outputsx }", &[Text("${ outputsx }")]),
            ("${ outputs['a'].b }", &[Expression("outputs['a'].b")]),
            ("a ${ outputs.a.b | trim }c", &[Text("a "), Expression("outputs.a.b | trim"), Text("c")]),
            ("${ outputs['}'].x }", &[Expression("outputs['}'].x")]),
            ("${ outputs.a.get({'x': 1}) }", &[Expression("outputs.a.get({'x': 1})")]),
            ("${ outputs.a ${ outputs.b }", &[Text("${ outputs.a "), Expression("outputs.b")]),
            ("${ outputs.a.x }${ outputs.b.x }", &[Expression("outputs.a.x"), Expression("outputs.b.x")]),
            ("${ outputs.a", &[Text("${ outputs.a")]),
        ];
        for (text, expected) in cases {
            assert_eq!(pieces(text), *expected, "{text}");
        }
    }

    #[test]
    fn expressions_are_jinja() {
        let token = Map::from_iter([("stdout".into(), Value::from(" t0ken\n")), ("retcode".into(), Value::Int(0))]);
        let outputs = Map::from_iter([("make token".into(), Value::Map(token))]);
        let evaluate = |text| evaluate(text, &outputs, &Map::new());
        assert_eq!(evaluate("outputs['make token'].stdout | trim"), Ok("t0ken".into()));
        assert_eq!(evaluate("outputs['make token'].retcode + 1"), Ok(Value::Int(1)));
        assert!(evaluate("outputs['make token'].nothing").is_err_and(|text| text.contains("nothing")));
        assert!(evaluate("outputs['make token'").is_err());
    }

    #[test]
    fn an_expression_names_its_states() {
        let cases: &[(&str, &[&str])] = &[
            ("outputs['make token'].stdout | trim", &["make token"]),
            ("outputs[\"a\"].x ~ outputs.b.y", &["a", "b"]),
            ("outputs('db1')['make token'].stdout", &[]),
            ("outputs[name].x", &[]),
            ("outputs.a['outputs.z']", &["a"]),
        ];
        for (expression, expected) in cases {
            assert_eq!(states_in(expression), *expected, "{expression}");
        }
    }
}
