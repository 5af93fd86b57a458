//! [`Options`]: syntax, strictness and limits of templates.

use crate::value::UndefinedKind;

#[derive(Clone, Debug)]
pub struct Options {
    pub trim_blocks: bool,
    pub lstrip_blocks: bool,
    pub keep_trailing_newline: bool,
    pub undefined: UndefinedKind,
    pub block_start: String,
    pub block_end: String,
    pub variable_start: String,
    pub variable_end: String,
    pub comment_start: String,
    pub comment_end: String,
    pub line_statement_prefix: Option<String>,
    pub line_comment_prefix: Option<String>,
    pub newline_sequence: String,
    pub autoescape: bool,
    /// Enables the `trans` tag, which prints its text untranslated.
    pub translations: bool,
    /// Enables Salt's tags, filters and globals, and the context that imports see without `with context`.
    pub salt: bool,
    pub limits: RenderLimits,
}

/// Limits of one render.
#[derive(Clone, Copy, Debug)]
pub struct RenderLimits {
    /// The depth to which expressions, statements, macros and includes may nest, all together.
    pub depth: usize,
    /// How many bytes of the thread's stack it may use. A thread has 2 MiB by default.
    pub stack_bytes: usize,
    /// The number of statements, expressions and items.
    pub steps: u64,
    /// The longest text that may be built, including the output.
    pub output_bytes: usize,
}

impl Default for RenderLimits {
    fn default() -> RenderLimits {
        RenderLimits { depth: 1000, stack_bytes: 1 << 20, steps: 20_000_000, output_bytes: 64 << 20 }
    }
}

impl Options {
    /// Salt's settings of Jinja.
    pub fn salt() -> Options {
        Options { undefined: UndefinedKind::Strict, salt: true, ..Options::jinja() }
    }

    /// Jinja2's own defaults, with its `do`, loop controls and `debug` extensions.
    pub fn jinja() -> Options {
        Options {
            trim_blocks: false,
            lstrip_blocks: false,
            keep_trailing_newline: false,
            undefined: UndefinedKind::Lenient,
            block_start: "{%".into(),
            block_end: "%}".into(),
            variable_start: "{{".into(),
            variable_end: "}}".into(),
            comment_start: "{#".into(),
            comment_end: "#}".into(),
            line_statement_prefix: None,
            line_comment_prefix: None,
            newline_sequence: "\n".into(),
            autoescape: false,
            translations: false,
            salt: false,
            limits: RenderLimits::default(),
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::jinja()
    }
}
