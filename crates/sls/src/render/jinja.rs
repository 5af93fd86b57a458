//! The renderer `jinja`: templates.

use super::{Error, PipeData, RenderContext, Renderer};

pub struct JinjaRenderer;

impl Renderer for JinjaRenderer {
    fn name(&self) -> &'static str {
        "jinja"
    }

    fn render(&self, input: PipeData, argument: &str, rendering: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
        if !matches!(argument, "" | "-s") {
            return Err(Error::refused(format!("Unknown renderer option: {argument}")).at(1, 1));
        }
        let input = input.into_text(self.name())?;
        rendering.compilation.engine.render(input, rendering).map(PipeData::Text)
    }
}
