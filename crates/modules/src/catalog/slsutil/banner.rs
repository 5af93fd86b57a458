//! Texts for templates.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::Function;
use crate::machine::System;
use crate::text::wrap;
use crate::{Error, Result};

/// A box of comment lines for the top of a managed file.
///
/// ```text
/// rocksalt '*' slsutil.banner commentchar='//' borderchar='/'
/// ```
#[function("slsutil.banner", reads)]
pub struct Banner {
    /// How many letters wide it is.
    #[default(72)]
    width: i64,
    /// What every line begins with.
    #[default("#")]
    commentchar: String,
    /// What the border consists of.
    #[default("#")]
    borderchar: String,
    /// A line before it, to begin a block comment.
    blockstart: Option<String>,
    /// A line behind it, to end a block comment.
    blockend: Option<String>,
    /// The text in the middle of the top.
    title: Option<String>,
    /// The text below it.
    text: Option<String>,
    /// End with a newline.
    newline: bool,
}

// Salt's default text: users compare files.
const TITLE: &str = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT";
const TEXT: &str = "The contents of this file are managed by Salt. Any changes to this file may be overwritten \
                    automatically and without warning.";

impl Function for Banner {
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
#[function("slsutil.boolstr", reads)]
pub struct Boolstr {
    /// The value.
    #[required]
    value: Value,
    /// The value to return if it does.
    #[default("true")]
    #[rename("true")]
    if_true: Value,
    /// The value to return if it doesn't.
    #[default("false")]
    #[rename("false")]
    if_false: Value,
}

impl Function for Boolstr {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(if self.value.truth() { self.if_true } else { self.if_false })
    }
}
