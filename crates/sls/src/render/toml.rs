//! The renderer `toml`: data as TOML.

use rocksalt_core::{Map, Value};

use super::{Error, PipeData, RenderContext, Renderer, nothing, placeless};

pub struct TomlRenderer;

impl Renderer for TomlRenderer {
    fn name(&self) -> &'static str {
        "toml"
    }

    fn render(&self, input: PipeData, _: &str, _: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
        let input = input.into_text(self.name())?;
        if input.text.trim().is_empty() {
            return Ok(PipeData::Data(nothing()));
        }
        match input.text.parse::<toml::Table>() {
            Ok(table) => Ok(PipeData::Data(placeless(map(table)))),
            Err(error) => {
                let before = error.span().and_then(|span| input.text.get(..span.start)).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                Err(Error::other(error.message().to_owned()).at(input.line(line), column))
            }
        }
    }
}

fn map(table: toml::Table) -> Value {
    table.into_iter().map(|(key, value)| (key.into(), data(value))).collect::<Map>().into()
}

fn data(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(moment) => moment.to_string().into(),
        toml::Value::Array(items) => Value::List(items.into_iter().map(data).collect()),
        toml::Value::Table(table) => map(table),
    }
}
