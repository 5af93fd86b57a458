//! Errors of target expressions.

use crate::pattern;

/// An error in a target expression. Nothing was matched; the user must change the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the target is empty; '*' means all")]
    Empty,
    #[error("'{name}' is not a way to target{hint}")]
    UnknownKind { name: String, hint: String },
    #[error("'{word}' starts with a letter that no kind of target has; the letters are G, P, I, J, L, N, S, E and R")]
    UnknownLetter { word: String },
    #[error("'{word}' has nothing to match behind its '@'")]
    NoPattern { word: String },
    #[error("word {position}: '{word}' stands where a target or 'not' or '(' should")]
    ExpectedTarget { word: String, position: usize },
    #[error("the target ends behind '{word}', where something must follow")]
    UnfinishedAfter { word: String },
    #[error("word {position}: '{word}' follows a target; put 'and' or 'or' between them")]
    ExpectedOperator { word: String, position: usize },
    #[error("word {position}: a parenthesis is opened and never closed")]
    Unclosed { position: usize },
    #[error("word {position}: a parenthesis is closed that was never opened")]
    Unopened { position: usize },
    #[error("the parenthesis in '{word}' is taken as part of the word; a parenthesis must stand alone: '( a or b )'")]
    AttachedParenthesis { word: String },
    #[error("the target nests deeper than {0} levels")]
    TooDeep(usize),
    #[error("the target has more than {0} parts once its nodegroups are expanded")]
    TooLarge(usize),
    #[error("there is no nodegroup '{name}'{hint}")]
    UnknownNodegroup { name: String, hint: String },
    #[error("nodegroup '{name}' contains itself: {path}")]
    RecursiveNodegroup { name: String, path: String },
    #[error("in nodegroup '{name}'")]
    InNodegroup {
        name: String,
        #[source]
        cause: Box<Error>,
    },
    #[error("'{text}' has no '{delimiter}' between a key and a value")]
    NoDelimiter { text: String, delimiter: String },
    #[error("a delimiter can't be empty")]
    EmptyDelimiter,
    #[error(transparent)]
    BadRegex(#[from] pattern::Error),
    #[error("'{text}' is not an address or a network: {reason}")]
    BadNetwork { text: String, reason: String },
    #[error("'{text}' is not a range: {reason}")]
    BadRange { text: String, reason: String },
    #[error(
        "'{text}' looks up '%{cluster}' on a range server, which isn't supported; name the hosts, or make it a nodegroup"
    )]
    RangeCluster { text: String, cluster: String },
    #[error("nodegroup '{name}' is {kind}; it must be a text or a list of words")]
    BadNodegroup { name: String, kind: &'static str },
}
