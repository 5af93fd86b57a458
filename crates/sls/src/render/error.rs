//! Why a file could not be rendered.

/// A renderer's error; the caller adds the file's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Error {
    /// Salt's text.
    pub text: String,
    pub kind: RenderErrorKind,
    /// The file if it isn't the one that was rendered but one it imports.
    pub file: Option<String>,
    /// In the file as it was written; 0 is unknown, as it is for the column.
    pub line: usize,
    pub column: usize,
    pub hint: Option<String>,
}

/// Salt words the two differently.
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
