//! `text`: the text itself, and nothing else is done to it.

use super::{Error, Renderer, Rendering, Stage};

pub struct Text;

impl Renderer for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn render(&self, input: Stage, _: &str, _: &Rendering<'_, '_>) -> Result<Stage, Error> {
        input.into_text(self.name()).map(Stage::Text)
    }
}
