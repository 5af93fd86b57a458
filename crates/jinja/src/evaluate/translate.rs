//! Runs `trans` blocks.

use super::RenderOutput;
use crate::ast::{Translate, TranslatePart};
use crate::error::Result;
use crate::filters::escape;
use crate::scope::Scope;
use crate::value::Value;

impl Scope<'_> {
    #[inline(never)]
    pub(super) fn translate(&self, translate: &Translate, output: &mut RenderOutput) -> Result<()> {
        let inner = self.inner();
        for (symbol, expression) in &translate.bindings {
            let value = self.eval(expression)?;
            inner.frame.set(*symbol, value);
        }
        let parts = match (&translate.plural, translate.count) {
            (Some(plural), Some(count)) if !inner.name(count).equals(&Value::Int(1))? => plural,
            _ => &translate.singular,
        };
        let mut text = String::new();
        for part in parts {
            match part {
                TranslatePart::Text(part) => text.push_str(part),
                TranslatePart::Variable(symbol) if self.autoescape => {
                    escape::write_escaped(&inner.name(*symbol), &mut text)?;
                }
                TranslatePart::Variable(symbol) => inner.name(*symbol).write_text(&mut text)?,
            }
        }
        self.emit(&self.markup(text), output)
    }
}
