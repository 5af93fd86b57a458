//! [`MarkupText`]: a string, which may be marked as safe from escaping.

use std::ops::Deref;
use std::rc::Rc;

/// An immutable string; `safe` is Jinja's `Markup`.
#[derive(Clone, Debug)]
pub struct MarkupText {
    text: Rc<str>,
    safe: bool,
}

impl MarkupText {
    pub fn new(text: impl AsRef<str>) -> MarkupText {
        MarkupText { text: Rc::from(text.as_ref()), safe: false }
    }

    pub fn safe(text: impl AsRef<str>) -> MarkupText {
        MarkupText { text: Rc::from(text.as_ref()), safe: true }
    }

    pub fn is_safe(&self) -> bool {
        self.safe
    }

    /// The same text, marked as safe or not.
    pub fn marked(&self, safe: bool) -> MarkupText {
        MarkupText { text: Rc::clone(&self.text), safe }
    }

    pub fn shared(&self) -> Rc<str> {
        Rc::clone(&self.text)
    }
}

impl Deref for MarkupText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<Rc<str>> for MarkupText {
    fn from(text: Rc<str>) -> MarkupText {
        MarkupText { text, safe: false }
    }
}
