//! Builds nodes from the parser's events: anchors, merge keys, duplicate keys, limits.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::input::ParserInput;
use super::{Error, ErrorCause, Node, NodeContent, NodePosition, outdent, scalar};
use crate::value::index::{FEW, KeyIndex};
use crate::value::{MAX_DEPTH, Value};

/// The limit of nodes in a document after its aliases are expanded (`docs/security-rules.md#r14`).
const MAX_NODES: usize = 2_000_000;

/// Parses one document; an empty text is null.
pub fn load(text: &str) -> Result<Node, Error> {
    if let Some(error) = tab_indentation(text) {
        return Err(error);
    }
    let refused = match read(text) {
        Err(error) if outdent::is_cause(&error) => error,
        done => return done,
    };
    let Some((moved, shifts)) = outdent::repaired(text, &refused, |text| read(text).err()) else { return Err(refused) };
    let mut node = read(&moved).map_err(|_| refused)?;
    outdent::original_places(&mut node, &shifts);
    Ok(node)
}

fn read(text: &str) -> Result<Node, Error> {
    NodeLoader { parser: Parser::new(ParserInput::new(text)), anchors: HashMap::new(), nodes: 0 }.document()
}

struct NodeLoader<'a> {
    parser: Parser<'a, ParserInput<'a>>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
}

impl<'a> NodeLoader<'a> {
    fn document(&mut self) -> Result<Node, Error> {
        let mut root = None;
        loop {
            let (event, span) = self.event()?;
            match event {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::StreamEnd => break,
                Event::DocumentStart(_) if root.is_some() => {
                    return Err(error(
                        "expected a single document in the stream but found another document",
                        place(&span),
                    ));
                }
                Event::DocumentStart(_) => {
                    let (event, span) = self.event()?;
                    root = Some(self.node(event, span, MAX_DEPTH)?);
                }
                _ => return Err(error("content outside of the document", place(&span))),
            }
        }
        Ok(root
            .unwrap_or(Node { place: NodePosition { line: 1, column: 1 }, content: NodeContent::Scalar(Value::Null) }))
    }

    fn event(&mut self) -> Result<(Event<'a>, Span), Error> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(scan)) => {
                let marker = scan.marker();
                Err(error(scan.info(), NodePosition { line: marker.line(), column: marker.col() + 1 }))
            }
            None => Ok((Event::StreamEnd, Span::empty(saphyr_parser::Marker::new(0, 1, 0)))),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Error> {
        let place = place(&span);
        let Some(depth) = depth.checked_sub(1) else { return Err(error("nested too deeply", place)) };
        let before = self.nodes;
        self.count(1, place)?;
        let (anchor, content) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (anchor, NodeContent::Scalar(scalar_value(&text, style, tag.as_deref(), place)?))
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), "seq", place)?;
                // Most lists of requisites have one entry, but a growing list would start with a capacity of four.
                let mut items = Vec::with_capacity(1);
                loop {
                    let (event, span) = self.event()?;
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    items.push(self.node(event, span, depth)?);
                }
                (anchor, NodeContent::List(items))
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), "map", place)?;
                (anchor, NodeContent::Map(self.mapping(depth)?))
            }
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err(error("an alias to an anchor that is not complete yet", place));
                };
                self.count(size, place)?;
                return Ok(Node { place, content: node.content });
            }
            _ => return Err(error("expected a value", place)),
        };
        let node = Node { place, content };
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), self.nodes - before));
        }
        Ok(node)
    }

    fn count(&mut self, nodes: usize, place: NodePosition) -> Result<(), Error> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES { Err(error("too many nodes; aliases multiply them", place)) } else { Ok(()) }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<(Node, Node)>, Error> {
        let mut merged = Vec::new();
        let mut own = OwnPairs { pairs: Vec::with_capacity(1), index: None, numbers: HashSet::new() };
        loop {
            let (event, span) = self.event()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = if is_merge {
                Node { place: place(&span), content: NodeContent::Scalar("<<".into()) }
            } else {
                self.node(event, span, depth)?
            };
            let (event, span) = self.event()?;
            let value = self.node(event, span, depth)?;
            if is_merge {
                merge(value, key.place, &mut merged)?;
                continue;
            }
            let NodeContent::Scalar(name) = &key.content else {
                let message = "found unhashable key".to_owned();
                return Err(Error { kind: ErrorCause::UnhashableKey, message, place: key.place });
            };
            if own.has(name) {
                return Err(conflict(name, key.place));
            }
            own.push(key, value);
        }
        if merged.is_empty() {
            return Ok(own.pairs);
        }
        // In Salt, two merged maps that share a key are a conflict, unless the map itself has the key.
        let mut from_merges = HashSet::new();
        merged.retain(|(key, _)| key.scalar().is_some_and(|name| !own.has(name)));
        for (key, _) in &merged {
            let name = key.scalar().unwrap_or(&Value::Null);
            if !from_merges.insert(same_key(name)) {
                return Err(conflict(name, key.place));
            }
        }
        merged.append(&mut own.pairs);
        Ok(merged)
    }
}

/// The entries of a map without the merged ones.
struct OwnPairs {
    pairs: Vec<(Node, Node)>,
    /// Only present with more than a few entries.
    index: Option<KeyIndex>,
    /// The keys that are numbers or booleans.
    numbers: HashSet<Value>,
}

impl OwnPairs {
    fn has(&self, name: &Value) -> bool {
        match name {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => self.numbers.contains(&same_key(name)),
            _ => match &self.index {
                None => self.pairs.iter().any(|(key, _)| key.scalar() == Some(name)),
                Some(index) => index.find(name.into(), |place| name_at(&self.pairs, place)).is_some(),
            },
        }
    }

    fn push(&mut self, key: Node, value: Node) {
        if let Some(name @ (Value::Bool(_) | Value::Int(_) | Value::Float(_))) = key.scalar() {
            self.numbers.insert(same_key(name));
        }
        self.pairs.push((key, value));
        let (pairs, count) = (&self.pairs, self.pairs.len());
        match &mut self.index {
            Some(index) => index.insert(count - 1, |place| name_at(pairs, place)),
            None if count > FEW => self.index = Some(KeyIndex::new(count, |place| name_at(pairs, place))),
            None => {}
        }
    }
}

fn name_at(pairs: &[(Node, Node)], place: usize) -> &Value {
    pairs[place].0.scalar().unwrap_or(&Value::Null)
}

/// Normalizes keys that are equal in Python: `1`, `1.0` and `true`.
#[allow(clippy::cast_possible_truncation, clippy::float_cmp, reason = "only whole numbers that fit are taken")]
fn same_key(name: &Value) -> Value {
    match name {
        Value::Bool(flag) => Value::Int(i64::from(*flag)),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => Value::Int(*number as i64),
        other => other.clone(),
    }
}

fn merge(value: Node, place: NodePosition, merged: &mut Vec<(Node, Node)>) -> Result<(), Error> {
    match value.content {
        NodeContent::Map(pairs) => merged.extend(pairs),
        NodeContent::List(items) => {
            // In YAML, the first map of the list has precedence, so it must come last here.
            for item in items.into_iter().rev() {
                match item.content {
                    NodeContent::Map(pairs) => merged.extend(pairs),
                    _ => return Err(error("expected a mapping for merging", item.place)),
                }
            }
        }
        NodeContent::Scalar(_) => return Err(error("expected a mapping or list of mappings for merging", place)),
    }
    Ok(())
}

fn scalar_value(text: &str, style: ScalarStyle, tag: Option<&Tag>, place: NodePosition) -> Result<Value, Error> {
    let Some(tag) = tag else {
        if style != ScalarStyle::Plain {
            return Ok(Value::String(text.to_owned()));
        }
        if text == "=" || text == "<<" {
            return Err(error(format!("could not determine a constructor for the plain scalar '{text}'"), place));
        }
        return Ok(scalar::resolve(text));
    };
    let name = if tag.is_yaml_core_schema() || tag.handle == "!!" { tag.suffix.as_str() } else { "" };
    match name {
        "str" => Ok(Value::String(text.to_owned())),
        "null" => Ok(Value::Null),
        "int" | "float" | "bool" | "timestamp" => Ok(scalar::resolve(text)),
        _ => Err(unknown_tag(tag, place)),
    }
}

fn check_tag(tag: Option<&Tag>, wanted: &str, place: NodePosition) -> Result<(), Error> {
    match tag {
        Some(tag) if !(tag.suffix == wanted || (tag.suffix == "omap" && wanted == "seq")) => {
            Err(unknown_tag(tag, place))
        }
        _ => Ok(()),
    }
}

fn unknown_tag(tag: &Tag, place: NodePosition) -> Error {
    error(format!("could not determine a constructor for the tag '{}{}'", tag.handle, tag.suffix), place)
}

fn conflict(name: &Value, place: NodePosition) -> Error {
    Error { kind: ErrorCause::DuplicateKey, message: format!("found conflicting ID '{name}'"), place }
}

/// Finds tabs that the parser accepts and PyYAML refuses, to report them clearly.
fn tab_indentation(text: &str) -> Option<Error> {
    let (index, line) = text.lines().enumerate().find(|(_, line)| {
        let content = line.trim_start_matches(' ');
        content.starts_with('\t')
            && !content.trim_start().is_empty()
            && !content.trim_start().starts_with(['#', '{', '}', '[', ']', '"'])
    })?;
    let column = line.find('\t').unwrap_or(0) + 1;
    // Inside a block scalar or a flow collection, a tab may be content: the parser decides.
    let inside =
        text.lines().take(index).any(|line| line.trim_end().ends_with(['|', '>', '-', '+', '{', '[', ',', '"', '\'']));
    (!inside)
        .then(|| error("found character '\\t' that cannot start any token", NodePosition { line: index + 1, column }))
}

fn place(span: &Span) -> NodePosition {
    NodePosition { line: span.start.line(), column: span.start.col() + 1 }
}

fn error(message: impl Into<String>, place: NodePosition) -> Error {
    Error { kind: ErrorCause::Other, message: message.into(), place }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::json;

    fn read(text: &str) -> String {
        parse(text).map_or_else(|error| error.to_string(), |value| json::compact(&value))
    }

    #[test]
    fn documents_are_read() {
        assert_eq!(read(""), "null");
        assert_eq!(read("a: [1, yes]\nb:\n  - c: d\n"), r#"{"a":[1,true],"b":[{"c":"d"}]}"#);
        assert_eq!(read("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n"), r#"{"a":{"b":1},"c":{"b":1,"d":2}}"#);
        assert_eq!(read("'1': |\n  text\n"), r#"{"1":"text\n"}"#);
        assert_eq!(read(r#"{"a": "b", "c": [1.5, null]}"#), r#"{"a":"b","c":[1.5,null]}"#);
    }

    /// As in PyYAML, indentation doesn't matter inside brackets and quotes.
    #[test]
    fn indentation_ends_in_brackets_and_quotes() {
        let cases = [
            (
                "a:\n  b:\n    - x: {p: 1, q: [1, 2,\n  3], r: 4,\n  s: 5}\n    - y: 2\n",
                r#"{"a":{"b":[{"x":{"p":1,"q":[1,2,3],"r":4,"s":5}},{"y":2}]}}"#,
            ),
            ("a:\n  - x: [1,\n2,\n3\n]\n  - y: 1\n", r#"{"a":[{"x":[1,2,3]},{"y":1}]}"#),
            ("a:\n  - x: \"p\nq\n\n  r\"\n  - y: 'it''s\nso'\n", r#"{"a":[{"x":"p q\nr"},{"y":"it's so"}]}"#),
            (
                "a:\n  - x: [1, # ]\n2, 'b\n]', {c: \"}\"}\n]\n  - y: [3,\n4]\n",
                r#"{"a":[{"x":[1,2,"b ]",{"c":"}"}]},{"y":[3,4]}]}"#,
            ),
            (
                "a:\n  - x: {p: {q: [1,\n  2],\n r: 3},\n s: 4}\nb: 1\n",
                r#"{"a":[{"x":{"p":{"q":[1,2],"r":3},"s":4}}],"b":1}"#,
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(read(text), wanted, "{text}");
        }
        assert!(parse("a:\n  - x: [1\nb: 2\n").is_err());
        let node = super::load("a:\n  - x: [1,\n2]\n").expect("it is YAML");
        let list = &node.pairs().expect("a map")[0].1.items().expect("a list")[0].pairs().expect("a map")[0].1;
        assert_eq!(list.items().expect("a list")[1].place, super::NodePosition { line: 3, column: 1 });
    }

    #[test]
    fn faults_name_their_place() {
        assert_eq!(read("a: 1\na: 2\n"), "found conflicting ID 'a'; line 2, column 1");
        assert_eq!(read("yes: 1\nYes: 2\n"), "found conflicting ID 'True'; line 2, column 1");
        assert_eq!(read("1: a\nyes: b\n"), "found conflicting ID 'True'; line 2, column 1");
        assert_eq!(read("1: a\n1.0: b\n"), "found conflicting ID '1.0'; line 2, column 1");
        assert!(parse("1: a\n'1': b\n").is_ok());
        assert!(read("a: !foo bar\n").starts_with("could not determine a constructor"), "{}", read("a: !foo bar\n"));
        assert!(read("---\na\n---\nb\n").contains("another document"));
        assert!(read("a:\n\tb: 1\n").contains("'\\t'"), "{}", read("a:\n\tb: 1\n"));
    }

    #[test]
    fn aliases_cannot_eat_memory() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", "));
        }
        assert!(read(&bomb).contains("too many nodes"));
    }
}
