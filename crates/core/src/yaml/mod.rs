//! Parses YAML as Salt does, with the position of every node.
//!
//! The parser crate emits events; [`scalar`] resolves plain scalars, since Salt's rules are neither YAML 1.1's nor
//! 1.2's.

mod dump;
mod emit;
mod input;
mod load;
mod outdent;
mod scalar;

use crate::value::{Map, Value};

pub use dump::{Collection, DumpOptions, Emitter, EmitterOptions, ScalarText, dump, scalar as written};
pub use emit::emit;
pub use load::load;
pub use scalar::resolve;

/// Parses one document; an empty text is null.
pub fn parse(text: &str) -> Result<Value, Error> {
    load(text).map(Node::into_value)
}

/// A value with its position.
#[derive(Clone, Debug)]
pub struct Node {
    pub place: NodePosition,
    pub content: NodeContent,
}

#[derive(Clone, Debug)]
pub enum NodeContent {
    Scalar(Value),
    List(Vec<Node>),
    /// In the order of the text; keys are scalars and distinct.
    Map(Vec<(Node, Node)>),
}

/// A position in a text; both numbers count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePosition {
    pub line: usize,
    pub column: usize,
}

/// The causes that callers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause {
    /// A syntax error, an unknown tag or a limit.
    Other,
    /// Two keys of a map are equal.
    DuplicateKey,
    /// A list or a map as a key.
    UnhashableKey,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; line {}, column {}", place.line, place.column)]
pub struct Error {
    pub kind: ErrorCause,
    pub message: String,
    pub place: NodePosition,
}

impl Node {
    pub fn into_value(self) -> Value {
        match self.content {
            NodeContent::Scalar(value) => value,
            NodeContent::List(items) => Value::List(items.into_iter().map(Node::into_value).collect()),
            NodeContent::Map(pairs) => {
                let pairs = pairs.into_iter().map(|(key, value)| (key.into_value(), value.into_value()));
                Value::Map(Map::of_distinct(pairs.collect()))
            }
        }
    }

    pub fn pairs(&self) -> Option<&[(Node, Node)]> {
        match &self.content {
            NodeContent::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    pub fn items(&self) -> Option<&[Node]> {
        match &self.content {
            NodeContent::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn scalar(&self) -> Option<&Value> {
        match &self.content {
            NodeContent::Scalar(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        self.scalar().and_then(Value::as_str)
    }

    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(Value::is_null)
    }

    /// The kind of value, in words for users.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            NodeContent::Scalar(value) => value.kind(),
            NodeContent::List(_) => "a list",
            NodeContent::Map(_) => "a map",
        }
    }
}
