//! The error of a file that could not be rendered.

/// A renderer's error; the caller adds the file's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Error {
    /// Salt's text.
    pub text: String,
    pub kind: RenderErrorKind,
    /// The file with the error, if it isn't the rendered one but an imported one.
    pub file: Option<String>,
    /// The position in the file as written; a line or column of 0 is unknown.
    pub line: usize,
    pub column: usize,
    pub hint: Option<String>,
}

/// The kinds of errors that Salt words differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RenderErrorKind {
    /// A renderer refused the text: "Rendering SLS 'base:x' failed: …".
    #[default]
    Refused,
    /// Anything else: "Rendering SLS x failed, render error: …".
    Other,
}

impl Error {
    pub fn refused(text: impl Into<String>) -> Error {
        Error { text: text.into(), ..Error::default() }
    }

    pub fn other(text: impl Into<String>) -> Error {
        Error { text: text.into(), kind: RenderErrorKind::Other, ..Error::default() }
    }

    pub fn at(mut self, line: usize, column: usize) -> Error {
        (self.line, self.column) = (line, column);
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
}
