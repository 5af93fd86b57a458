//! [`Text`]: a string, which may be marked as safe from escaping.

use std::ops::Deref;
use std::rc::Rc;

/// An immutable string; `safe` is Jinja's `Markup`.
#[derive(Clone, Debug)]
pub struct Text {
    text: Rc<str>,
    safe: bool,
}

impl Text {
    pub fn new(text: impl AsRef<str>) -> Text {
        Text { text: Rc::from(text.as_ref()), safe: false }
    }

    pub fn safe(text: impl AsRef<str>) -> Text {
        Text { text: Rc::from(text.as_ref()), safe: true }
    }

    pub fn is_safe(&self) -> bool {
        self.safe
    }

    /// The same text with this mark.
    pub fn marked(&self, safe: bool) -> Text {
        Text { text: Rc::clone(&self.text), safe }
    }

    pub fn shared(&self) -> Rc<str> {
        Rc::clone(&self.text)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<Rc<str>> for Text {
    fn from(text: Rc<str>) -> Text {
        Text { text, safe: false }
    }
}
