//! The renderer `gpg`: decrypts every PGP message in a text or in data.

use rocksalt_core::Value;
use rocksalt_core::yaml::{Node, NodeContent};

use super::{Error, PipeData, RenderContext, Renderer};
use crate::functions::Decryptor;

pub struct GpgRenderer;

pub(super) const ARMOR: Armor =
    Armor { method: "gpg", begin: "-----BEGIN PGP MESSAGE-----", end: "-----END PGP MESSAGE-----" };

impl Renderer for GpgRenderer {
    fn name(&self) -> &'static str {
        "gpg"
    }

    fn render(&self, input: PipeData, _: &str, rendering: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
        decrypt(input, &ARMOR, rendering)
    }
}

/// Describes how to recognise an encrypted part of a text.
pub(super) struct Armor {
    pub method: &'static str,
    pub begin: &'static str,
    pub end: &'static str,
}

pub(super) fn decrypt(input: PipeData, armor: &Armor, rendering: &RenderContext<'_, '_>) -> Result<PipeData, Error> {
    match input {
        PipeData::Text(mut mapped) => {
            mapped.text = plain(&mapped.text, armor, rendering.decrypt()).map_err(Error::refused)?;
            Ok(PipeData::Text(mapped))
        }
        PipeData::Data(mut node) => {
            in_node(&mut node, armor, rendering.decrypt())?;
            Ok(PipeData::Data(node))
        }
    }
}

fn in_node(node: &mut Node, armor: &Armor, decrypt: &dyn Decryptor) -> Result<(), Error> {
    match &mut node.content {
        NodeContent::Scalar(Value::String(text)) => {
            if text.contains(armor.begin) {
                *text = plain(text, armor, decrypt)
                    .map_err(|reason| Error::refused(reason).at(node.place.line, node.place.column))?;
            }
            Ok(())
        }
        NodeContent::Scalar(_) => Ok(()),
        NodeContent::List(items) => items.iter_mut().try_for_each(|item| in_node(item, armor, decrypt)),
        NodeContent::Map(pairs) => pairs.iter_mut().try_for_each(|(_, value)| in_node(value, armor, decrypt)),
    }
}

/// Replaces the encrypted parts of a text by their contents.
fn plain(text: &str, armor: &Armor, decrypt: &dyn Decryptor) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(armor.begin) {
        let Some(length) = rest[start..].find(armor.end) else { break };
        let end = start + length + armor.end.len();
        out += &rest[..start];
        let bytes = decrypt
            .decrypt(armor.method, &rest.as_bytes()[start..end])
            .map_err(|reason| format!("Could not decrypt cipher: {reason}"))?;
        out += &String::from_utf8(bytes).map_err(|_| format!("what {} decrypted is not a text", armor.method))?;
        rest = &rest[end..];
    }
    Ok(out + rest)
}

/// Decrypts every text in a value.
pub(super) fn in_value(value: &mut Value, armor: &Armor, decrypt: &dyn Decryptor) -> Result<(), String> {
    match value {
        Value::String(text) if text.contains(armor.begin) => *text = plain(text, armor, decrypt)?,
        Value::List(items) => items.iter_mut().try_for_each(|item| in_value(item, armor, decrypt))?,
        Value::Map(map) => map.iter_mut().try_for_each(|(_, value)| in_value(value, armor, decrypt))?,
        _ => {}
    }
    Ok(())
}
