//! [`Secret`]: a value that can't be printed by accident (rule R13).

use std::fmt;

use zeroize::Zeroize;

/// Has no `Display` and no `Serialize`; `Debug` shows nothing. Wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T: Zeroize = String>(T);

impl<T: Zeroize> Secret<T> {
    pub fn new(value: T) -> Secret<T> {
        Secret(value)
    }

    /// The one way to the value. Each caller is a place to review.
    pub fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
