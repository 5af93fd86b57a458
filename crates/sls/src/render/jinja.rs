//! `jinja`: templates.

use super::{Error, Renderer, Rendering, Stage};

pub struct Jinja;

impl Renderer for Jinja {
    fn name(&self) -> &'static str {
        "jinja"
    }

    fn render(&self, input: Stage, _: &str, _: &Rendering<'_, '_>) -> Result<Stage, Error> {
        input.into_text(self.name()).map(Stage::Text)
    }
}
