//! Parses statements about other templates (blocks, includes and imports) and Salt's tags, which are similar.

use std::rc::Rc;

use super::TemplateParser;
use crate::ast::{BlockDefinition, Span, Statement, StatementKind};
use crate::error::Result;
use crate::lexer::TokenKind;
use crate::salt;

/// All tags that open a block or stand alone, for hints.
pub(super) const TAGS: &[&str] = &[
    "autoescape",
    "block",
    "break",
    "call",
    "continue",
    "do",
    "elif",
    "else",
    "endautoescape",
    "endblock",
    "endcall",
    "endfilter",
    "endfor",
    "endif",
    "endload",
    "endmacro",
    "endset",
    "endwith",
    "extends",
    "filter",
    "for",
    "from",
    "if",
    "import",
    "import_json",
    "import_text",
    "import_yaml",
    "include",
    "load_json",
    "load_text",
    "load_yaml",
    "macro",
    "print",
    "profile",
    "raw",
    "set",
    "with",
];

impl TemplateParser<'_> {
    pub(super) fn block(&mut self) -> Result<StatementKind> {
        let start = self.span();
        self.advance()?;
        let name = self.expect_name()?;
        let scoped = self.skip_name("scoped")?;
        let required = self.skip_name("required")?;
        if self.current().is_sign("-") {
            return Err(crate::error::Error::syntax(
                "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead.",
            ));
        }
        let loops = std::mem::take(&mut self.loops);
        let (body, _) = self.body(&["endblock"])?;
        self.loops = loops;
        if required && body.iter().any(|statement| !self.is_blank(statement)) {
            return Err(self.fail("Required blocks can only contain comments or whitespace", start));
        }
        self.skip_name(&name)?;
        if self.blocks.iter().any(|block| block.name == name) {
            self.assert_later(format!("block {} defined twice", crate::value::quoted(&name)), start, None);
        }
        let symbol = self.symbol(&name);
        let block = Rc::new(BlockDefinition { name, symbol, scoped, required, body });
        self.blocks.push(Rc::clone(&block));
        Ok(StatementKind::Block(block))
    }

    fn is_blank(&self, statement: &Statement) -> bool {
        matches!(statement.kind, StatementKind::Data) && self.source_of(statement.span).trim().is_empty()
    }

    pub(super) fn include(&mut self) -> Result<StatementKind> {
        self.advance()?;
        let template = self.expression()?;
        let ignore_missing = self.current().is_name("ignore") && self.peek().is_name("missing");
        if ignore_missing {
            self.advance()?;
            self.advance()?;
        }
        let with_context = self.import_context()?.unwrap_or(true);
        Ok(StatementKind::Include { template, ignore_missing, with_context })
    }

    /// Parses `with context` or `without context`, if it is here.
    fn import_context(&mut self) -> Result<Option<bool>> {
        let with = self.current().is_name("with");
        if (with || self.current().is_name("without")) && self.peek().is_name("context") {
            self.advance()?;
            self.advance()?;
            return Ok(Some(with));
        }
        Ok(None)
    }

    pub(crate) fn import(&mut self) -> Result<StatementKind> {
        self.advance()?;
        let template = self.expression()?;
        self.expect_word("as")?;
        let name = self.assignable_name()?;
        let with_context = self.import_context()?.unwrap_or(false);
        Ok(StatementKind::Import { template, target: self.symbol(&name), with_context })
    }

    pub(super) fn import_names(&mut self) -> Result<StatementKind> {
        self.advance()?;
        let template = self.expression()?;
        self.expect_word("import")?;
        let mut names = Vec::new();
        let context = loop {
            if !names.is_empty() {
                self.expect_sign(",")?;
            }
            if !matches!(self.current(), TokenKind::Name(_)) {
                return Err(self.unexpected("name"));
            }
            if let Some(context) = self.import_context()? {
                break context;
            }
            let here = self.span();
            let name = self.assignable_name()?;
            if name.starts_with('_') {
                let mut error = self.fail("names starting with an underline can not be imported", here);
                error.exception = "TemplateAssertionError";
                return Err(error);
            }
            let alias = if self.skip_name("as")? { self.assignable_name()? } else { Rc::clone(&name) };
            names.push((name, self.symbol(&alias)));
            if let Some(context) = self.import_context()? {
                break context;
            }
            if !self.current().is_sign(",") {
                break false;
            }
        };
        Ok(StatementKind::FromImport { template, names, with_context: context })
    }

    /// Parses one of Salt's tags. Returns false if the name isn't one.
    pub(super) fn salt_tag(&mut self, name: &str, start: Span, body: &mut Vec<Statement>) -> Result<bool> {
        if !self.environment.options().salt {
            return Ok(false);
        }
        let Some(parse) = salt::tag(name) else { return Ok(false) };
        for kind in parse(self, name)? {
            let span = self.since(start);
            body.push(Statement { kind, span });
        }
        Ok(true)
    }
}
