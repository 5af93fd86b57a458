//! Parses tokens into a [`ParsedTemplate`].

mod expression;
mod primary;
mod statement;
mod templates;
mod translate;

use std::rc::Rc;

use crate::ast::{BlockDefinition, Expression, ExpressionKind, ParsedTemplate, Span, Statement, StatementKind};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::lexer::{self, TemplateToken, TokenKind};
use crate::place;
use crate::symbol::Symbol;

/// The largest depth of a tree: dropping and evaluating it recurse as deep.
const MAX_DEPTH: u16 = 300;

/// Parses a template's text.
pub fn template(environment: &Environment, source: &str, name: &str) -> Result<ParsedTemplate> {
    if source.len() >= u32::MAX as usize {
        return Err(Error::limit("a template is larger than 4 GiB"));
    }
    let source: Rc<str> = lexer::normalize(source, environment.options()).into();
    let tokens = lexer::tokens(&source, environment.options());
    let mut parser = TemplateParser::new(environment, &source, tokens);
    let body = parser.whole_template().and_then(|body| match parser.assertion.take() {
        Some(error) => Err(error),
        None => Ok(body),
    });
    match body {
        Ok(body) => Ok(ParsedTemplate {
            name: name.into(),
            source: Rc::clone(&source),
            raw: "".into(),
            body,
            blocks: std::mem::take(&mut parser.blocks),
        }),
        Err(error) => Err(place::locate(error, name, &source, parser.failed_at())),
    }
}

/// Parses a bare expression, which becomes the template's only statement.
pub fn expression(environment: &Environment, source: &str) -> Result<ParsedTemplate> {
    let text: Rc<str> = source.into();
    let tokens = lexer::expression_tokens(&text, environment.options());
    let mut parser = TemplateParser::new(environment, &text, tokens);
    let name: Rc<str> = "<expression>".into();
    let result = parser.check_current().and_then(|()| parser.expression()).and_then(|expression| {
        if !matches!(parser.current(), TokenKind::End) {
            return Err(Error::syntax("chunk after expression"));
        }
        match parser.assertion.take() {
            Some(error) => Err(error),
            None => Ok(expression),
        }
    });
    match result {
        Ok(expression) => {
            let span = expression.span;
            let body = vec![Statement { kind: StatementKind::Print(expression), span }];
            Ok(ParsedTemplate { name, source: text, raw: "".into(), body, blocks: Vec::new() })
        }
        Err(error) => Err(place::locate(error, &name, &text, parser.failed_at())),
    }
}

pub struct TemplateParser<'a> {
    environment: &'a Environment,
    source: Rc<str>,
    tokens: Vec<TemplateToken>,
    at: usize,
    /// The end tags expected by each open construct, innermost last.
    ends: Vec<&'static [&'static str]>,
    /// The open tags, innermost last.
    tags: Vec<Rc<str>>,
    blocks: Vec<Rc<BlockDefinition>>,
    /// The place of an error that isn't at the current token.
    error_at: Option<Span>,
    /// A semantic error, which is reported if the rest parses.
    assertion: Option<Error>,
    /// Greater than 0 within an `if`, where an unknown filter is an error only when it is evaluated.
    soft: usize,
    depth: u16,
    /// The number of open loops in this macro or block.
    loops: usize,
    /// Whether the current macro uses `varargs`, `kwargs` and `caller`.
    special: [bool; 3],
}

impl<'a> TemplateParser<'a> {
    fn new(environment: &'a Environment, source: &Rc<str>, tokens: Vec<TemplateToken>) -> TemplateParser<'a> {
        TemplateParser {
            environment,
            source: Rc::clone(source),
            tokens,
            at: 0,
            ends: Vec::new(),
            tags: Vec::new(),
            blocks: Vec::new(),
            error_at: None,
            assertion: None,
            soft: 0,
            depth: 0,
            loops: 0,
            special: [false; 3],
        }
    }

    fn whole_template(&mut self) -> Result<Vec<Statement>> {
        self.check_current()?;
        self.statements_until(None)
    }

    fn failed_at(&self) -> Span {
        self.error_at.unwrap_or_else(|| self.span())
    }

    pub(crate) fn current(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    /// Returns the token after the current one.
    fn peek(&self) -> &TokenKind {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    pub(crate) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span from `start` to the end of the previous token.
    fn since(&self, start: Span) -> Span {
        let end = self.tokens[self.at.saturating_sub(1)].span.end;
        Span { start: start.start, end: end.max(start.end) }
    }

    fn check_current(&self) -> Result<()> {
        match self.current() {
            TokenKind::Error(error) => Err((**error).clone()),
            _ => Ok(()),
        }
    }

    pub(crate) fn advance(&mut self) -> Result<()> {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        self.check_current()
    }

    pub(crate) fn skip_name(&mut self, name: &str) -> Result<bool> {
        let found = self.current().is_name(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(crate) fn skip_sign(&mut self, sign: &str) -> Result<bool> {
        let found = self.current().is_sign(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(crate) fn expect_sign(&mut self, sign: &str) -> Result<()> {
        if self.skip_sign(sign)? { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    pub(crate) fn expect_word(&mut self, name: &str) -> Result<()> {
        if self.skip_name(name)? { Ok(()) } else { Err(self.unexpected(name)) }
    }

    fn source_of(&self, span: Span) -> &str {
        &self.source[span.start as usize..span.end as usize]
    }

    /// Consumes a name, whichever it is.
    pub(crate) fn expect_name(&mut self) -> Result<Rc<str>> {
        match self.current() {
            TokenKind::Name(name) => {
                let name = Rc::clone(name);
                self.advance()?;
                Ok(name)
            }
            _ => Err(self.unexpected("name")),
        }
    }

    fn expect_block_end(&mut self) -> Result<()> {
        match self.current() {
            TokenKind::BlockEnd => self.advance(),
            _ => Err(self.unexpected("end of statement block")),
        }
    }

    fn unexpected(&self, expected: &str) -> Error {
        match self.current() {
            TokenKind::End => Error::syntax(format!("unexpected end of template, expected '{expected}'.")),
            other => {
                Error::syntax(format!("expected token '{expected}', got {}", crate::value::quoted(&other.describe())))
            }
        }
    }

    /// Creates an error about an earlier place.
    fn fail(&mut self, message: impl Into<String>, span: Span) -> Error {
        self.error_at = Some(span);
        Error::syntax(message)
    }

    /// Records an error to be reported if the parser finds no other.
    fn assert_later(&mut self, message: impl Into<String>, span: Span, hint: Option<String>) {
        let mut error = Error::new(crate::error::ErrorKind::Syntax, "TemplateAssertionError", message);
        error.hint = hint;
        self.raise_later(error, span);
    }

    fn raise_later(&mut self, error: Error, span: Span) {
        if self.assertion.is_none() {
            self.assertion = Some(error);
            self.error_at = Some(span);
        }
    }

    pub(crate) fn symbol(&self, name: &str) -> Symbol {
        self.environment.symbol(name)
    }

    pub(crate) fn node(&self, kind: ExpressionKind, start: Span, below: u16) -> Result<Expression> {
        let depth = below + 1;
        if depth > MAX_DEPTH {
            return Err(Error::limit("an expression nests too deeply"));
        }
        Ok(Expression { kind, span: self.since(start), depth })
    }

    /// Runs a part of the parser one level deeper, up to the limit.
    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH / 3 {
            return Err(Error::limit("a template nests too deeply"));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }
}

/// The largest depth of some expressions.
fn deepest<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> u16 {
    expressions.into_iter().map(|expression| expression.depth).max().unwrap_or(0)
}
