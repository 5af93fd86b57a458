//! Renderers: each turns text into other text or into data. A file passes through a pipe of them.

mod age;
mod error;
mod file;
mod gpg;
mod jinja;
mod json;
mod pipe;
mod text;
mod toml;
mod yaml;

use rocksalt_core::yaml::{Node, NodeContent, NodePosition};
use rocksalt_core::{Map, Value};

use crate::functions::Decryptor;

pub use error::{Error, RenderErrorKind};
pub use file::{RenderRequest, render_file};
pub use pipe::RenderContext;
pub(crate) use pipe::{PipeOutput, default_pipe, render};

/// One stage of a pipe such as `jinja|yaml`.
pub trait Renderer: Sync {
    /// The name in a shebang.
    fn name(&self) -> &'static str;

    fn render(&self, input: PipeData, argument: &str, rendering: &RenderContext<'_, '_>) -> Result<PipeData, Error>;
}

/// All renderers, by name.
pub const RENDERERS: [&dyn Renderer; 7] = [
    &age::AgeRenderer,
    &gpg::GpgRenderer,
    &jinja::JinjaRenderer,
    &json::JsonRenderer,
    &text::TextRenderer,
    &toml::TomlRenderer,
    &yaml::YamlRenderer,
];

pub fn open(name: &str) -> Option<&'static dyn Renderer> {
    RENDERERS.iter().copied().find(|renderer| renderer.name() == name)
}

/// The data between two renderers, and after the last one.
#[derive(Clone, Debug)]
pub enum PipeData {
    Text(MappedText),
    Data(Node),
}

/// Text with the original line of each of its lines.
#[derive(Clone, Debug, Default)]
pub struct MappedText {
    pub text: String,
    /// Empty if the lines are those of the file.
    pub lines: Vec<u32>,
}

impl MappedText {
    /// The line in the file; both count from 1.
    pub fn line(&self, line: usize) -> usize {
        match self.lines.get(line.saturating_sub(1)) {
            Some(original) => *original as usize,
            None if self.lines.is_empty() => line,
            None => self.lines.last().map_or(line, |last| *last as usize),
        }
    }
}

impl PipeData {
    /// The text, or the error if there is none.
    fn into_text(self, renderer: &str) -> Result<MappedText, Error> {
        match self {
            PipeData::Text(text) => Ok(text),
            PipeData::Data(_) => {
                Err(Error::other(format!("'{renderer}' renders a text, and data came out of what is before it"))
                    .hint("the renderer that makes data comes last, as in #!jinja|yaml"))
            }
        }
    }
}

/// A node without positions.
pub(crate) fn placeless(value: Value) -> Node {
    let content = match value {
        Value::List(items) => NodeContent::List(items.into_iter().map(placeless).collect()),
        Value::Map(map) => {
            NodeContent::Map(map.into_iter().map(|(key, value)| (placeless(key), placeless(value))).collect())
        }
        scalar => NodeContent::Scalar(scalar),
    };
    Node { place: NodePosition { line: 0, column: 0 }, content }
}

/// The result of rendering an empty text.
pub(crate) fn nothing() -> Node {
    placeless(Map::new().into())
}

/// Decrypts every text in a value with `gpg` or `age`.
pub(crate) fn decrypt_value(value: &mut Value, renderer: &str, decrypt: &dyn Decryptor) -> Result<(), String> {
    let armor = match renderer {
        "gpg" => &gpg::ARMOR,
        "age" => &age::ARMOR,
        other => return Err(format!("'{other}' is not a valid decryption renderer. Valid choices are: gpg, age")),
    };
    gpg::in_value(value, armor, decrypt)
}
