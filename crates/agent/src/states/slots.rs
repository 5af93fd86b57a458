//! Slots: `__slot__:salt:mod.fun(args).path ~ text`, filled in when the state runs.

use rocksalt_core::{Call, Map, Value};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::System;
use rocksalt_modules::{Error, Result};

pub const MARK: &str = "__slot__:";

/// Replaces slots by their values: in texts, in texts of a list, and in one level of maps.
pub fn fill(arguments: &mut Map, machine: &dyn System) -> Result<()> {
    for (_, value) in arguments.iter_mut() {
        match value {
            Value::Map(map) => fill_map(map, machine)?,
            Value::List(items) => {
                for item in items {
                    match item {
                        Value::Map(map) => fill_map(map, machine)?,
                        other => fill_text(other, machine)?,
                    }
                }
            }
            other => fill_text(other, machine)?,
        }
    }
    Ok(())
}

fn fill_map(map: &mut Map, machine: &dyn System) -> Result<()> {
    map.iter_mut().try_for_each(|(_, value)| fill_text(value, machine))
}

fn fill_text(value: &mut Value, machine: &dyn System) -> Result<()> {
    if let Value::String(text) = value
        && text.starts_with(MARK)
        && let Some(slot) = parse(text)
    {
        *value = evaluate(slot, machine)?;
    }
    Ok(())
}

struct SlotCall {
    call: Call,
    /// A dotted path into the function's result.
    path: Option<String>,
    /// Text that is appended to a result that is text.
    behind: Option<String>,
}

fn evaluate(slot: SlotCall, machine: &dyn System) -> Result<Value> {
    let answer = catalog::call(catalog::from_template(slot.call), machine);
    if let Some(problem) = answer.problem {
        return Err(Error::from(problem));
    }
    let mut value = answer.value;
    if let Some(path) = slot.path {
        value = value.walk(&path, ".").cloned().unwrap_or_default();
    }
    if let (Value::String(text), Some(behind)) = (&mut value, slot.behind) {
        text.push_str(&behind);
    }
    Ok(value)
}

/// `None` for a malformed slot, which stays plain text.
fn parse(text: &str) -> Option<SlotCall> {
    let function = text.strip_prefix(MARK)?.strip_prefix("salt:")?;
    let call = parse_call(function)?;
    catalog::find(&call.function)?;
    let (called, behind) = match function.split_once('~') {
        Some((called, behind)) => (called, Some(unquoted(behind.trim()).to_owned())),
        None => (function, None),
    };
    let after = called.rfind(')').map_or("", |at| &called[at + 1..]);
    let path = after.split_once('.').map(|(_, path)| path.trim().to_owned());
    Some(SlotCall { call, path, behind })
}

fn unquoted(text: &str) -> &str {
    let quoted = |quote: char| text.len() >= 2 && text.starts_with(quote) && text.ends_with(quote);
    if quoted('"') || quoted('\'') { &text[1..text.len() - 1] } else { text }
}

/// Parses `mod.fun(arg, "two words", key=value)`: all arguments are texts.
fn parse_call(text: &str) -> Option<Call> {
    let mut tokens = tokens(text)?.into_iter();
    let mut name = String::new();
    loop {
        match tokens.next()? {
            SlotToken::Sign('(') if !name.is_empty() => break,
            token => token.onto(&mut name),
        }
    }
    let mut call = Call::new(name);
    let (mut word, mut key, mut brackets): (Option<String>, Option<String>, Vec<char>) = (None, None, Vec::new());
    for token in tokens {
        match token {
            SlotToken::Sign(sign @ (',' | ')')) if brackets.is_empty() => {
                match (key.take(), word.take()) {
                    (Some(key), word) => {
                        call.kwargs.insert(key, word.unwrap_or_default());
                    }
                    (None, Some(word)) => call.args.push(word.into()),
                    (None, None) => {}
                }
                if sign == ')' {
                    return Some(call);
                }
                continue;
            }
            SlotToken::Sign('=') if brackets.is_empty() => {
                key = Some(word.take().unwrap_or_default());
                continue;
            }
            SlotToken::Sign(open @ ('[' | '{' | '(')) => brackets.push(open),
            SlotToken::Sign(close @ (']' | '}' | ')')) => {
                let fits = matches!((brackets.pop()?, close), ('[', ']') | ('{', '}') | ('(', ')'));
                if !fits {
                    return None;
                }
            }
            _ => {}
        }
        token.onto(word.get_or_insert_default());
    }
    None
}

#[derive(Clone)]
enum SlotToken {
    Sign(char),
    Word(String),
}

impl SlotToken {
    fn onto(&self, text: &mut String) {
        match self {
            SlotToken::Sign(sign) => text.push(*sign),
            SlotToken::Word(word) => text.push_str(word),
        }
    }
}

/// Splits the text into words and single signs. Quotes join words and are removed; white space only separates.
fn tokens(text: &str) -> Option<Vec<SlotToken>> {
    let mut tokens = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        close if close == letter => break,
                        '\\' => word.push(letters.next()?),
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            '#' => break,
            letter if letter.is_alphanumeric() || letter == '_' => word.get_or_insert_default().push(letter),
            other => {
                tokens.extend(word.take().map(SlotToken::Word));
                if !other.is_whitespace() {
                    tokens.push(SlotToken::Sign(other));
                }
            }
        }
    }
    tokens.extend(word.map(SlotToken::Word));
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use rocksalt_modules::machine::Fake;

    use super::*;

    #[test]
    fn slots_are_filled_in() {
        let cases = [
            ("__slot__:salt:test.echo(hello)", "hello"),
            ("__slot__:salt:test.echo(\"two words\")", "two words"),
            ("__slot__:salt:test.echo(text=a:b/c.d)", "a:b/c.d"),
            ("__slot__:salt:test.echo('a, b') ~ /more", "a, b/more"),
            ("__slot__:salt:test.echo(x) ~ ' more'", "x more"),
            ("__slot__:salt:test.arg(k=v).kwargs.k", "v"),
            ("__slot__:salt:test.arg(k=v).kwargs.none", "None"),
            ("__slot__:salt:test.arg([1,2], {a}).args", "['[1,2]', '{a}']"),
            // Malformed slots stay as they are.
            ("__slot__:salt:test.echo", "__slot__:salt:test.echo"),
            ("__slot__:salt:test.nosuch()", "__slot__:salt:test.nosuch()"),
            ("__slot__:grains:os", "__slot__:grains:os"),
            ("__slot__:salt:test.echo('open", "__slot__:salt:test.echo('open"),
            ("no __slot__:salt:test.ping()", "no __slot__:salt:test.ping()"),
        ];
        for (text, expected) in cases {
            let mut arguments = Map::from_iter([
                ("a".into(), text.into()),
                ("b".into(), Value::List(vec![text.into(), Map::from_iter([("c".into(), text.into())]).into()])),
            ]);
            fill(&mut arguments, &Fake::new()).expect("it answers");
            assert_eq!(arguments.get("a").map(ToString::to_string).as_deref(), Some(expected), "{text}");
            let nested = Value::Map(arguments).walk("b:1:c", ":").map(ToString::to_string);
            assert_eq!(nested.as_deref(), Some(expected), "{text}");
        }
    }
}
