//! `age`: decrypts every age message in a text or in data.

use super::gpg::{Armor, decrypt};
use super::{Error, Renderer, Rendering, Stage};

pub struct Age;

pub(super) const ARMOR: Armor =
    Armor { method: "age", begin: "-----BEGIN AGE ENCRYPTED FILE-----", end: "-----END AGE ENCRYPTED FILE-----" };

impl Renderer for Age {
    fn name(&self) -> &'static str {
        "age"
    }

    fn render(&self, input: Stage, _: &str, rendering: &Rendering<'_, '_>) -> Result<Stage, Error> {
        decrypt(input, &ARMOR, rendering)
    }
}
