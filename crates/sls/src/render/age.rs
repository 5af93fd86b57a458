//! The renderer `age`: decrypts every age message in a text or in data.

use super::gpg::{Armor, decrypt};
use super::{Error, PipeData, RenderContext, Renderer};

pub struct AgeRenderer;

pub(super) const ARMOR: Armor =
    Armor { method: "age", begin: "-----BEGIN AGE ENCRYPTED FILE-----", end: "-----END AGE ENCRYPTED FILE-----" };

impl Renderer for AgeRenderer {
    fn name(&self) -> &'static str {
        "age"
    }

    fn render(&self, input: PipeData, _: &str, rendering: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
        decrypt(input, &ARMOR, rendering)
    }
}
