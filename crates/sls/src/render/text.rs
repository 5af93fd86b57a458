//! The renderer `text`: leaves the text unchanged.

use super::{Error, PipeData, RenderContext, Renderer};

pub struct TextRenderer;

impl Renderer for TextRenderer {
    fn name(&self) -> &'static str {
        "text"
    }

    fn render(&self, input: PipeData, _: &str, _: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
        input.into_text(self.name()).map(PipeData::Text)
    }
}
