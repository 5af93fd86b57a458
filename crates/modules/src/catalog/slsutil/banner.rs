//! Texts for templates.

use rocksalt_core::Value;
use serde::Deserialize;

use super::Function;
use crate::machine::System;
use crate::text::wrap;
use crate::{Error, Result};

/// A box of comment lines for the top of a file that states look after.
///
/// ```text
/// rocksalt '*' slsutil.banner commentchar='//' borderchar='/'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Banner {
    /// How many letters wide it is.
    #[serde(default = "usual_width")]
    width: i64,
    /// What every line begins with.
    #[serde(default = "hash")]
    commentchar: String,
    /// What the border consists of.
    #[serde(default = "hash")]
    borderchar: String,
    /// A line before it, to begin a block comment.
    #[serde(default)]
    blockstart: Option<String>,
    /// A line behind it, to end a block comment.
    #[serde(default)]
    blockend: Option<String>,
    /// The text in the middle of the top.
    #[serde(default)]
    title: Option<String>,
    /// The text below it.
    #[serde(default)]
    text: Option<String>,
    /// End with a newline.
    #[serde(default)]
    newline: bool,
}

fn usual_width() -> i64 {
    72
}

fn hash() -> String {
    "#".into()
}

// What Salt writes by default: users compare files.
const TITLE: &str = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT";
const TEXT: &str = "The contents of this file are managed by Salt. Any changes to this file may be overwritten \
                    automatically and without warning.";

impl Function for Banner {
    const NAME: &'static str = "slsutil.banner";
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        let left = format!("{} ", self.commentchar.trim_end());
        let right = format!(" {}", self.commentchar.trim());
        let length = |text: &str| text.chars().count() as i64;
        let inner = self.width.min(10_000) - length(&left) - length(&right);
        let Some(inner) = usize::try_from(inner).ok().filter(|inner| *inner > 0) else {
            return Err(Error::arguments("Width is too small to render banner"));
        };
        let times = |text: &str, count: i64| text.repeat(usize::try_from(count).unwrap_or(0));
        let border: String = self.borderchar.chars().take(1).collect();
        let edges = length(&left) + length(&right) - 2;
        let border_line =
            format!("{}{}{}", self.commentchar, times(&border, self.width.min(10_000) - edges), right.trim());
        let gap = self.width.min(10_000) - length(&self.commentchar) * 2;
        let spacer_line = format!("{}{}{}", self.commentchar, times(" ", gap), self.commentchar);
        let mut lines = Vec::new();
        lines.extend(self.blockstart);
        lines.extend([border_line.clone(), spacer_line.clone()]);
        for line in wrap::wrap(self.title.as_deref().unwrap_or(TITLE), inner) {
            lines.push(format!("{left}{}{right}", wrap::center(&line, inner)));
        }
        lines.push(spacer_line);
        for line in wrap::wrap(self.text.as_deref().unwrap_or(TEXT), inner) {
            lines.push(format!("{left}{line}{}{right}", times(" ", inner as i64 - length(&line))));
        }
        lines.push(border_line);
        lines.extend(self.blockend);
        let mut banner = lines.join("\n");
        if self.newline {
            banner.push('\n');
        }
        Ok(banner)
    }
}

/// One of two texts, by whether a value counts as true.
///
/// ```text
/// rocksalt '*' slsutil.boolstr True yes no
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Boolstr {
    /// The value.
    value: Value,
    /// What to give if it does.
    #[serde(default = "true_text", rename = "true")]
    if_true: Value,
    /// What to give if it doesn't.
    #[serde(default = "false_text", rename = "false")]
    if_false: Value,
}

fn true_text() -> Value {
    "true".into()
}

fn false_text() -> Value {
    "false".into()
}

impl Function for Boolstr {
    const NAME: &'static str = "slsutil.boolstr";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(if self.value.truth() { self.if_true } else { self.if_false })
    }
}
