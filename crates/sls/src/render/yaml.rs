//! The renderer `yaml`: data as Salt reads YAML, with the position of each node.

use rocksalt_core::yaml::{self, Node, NodeContent};

use super::{Error, MappedText, PipeData, RenderContext, Renderer, nothing};

/// The parser's message about a second document.
const ANOTHER: &str = "expected a single document in the stream but found another document";

pub struct YamlRenderer;

impl Renderer for YamlRenderer {
    fn name(&self) -> &'static str {
        "yaml"
    }

    fn render(&self, input: PipeData, _: &str, _: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
        let input = input.into_text(self.name())?;
        let mut node = yaml::load(&input.text).map_err(|error| explain(&error, &input))?;
        if is_empty(&node) {
            return Ok(PipeData::Data(nothing()));
        }
        if !input.lines.is_empty() {
            original_lines(&mut node, &input);
        }
        Ok(PipeData::Data(node))
    }
}

/// Whether the data is false in Python, so that it isn't a map of states.
fn is_empty(node: &Node) -> bool {
    match &node.content {
        NodeContent::Scalar(value) => !value.truth(),
        NodeContent::List(items) => items.is_empty(),
        NodeContent::Map(pairs) => pairs.is_empty(),
    }
}

/// Maps lines of the rendered text to lines of the file. The columns may differ.
fn original_lines(node: &mut Node, input: &MappedText) {
    node.place.line = input.line(node.place.line);
    match &mut node.content {
        NodeContent::Scalar(_) => {}
        NodeContent::List(items) => items.iter_mut().for_each(|item| original_lines(item, input)),
        NodeContent::Map(pairs) => pairs.iter_mut().for_each(|(key, value)| {
            original_lines(key, input);
            original_lines(value, input);
        }),
    }
}

/// Converts the error to the text of Salt's parser, which users search for.
fn explain(error: &yaml::Error, input: &MappedText) -> Error {
    let place = error.place;
    let rendered = input.text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
    let at = format!("  in \"<unicode string>\", line {}, column {}", place.line, place.column);
    let message = error.message.as_str();
    let (text, hint) = if message.contains("\\t") || message.contains("tab") {
        (
            "found character that cannot start any token".to_owned(),
            Some("indent with spaces: YAML takes no tabs".to_owned()),
        )
    } else if message.starts_with("unexpected character: ") {
        let problem = "found character that cannot start any token".to_owned();
        (problem, Some("a text that begins with this character needs quotes".to_owned()))
    } else if error.kind == yaml::ErrorCause::UnhashableKey {
        let hint = "a list or a map can't be a key; a text that begins with '{' or '[' needs quotes".to_owned();
        (format!("while constructing a mapping\n{message}\n{at}"), Some(hint))
    } else if message.starts_with("invalid trailing content after ") {
        let inside = unclosed(&input.text, place.line + 1);
        let kind = inside.map_or("block mapping".to_owned(), |(kind, _)| format!("flow {kind}"));
        let problem = inside.map_or("did not find expected key".to_owned(), |(_, closing)| {
            format!("did not find expected ',' or '{closing}'")
        });
        let hint = "a quote inside of a quoted text ends it".to_owned();
        (format!("while parsing a {kind}\n{problem}\n{at}"), Some(hint))
    } else if error.kind == yaml::ErrorCause::DuplicateKey {
        let hint = "every key of a map must differ; two states need two ids".to_owned();
        (format!("while constructing a mapping\n{message}\n{at}"), Some(hint))
    } else if message.contains("invalid indentation") && unclosed(&input.text, place.line).is_some() {
        let (kind, closing) = unclosed(&input.text, place.line).unwrap_or(("mapping", '}'));
        let problem = format!("did not find expected ',' or '{closing}'");
        (format!("while parsing a flow {kind}\n{problem}\n{at}"), hint(problem, rendered))
    } else if let Some((_, problem)) = message.strip_prefix("while scanning ").and_then(|rest| rest.split_once(", ")) {
        (problem.to_owned(), hint(problem, rendered))
    } else if let Some((context, problem)) = split(message) {
        (format!("{context}\n{problem}\n{at}"), hint(&problem, rendered))
    } else {
        let problem = match message {
            "simple key expect ':'" | "simple key expected" => "could not find expected ':'",
            other => other,
        };
        (problem.to_owned(), hint(problem, rendered))
    };
    // The column is right in the file only if the template left the line's number unchanged.
    let line = input.line(place.line);
    let column = if input.lines.is_empty() || line == place.line { place.column } else { 0 };
    // Salt reports errors about the document as a whole as its own.
    let error = match message {
        "while parsing node, found unknown anchor" => Error::other("found undefined alias"),
        ANOTHER => Error::other("expected a single document in the stream"),
        _ => Error::refused(text),
    };
    let error = error.at(line, column);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The innermost bracket that is still open before a line: its kind and its closing bracket.
fn unclosed(text: &str, line: usize) -> Option<(&'static str, char)> {
    let mut open = Vec::new();
    for line in text.lines().take(line.saturating_sub(1)) {
        let mut quote = None;
        for (at, c) in line.char_indices() {
            match (quote, c) {
                (Some(end), c) if c == end => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if line[..at].ends_with([' ', '[', '{', ',']) => quote = Some(c),
                (None, '#') if line[..at].ends_with(' ') => break,
                (None, '{') => open.push(("mapping", '}')),
                (None, '[') => open.push(("sequence", ']')),
                (None, '}' | ']') => drop(open.pop()),
                _ => {}
            }
        }
    }
    open.pop()
}

/// Splits `while parsing X, did not find Y`, which Salt prints on two lines.
fn split(message: &str) -> Option<(&str, String)> {
    let (context, problem) = message.strip_prefix("while ").and(message.split_once(", "))?;
    let problem = match problem {
        "expected ',' or ']'" => "did not find expected ',' or ']'",
        other => other,
    };
    Some((context, problem.to_owned()))
}

fn hint(problem: impl AsRef<str>, line: &str) -> Option<String> {
    match problem.as_ref() {
        "found unexpected end of stream" => Some("a quote isn't closed".to_owned()),
        "could not find expected ':'" => Some("a colon is missing, or a quote isn't closed".to_owned()),
        "mapping values are not allowed in this context" => {
            Some("is a colon missing at the end of the line above? a value with ': ' in it needs quotes".to_owned())
        }
        "did not find expected ',' or '}'" | "did not find expected ',' or ']'"
            if line.contains("{{") || line.contains("{%") =>
        {
            Some("template code is still in the rendered text; put it in quotes, or check the shebang".to_owned())
        }
        "did not find expected ',' or '}'" => {
            Some("a '{' isn't closed; a text that begins with one needs quotes".to_owned())
        }
        "did not find expected ',' or ']'" => {
            Some("a '[' isn't closed; a text that begins with one needs quotes".to_owned())
        }
        "did not find expected key" => Some("this line is indented otherwise than the keys above".to_owned()),
        "did not find expected '-' indicator" => Some("this line is indented otherwise than the list above".to_owned()),
        _ => None,
    }
}
