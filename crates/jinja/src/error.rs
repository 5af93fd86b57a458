//! [`Error`]: an error in a template, with its position and a suggestion.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use crate::value::{MissingName, Undefined, Value};
use rocksalt_core::nearest::nearest;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in a template. It is one pointer large; its fields are those of [`ErrorDetails`].
#[derive(Debug, Clone)]
pub struct Error(Box<ErrorDetails>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The template can't be parsed.
    Syntax,
    /// An undefined value was used.
    Undefined,
    /// There is no template of that name.
    TemplateMissing,
    /// A Python exception, such as a `TypeError`.
    Runtime,
    /// A limit was exceeded: depth, steps or size.
    Limit,
    /// The template raised it with `raise`.
    Raised,
}

#[derive(Debug, Clone)]
pub struct ErrorDetails {
    pub kind: ErrorKind,
    /// The exception that Python would raise.
    pub exception: &'static str,
    pub message: String,
    /// The template's name; empty while unknown.
    pub file: String,
    /// From 1; 0 while unknown.
    pub line: u32,
    /// From 1; 0 if only the line is known.
    pub column: u32,
    /// The innermost expression that failed.
    pub expression: Option<String>,
    pub hint: Option<String>,
    /// The places from which this one was reached, innermost first.
    pub trace: Vec<(String, u32)>,
    /// The lines around the place, with the number of the first line.
    pub excerpt: Option<(u32, Vec<String>)>,
}

impl Error {
    #[cold]
    pub fn new(kind: ErrorKind, exception: &'static str, message: impl Into<String>) -> Error {
        Error(Box::new(ErrorDetails {
            kind,
            exception,
            message: message.into(),
            file: String::new(),
            line: 0,
            column: 0,
            expression: None,
            hint: None,
            trace: Vec::new(),
            excerpt: None,
        }))
    }

    /// Any other exception of Python.
    pub fn exception(exception: &'static str, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Runtime, exception, message)
    }

    pub fn type_error(message: impl Into<String>) -> Error {
        Error::exception("TypeError", message)
    }

    pub fn value_error(message: impl Into<String>) -> Error {
        Error::exception("ValueError", message)
    }

    pub fn runtime(message: impl Into<String>) -> Error {
        Error::exception("TemplateRuntimeError", message)
    }

    /// A filter was called with arguments that it can't use.
    pub fn filter_argument(message: impl Into<String>) -> Error {
        Error::exception("FilterArgumentError", message)
    }

    pub fn syntax(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, "TemplateSyntaxError", message)
    }

    pub fn template_missing(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::TemplateMissing, "TemplateNotFound", message)
    }

    pub fn limit(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Limit, "RuntimeError", message)
    }

    pub(crate) fn too_deep(doing: &str) -> Error {
        let message = format!("maximum recursion depth exceeded while {doing} a value");
        Error::new(ErrorKind::Limit, "RecursionError", message)
    }

    pub(crate) fn undefined(undefined: Rc<Undefined>) -> Error {
        let mut error = Error::new(ErrorKind::Undefined, "UndefinedError", undefined.message());
        if let MissingName::Attribute { object, name: Value::String(name) } = &undefined.missing {
            let keys = match object {
                Value::Dict(dict) => dict.borrow().keys().cloned().collect(),
                Value::Object(object) => object.keys().unwrap_or_default(),
                _ => Vec::new(),
            };
            error.suggest(name, keys.iter().filter_map(Value::as_str));
        }
        error
    }

    /// Adds a hint with the known name that is most like `name`.
    pub(crate) fn suggest<'a>(&mut self, name: &str, known: impl IntoIterator<Item = &'a str>) {
        if let Some(right) = nearest(name, known) {
            self.hint = Some(format!("did you mean '{right}'?"));
        }
    }

    /// Adds a hint, unless there is one.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The full place, an excerpt with a caret, and the hint.
    pub fn report(&self) -> String {
        let mut out = format!("{}:{}", self.file, self.line);
        if self.column > 0 {
            out.push_str(&format!(":{}", self.column));
        }
        out.push_str(&format!(": {}\n", self.message));
        if let Some((first, lines)) = &self.excerpt {
            let width = (*first as usize + lines.len()).to_string().len();
            for (index, text) in lines.iter().enumerate() {
                let number = first + index as u32;
                let mark = if number == self.line { '>' } else { ' ' };
                out.push_str(format!("{mark} {number:>width$} | {text}").trim_end());
                out.push('\n');
                if number == self.line && self.column > 0 {
                    // Tabs are kept, so that the caret is in the same column as the error.
                    let before: String = text
                        .chars()
                        .take(self.column as usize - 1)
                        .map(|c| if c == '\t' { '\t' } else { ' ' })
                        .collect();
                    let length = self
                        .expression
                        .as_deref()
                        .map_or(1, |text| text.lines().next().map_or(1, |line| line.chars().count().clamp(1, 80)));
                    out.push_str(&format!("  {:>width$} | {before}{}\n", "", "^".repeat(length)));
                }
            }
        }
        for (file, line) in &self.trace {
            out.push_str(&format!("  from {file}:{line}\n"));
        }
        if let Some(hint) = &self.hint {
            out.push_str(&format!("hint: {hint}\n"));
        }
        out
    }
}

impl Deref for Error {
    type Target = ErrorDetails;

    fn deref(&self) -> &ErrorDetails {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut ErrorDetails {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.line > 0 {
            write!(f, "; line {}", self.line)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
