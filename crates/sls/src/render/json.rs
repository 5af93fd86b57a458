//! The renderer `json`: data as JSON.

use rocksalt_core::json;

use super::{Error, PipeData, RenderContext, Renderer, nothing, placeless};

pub struct JsonRenderer;

impl Renderer for JsonRenderer {
    fn name(&self) -> &'static str {
        "json"
    }

    fn render(&self, input: PipeData, _: &str, _: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
        let input = input.into_text(self.name())?;
        // The shebang is still there. Blanking it keeps the line numbers.
        let text = match input.text.strip_prefix("#!") {
            Some(rest) => rest.find('\n').map_or("", |end| &rest[end..]),
            None => &input.text,
        };
        if text.trim().is_empty() {
            return Ok(PipeData::Data(nothing()));
        }
        match json::parse(text) {
            Ok(value) => Ok(PipeData::Data(placeless(value))),
            Err(error) => {
                let line = input.line(error.line());
                Err(Error::other(error.to_string()).at(line, error.column()))
            }
        }
    }
}
