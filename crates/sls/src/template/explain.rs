//! Words a template's error as Salt does.

use rocksalt_core::nearest::nearest;
use rocksalt_jinja::{Error as TemplateError, ErrorKind};

use super::failure::FAILED;
use crate::render::{Error, RenderContext};

/// The number of lines that Salt shows before and after the failing one.
const AROUND: usize = 5;

/// Converts a template's error. `header` is the line that was removed from the file, or 0.
pub(super) fn explain(error: &TemplateError, source: &str, header: u32, rendering: &RenderContext<'_, '_>) -> Error {
    // In Salt, the outermost template has no name.
    let head = head(error).replace(&format!(" in '{}') does not export", rendering.path), ") does not export");
    let elsewhere = !error.file.is_empty() && error.file != rendering.path;
    let line = error.line as usize;
    let text = if elsewhere {
        let other = imported(&error.file, rendering);
        format!("{head}\nsalt://{}({line}):\n{}", error.file, context(&other, line))
    } else if line == 0 {
        head
    } else if is_exception(error) {
        format!("{head}\n; line {line}\n\n{}", context(source, line))
    } else {
        format!("{head}; line {line}\n\n{}", context(source, line))
    };
    let original = if header > 0 && error.line >= header && !elsewhere { line + 1 } else { line };
    let mut explained = Error::refused(text).at(original, error.column as usize);
    if elsewhere {
        explained.file = Some(error.file.clone());
    }
    explained.hint = hint(error, rendering);
    explained
}

fn head(error: &TemplateError) -> String {
    let message = &error.message;
    match error.kind {
        ErrorKind::Undefined => format!("Jinja variable {message}"),
        ErrorKind::Syntax => format!("Jinja syntax error: {message}"),
        _ if error.exception == FAILED => format!("Problem running salt function in Jinja template: {message}"),
        _ if is_exception(error) => format!("Jinja error: {message}"),
        _ => format!("Jinja syntax error: {message}"),
    }
}

/// Whether it is an exception of Python, not of Jinja.
fn is_exception(error: &TemplateError) -> bool {
    const OF_JINJA: [&str; 4] = ["TemplateRuntimeError", "FilterArgumentError", "SecurityError", FAILED];
    match error.kind {
        ErrorKind::Undefined | ErrorKind::Syntax => false,
        ErrorKind::TemplateMissing | ErrorKind::Limit | ErrorKind::Raised => true,
        ErrorKind::Runtime => !OF_JINJA.contains(&error.exception),
    }
}

fn hint(error: &TemplateError, rendering: &RenderContext<'_, '_>) -> Option<String> {
    if let Some((_, name)) = error.message.split_once("AliasedLoader object' has no attribute '") {
        let names = rendering.compilation.inputs.functions.names();
        let name = name.trim_end_matches('\'');
        return match nearest(name, names.iter().map(String::as_str)) {
            Some(right) => Some(format!("did you mean '{right}'?")),
            None => Some(format!("there is no function '{name}' here; see sys.list_functions")),
        };
    }
    if error.kind == ErrorKind::TemplateMissing && error.hint.is_none() {
        return Some(format!("there is no such file in the environment '{}'", rendering.saltenv));
    }
    let syntax = (error.kind == ErrorKind::Syntax && error.hint.is_none()).then(|| match &*error.message {
        "unexpected '}'" => Some("a tag ends with '%}', a value with '}}'"),
        message if message.starts_with("Unexpected end of template") => {
            Some("something that was opened isn't closed: a tag needs its {% end… %}, and each one its '%}' or '}}'")
        }
        _ => None,
    });
    syntax.flatten().map(str::to_owned).or_else(|| error.hint.clone())
}

fn imported(path: &str, rendering: &RenderContext<'_, '_>) -> String {
    let contents = rendering.compilation.tree.read(rendering.saltenv, path).ok().flatten();
    contents.map(|contents| String::from_utf8_lossy(&contents).into_owned()).unwrap_or_default()
}

/// The lines around a line, with an arrow, between two rows of dashes.
fn context(source: &str, line: usize) -> String {
    let lines: Vec<&str> = source.lines().collect();
    if line == 0 || line > lines.len() {
        return source.to_owned();
    }
    let (first, last) = (line.saturating_sub(AROUND + 1), lines.len().min(line + AROUND));
    let mut shown = Vec::new();
    if first > 0 {
        shown.push("[...]".to_owned());
    }
    for (index, text) in lines[first..last].iter().enumerate() {
        let arrow = if first + index + 1 == line { "    <======================" } else { "" };
        shown.push(format!("{text}{arrow}"));
    }
    if last < lines.len() {
        shown.push("[...]".to_owned());
    }
    format!("---\n{}\n---", shown.join("\n"))
}
