//! `age`: decrypts every age message in a text or in data.

use super::gpg::{Armor, decrypt};
use super::{Error, Renderer, Rendering, Stage};

pub struct Age;

const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";

impl Renderer for Age {
    fn name(&self) -> &'static str {
        "age"
    }

    fn render(&self, input: Stage, _: &str, rendering: &Rendering<'_, '_>) -> Result<Stage, Error> {
        decrypt(input, &Armor { method: "age", begin: BEGIN, end: END }, rendering)
    }
}
