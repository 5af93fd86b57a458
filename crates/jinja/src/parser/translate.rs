//! Parses the `trans` block: text with variables, in singular and plural. Nothing is translated.

use std::rc::Rc;

use super::TemplateParser;
use crate::ast::{StatementKind, Translate, TranslatePart};
use crate::error::{Error, Result};
use crate::lexer::TokenKind;

impl TemplateParser<'_> {
    pub(super) fn translate(&mut self) -> Result<StatementKind> {
        self.advance()?;
        let mut bindings = Vec::new();
        let mut trimmed = false;
        while !matches!(self.current(), TokenKind::BlockEnd) {
            if !bindings.is_empty() {
                self.expect_sign(",")?;
            }
            if self.skip_sign(":")? {
                break;
            }
            // A leading string is the context for translators; it is ignored.
            if bindings.is_empty() && matches!(self.current(), TokenKind::String(_)) {
                self.advance()?;
                continue;
            }
            let here = self.span();
            let name = self.expect_name()?;
            let symbol = self.symbol(&name);
            if bindings.iter().any(|(own, _)| *own == symbol) {
                return Err(self.fail(format!("translatable variable '{name}' defined twice."), here));
            }
            if self.skip_sign("=")? {
                bindings.push((symbol, self.expression()?));
            } else if matches!(&*name, "trimmed" | "notrimmed") && bindings.is_empty() {
                trimmed = &*name == "trimmed";
            } else {
                let value = self.node(crate::ast::ExpressionKind::Name(symbol), here, 0)?;
                bindings.push((symbol, value));
            }
        }
        let mut count = bindings.first().map(|(symbol, _)| *symbol);
        self.expect_block_end()?;
        let singular = self.translate_parts(true, trimmed)?;
        if count.is_none() {
            count = singular.iter().find_map(|part| match part {
                TranslatePart::Variable(symbol) => Some(*symbol),
                TranslatePart::Text(_) => None,
            });
        }
        let mut plural = None;
        if self.skip_name("pluralize")? {
            if let TokenKind::Name(name) = self.current() {
                let name = Rc::clone(name);
                count = Some(self.symbol(&name));
                self.advance()?;
            }
            self.expect_block_end()?;
            plural = Some(self.translate_parts(false, trimmed)?);
            if count.is_none() {
                return Err(Error::syntax("pluralize without variables"));
            }
        }
        self.expect_word("endtrans")?;
        Ok(StatementKind::Translate(Box::new(Translate { bindings, count, singular, plural })))
    }

    /// Parses up to `pluralize` or `endtrans`, which remains the current token.
    fn translate_parts(&mut self, may_pluralize: bool, trimmed: bool) -> Result<Vec<TranslatePart>> {
        let mut parts = Vec::new();
        loop {
            match self.current() {
                TokenKind::Data => {
                    parts.push(TranslatePart::Text(self.source_of(self.span()).to_owned()));
                    self.advance()?;
                }
                TokenKind::VariableBegin => {
                    self.advance()?;
                    let name = self.expect_name()?;
                    parts.push(TranslatePart::Variable(self.symbol(&name)));
                    match self.current() {
                        TokenKind::VariableEnd => self.advance()?,
                        _ => return Err(self.unexpected("end of print statement")),
                    }
                }
                TokenKind::BlockBegin => {
                    self.advance()?;
                    let current = self.current();
                    if current.is_name("endtrans") {
                        break;
                    }
                    if current.is_name("pluralize") {
                        if may_pluralize {
                            break;
                        }
                        return Err(Error::syntax("a translatable section can have only one pluralize section"));
                    }
                    if current.is_name("trans") {
                        return Err(Error::syntax("trans blocks can't be nested; did you mean `endtrans`?"));
                    }
                    return Err(Error::syntax("control structures in translatable sections are not allowed"));
                }
                TokenKind::End => return Err(Error::syntax("unclosed translation block")),
                other => return Err(Error::syntax(format!("unexpected '{}'", other.describe()))),
            }
        }
        if trimmed {
            trim(&mut parts);
        }
        Ok(parts)
    }
}

/// Joins lines with single spaces.
fn trim(parts: &mut [TranslatePart]) {
    let last = parts.len().saturating_sub(1);
    for (index, part) in parts.iter_mut().enumerate() {
        if let TranslatePart::Text(text) = part {
            let lines: Vec<&str> = text.split('\n').collect();
            let end = lines.len() - 1;
            let lines: Vec<&str> = lines
                .iter()
                .enumerate()
                .map(|(at, line)| {
                    let line = if at > 0 || index == 0 { line.trim_start() } else { line };
                    if at < end || index == last { line.trim_end() } else { line }
                })
                .collect();
            *text = lines.join(" ");
            if index == 0 {
                *text = text.trim_start().to_owned();
            }
            if index == last {
                *text = text.trim_end().to_owned();
            }
        }
    }
}
