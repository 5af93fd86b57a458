//! `jinja`: templates.

use super::{Error, Renderer, Rendering, Stage};

pub struct Jinja;

impl Renderer for Jinja {
    fn name(&self) -> &'static str {
        "jinja"
    }

    fn render(&self, input: Stage, argument: &str, rendering: &Rendering<'_, '_>) -> Result<Stage, Error> {
        if !matches!(argument, "" | "-s") {
            return Err(Error::refused(format!("Unknown renderer option: {argument}")).at(1, 1));
        }
        let input = input.into_text(self.name())?;
        rendering.session.engine.render(input, rendering).map(Stage::Text)
    }
}
