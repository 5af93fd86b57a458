//! From events to nodes: anchors, merge keys, doubled keys, limits.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::input::Text;
use super::{Content, Error, Node, Place, scalar};
use crate::value::index::{FEW, Index};
use crate::value::{MAX_DEPTH, Value};

/// How many nodes a document may have once its aliases are expanded (rule R14).
const MAX_NODES: usize = 2_000_000;

/// Reads one document; an empty text is null.
pub fn load(text: &str) -> Result<Node, Error> {
    if let Some(error) = tab_indentation(text) {
        return Err(error);
    }
    let mut loader = Loader { parser: Parser::new(Text::new(text)), anchors: HashMap::new(), nodes: 0 };
    loader.document()
}

struct Loader<'a> {
    parser: Parser<'a, Text<'a>>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
}

impl<'a> Loader<'a> {
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
        Ok(root.unwrap_or(Node { place: Place { line: 1, column: 1 }, content: Content::Scalar(Value::Null) }))
    }

    fn event(&mut self) -> Result<(Event<'a>, Span), Error> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(scan)) => {
                let marker = scan.marker();
                Err(error(scan.info(), Place { line: marker.line(), column: marker.col() + 1 }))
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
                (anchor, Content::Scalar(scalar_value(&text, style, tag.as_deref(), place)?))
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), "seq", place)?;
                // Most lists of requisites have one entry, and a list that grows by itself has room for four.
                let mut items = Vec::with_capacity(1);
                loop {
                    let (event, span) = self.event()?;
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    items.push(self.node(event, span, depth)?);
                }
                (anchor, Content::List(items))
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), "map", place)?;
                (anchor, Content::Map(self.mapping(depth)?))
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

    fn count(&mut self, nodes: usize, place: Place) -> Result<(), Error> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES { Err(error("too many nodes; aliases multiply them", place)) } else { Ok(()) }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<(Node, Node)>, Error> {
        let mut merged = Vec::new();
        let mut own = Own { pairs: Vec::with_capacity(1), index: None };
        loop {
            let (event, span) = self.event()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = if is_merge {
                Node { place: place(&span), content: Content::Scalar("<<".into()) }
            } else {
                self.node(event, span, depth)?
            };
            let (event, span) = self.event()?;
            let value = self.node(event, span, depth)?;
            if is_merge {
                merge(value, key.place, &mut merged)?;
                continue;
            }
            let Content::Scalar(name) = &key.content else {
                return Err(error("a key must be a scalar, not a list or a map", key.place));
            };
            if own.has(name) {
                return Err(conflict(name, key.place));
            }
            own.push(key, value);
        }
        if merged.is_empty() {
            return Ok(own.pairs);
        }
        // Two merged maps that share a key are a conflict in Salt, unless the map itself has the key.
        let mut from_merges = HashSet::new();
        merged.retain(|(key, _)| key.scalar().is_some_and(|name| !own.has(name)));
        for (key, _) in &merged {
            let name = key.scalar().unwrap_or(&Value::Null);
            if !from_merges.insert(name) {
                return Err(conflict(name, key.place));
            }
        }
        merged.append(&mut own.pairs);
        Ok(merged)
    }
}

/// What a map says itself, without what it merges.
struct Own {
    pairs: Vec<(Node, Node)>,
    /// Only if there are more than a few.
    index: Option<Index>,
}

impl Own {
    fn has(&self, name: &Value) -> bool {
        match &self.index {
            None => self.pairs.iter().any(|(key, _)| key.scalar() == Some(name)),
            Some(index) => index.find(name.into(), |place| name_at(&self.pairs, place)).is_some(),
        }
    }

    fn push(&mut self, key: Node, value: Node) {
        self.pairs.push((key, value));
        let (pairs, count) = (&self.pairs, self.pairs.len());
        match &mut self.index {
            Some(index) => index.insert(count - 1, |place| name_at(pairs, place)),
            None if count > FEW => self.index = Some(Index::new(count, |place| name_at(pairs, place))),
            None => {}
        }
    }
}

fn name_at(pairs: &[(Node, Node)], place: usize) -> &Value {
    pairs[place].0.scalar().unwrap_or(&Value::Null)
}

fn merge(value: Node, place: Place, merged: &mut Vec<(Node, Node)>) -> Result<(), Error> {
    match value.content {
        Content::Map(pairs) => merged.extend(pairs),
        Content::List(items) => {
            // The first of a list wins in YAML, so it must come last here.
            for item in items.into_iter().rev() {
                match item.content {
                    Content::Map(pairs) => merged.extend(pairs),
                    _ => return Err(error("expected a mapping for merging", item.place)),
                }
            }
        }
        Content::Scalar(_) => return Err(error("expected a mapping or list of mappings for merging", place)),
    }
    Ok(())
}

fn scalar_value(text: &str, style: ScalarStyle, tag: Option<&Tag>, place: Place) -> Result<Value, Error> {
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

fn check_tag(tag: Option<&Tag>, wanted: &str, place: Place) -> Result<(), Error> {
    match tag {
        Some(tag) if !(tag.suffix == wanted || (tag.suffix == "omap" && wanted == "seq")) => {
            Err(unknown_tag(tag, place))
        }
        _ => Ok(()),
    }
}

fn unknown_tag(tag: &Tag, place: Place) -> Error {
    error(format!("could not determine a constructor for the tag '{}{}'", tag.handle, tag.suffix), place)
}

fn conflict(name: &Value, place: Place) -> Error {
    error(format!("found conflicting ID '{name}'"), place)
}

/// The parser accepts some tabs that PyYAML refuses; a user wants to hear of them plainly.
fn tab_indentation(text: &str) -> Option<Error> {
    let (index, line) = text.lines().enumerate().find(|(_, line)| {
        let content = line.trim_start_matches(' ');
        content.starts_with('\t')
            && !content.trim_start().is_empty()
            && !content.trim_start().starts_with(['#', '{', '}', '[', ']', '"'])
    })?;
    let column = line.find('\t').unwrap_or(0) + 1;
    // Inside a block scalar or a flow collection a tab may be content: let the parser judge those.
    let inside =
        text.lines().take(index).any(|line| line.trim_end().ends_with(['|', '>', '-', '+', '{', '[', ',', '"', '\'']));
    (!inside).then(|| error("found character '\\t' that cannot start any token", Place { line: index + 1, column }))
}

fn place(span: &Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

fn error(message: impl Into<String>, place: Place) -> Error {
    Error { message: message.into(), place }
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

    #[test]
    fn faults_name_their_place() {
        assert_eq!(read("a: 1\na: 2\n"), "found conflicting ID 'a'; line 2, column 1");
        assert_eq!(read("yes: 1\nYes: 2\n"), "found conflicting ID 'True'; line 2, column 1");
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
