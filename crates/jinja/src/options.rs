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
    /// The `trans` tag, which prints its text as it is.
    pub translations: bool,
    /// Salt's tags, filters and globals, and a context that imports see without `with context`.
    pub salt: bool,
    pub limits: RenderLimits,
}

/// What a render may use before it is stopped.
#[derive(Clone, Copy, Debug)]
pub struct RenderLimits {
    /// How deeply expressions, statements, macros and includes may nest, all together.
    pub depth: usize,
    /// How much of the thread's stack it may use. Threads have 2 MiB unless they are made otherwise.
    pub stack_bytes: usize,
    /// Statements, expressions and items.
    pub steps: u64,
    /// The longest text that may come up, the output included.
    pub output_bytes: usize,
}

impl Default for RenderLimits {
    fn default() -> RenderLimits {
        RenderLimits { depth: 1000, stack_bytes: 1 << 20, steps: 20_000_000, output_bytes: 64 << 20 }
    }
}

impl Options {
    /// As Salt sets up Jinja.
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
