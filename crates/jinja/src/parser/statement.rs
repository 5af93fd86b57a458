//! Parses statements: the contents of `{% … %}`.

use std::rc::Rc;

use super::TemplateParser;
use crate::ast::{AssignmentTarget, Expression, ExpressionKind, For, Macro, Parameter, Span, Statement, StatementKind};
use crate::error::{Error, ErrorKind, Result};
use crate::lexer::TokenKind;
use crate::value::quoted;

impl TemplateParser<'_> {
    /// Parses text, prints and tags up to one of the end tags, which remains the current token; or to the template's
    /// end.
    pub(super) fn statements_until(&mut self, ends: Option<&'static [&'static str]>) -> Result<Vec<Statement>> {
        self.ends.extend(ends);
        let mut body = Vec::new();
        loop {
            let start = self.span();
            match self.current() {
                TokenKind::End => break,
                TokenKind::Data => {
                    self.advance()?;
                    body.push(Statement { kind: StatementKind::Data, span: start });
                }
                TokenKind::VariableBegin => {
                    self.advance()?;
                    let expression = self.tuple(true, false)?;
                    match self.current() {
                        TokenKind::VariableEnd => self.advance()?,
                        _ => return Err(self.unexpected("end of print statement")),
                    }
                    let span = self.since(start);
                    body.push(Statement { kind: StatementKind::Print(expression), span });
                }
                TokenKind::BlockBegin => {
                    self.advance()?;
                    if let (Some(ends), TokenKind::Name(name)) = (ends, self.current())
                        && ends.contains(&&**name)
                    {
                        break;
                    }
                    self.deeper(|parser| parser.statement(&mut body))?;
                    self.expect_block_end()?;
                }
                other => {
                    return Err(Error::syntax(format!("unexpected {}", quoted(&other.describe()))));
                }
            }
        }
        if ends.is_some() {
            self.ends.pop();
        }
        Ok(body)
    }

    /// Parses a tag's body, from the rest of its opening up to one of the end tags; also returns that tag's name.
    pub(crate) fn body(&mut self, ends: &'static [&'static str]) -> Result<(Vec<Statement>, Rc<str>)> {
        self.skip_sign(":")?;
        self.expect_block_end()?;
        let body = self.statements_until(Some(ends))?;
        match self.current() {
            TokenKind::Name(name) => {
                let name = Rc::clone(name);
                self.advance()?;
                Ok((body, name))
            }
            _ => {
                self.ends.push(ends);
                Err(self.unknown_tag(None))
            }
        }
    }

    fn unknown_tag(&self, name: Option<&str>) -> Error {
        let mut message = match name {
            None => "Unexpected end of template.".to_owned(),
            Some(name) => format!("Encountered unknown tag {}.", quoted(name)),
        };
        if let Some(looking) = self.ends.last() {
            let tags: Vec<String> = looking.iter().map(|tag| quoted(tag)).collect();
            let tags = tags.join(" or ");
            if name.is_some_and(|name| self.ends.iter().any(|ends| ends.contains(&name))) {
                message.push_str(&format!(
                    " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for {tags}."
                ));
            } else {
                message.push_str(&format!(" Jinja was looking for the following tags: {tags}."));
            }
        }
        if let Some(tag) = self.tags.last() {
            message.push_str(&format!(" The innermost block that needs to be closed is {}.", quoted(tag)));
        }
        let mut error = Error::syntax(message);
        if let Some(name) = name {
            error.suggest(name, super::templates::TAGS.iter().copied());
        }
        error
    }

    fn statement(&mut self, body: &mut Vec<Statement>) -> Result<()> {
        let start = self.span();
        let TokenKind::Name(tag) = self.current() else { return Err(Error::syntax("tag name expected")) };
        let tag = Rc::clone(tag);
        self.tags.push(Rc::clone(&tag));
        let kind = match &*tag {
            "print" => {
                self.print_statement(start, body)?;
                None
            }
            name => match self.tag(name, start)? {
                Some(kind) => Some(kind),
                None if self.salt_tag(name, start, body)? => None,
                None => {
                    self.tags.pop();
                    return Err(self.unknown_tag(Some(name)));
                }
            },
        };
        self.tags.pop();
        if let Some(kind) = kind {
            body.push(Statement { kind, span: self.since(start) });
        }
        Ok(())
    }

    /// Parses one of Jinja's tags that is a single statement; `None` for any other name.
    fn tag(&mut self, name: &str, start: Span) -> Result<Option<StatementKind>> {
        Ok(Some(match name {
            "for" => self.for_loop()?,
            "if" => self.if_statement()?,
            "set" => self.set()?,
            "with" => self.with()?,
            "macro" => self.macro_definition()?,
            "call" => self.call_block()?,
            "filter" => self.filter_block()?,
            "autoescape" => {
                self.advance()?;
                let flag = self.expression()?;
                let (body, _) = self.body(&["endautoescape"])?;
                StatementKind::Autoescape { flag, body }
            }
            "do" => {
                self.advance()?;
                StatementKind::Do(self.tuple(true, false)?)
            }
            "break" | "continue" => self.leave_loop(name == "break", start)?,
            "debug" if !self.environment.options().salt => {
                self.advance()?;
                StatementKind::Debug
            }
            "trans" if self.environment.options().translations => self.translate()?,
            "block" => self.block()?,
            "extends" => {
                self.advance()?;
                StatementKind::Extends(self.expression()?)
            }
            "include" => self.include()?,
            "import" => self.import()?,
            "from" => self.import_names()?,
            _ => return Ok(None),
        }))
    }

    /// Parses `{% print a, b %}` into one statement for each value.
    fn print_statement(&mut self, start: Span, body: &mut Vec<Statement>) -> Result<()> {
        self.advance()?;
        let mut first = true;
        while !matches!(self.current(), TokenKind::BlockEnd) {
            if !first {
                self.expect_sign(",")?;
            }
            first = false;
            let expression = self.expression()?;
            let span = self.since(start);
            body.push(Statement { kind: StatementKind::Print(expression), span });
        }
        Ok(())
    }

    fn filter_block(&mut self) -> Result<StatementKind> {
        self.advance()?;
        let mut filter = self.filter(None)?;
        while self.skip_sign("|")? {
            filter = self.filter(Some(filter))?;
        }
        let (body, _) = self.body(&["endfilter"])?;
        Ok(StatementKind::FilterBlock { filter, body })
    }

    fn leave_loop(&mut self, is_break: bool, start: Span) -> Result<StatementKind> {
        if self.loops == 0 {
            let message = if is_break { "'break' outside loop" } else { "'continue' not properly in loop" };
            self.raise_later(Error::new(ErrorKind::Syntax, "SyntaxError", message), start);
        }
        self.advance()?;
        Ok(if is_break { StatementKind::Break } else { StatementKind::Continue })
    }

    fn for_loop(&mut self) -> Result<StatementKind> {
        self.advance()?;
        self.loops += 1;
        let target = self.target(false)?;
        self.expect_word("in")?;
        let iterable = self.tuple(false, false)?;
        let filter = if self.skip_name("if")? { Some(self.expression()?) } else { None };
        let recursive = self.skip_name("recursive")?;
        let (body, end) = self.body(&["endfor", "else"])?;
        self.loops -= 1;
        let otherwise = if &*end == "endfor" { Vec::new() } else { self.body(&["endfor"])?.0 };
        Ok(StatementKind::For(Rc::new(For { target, iterable, filter, recursive, body, otherwise })))
    }

    fn if_statement(&mut self) -> Result<StatementKind> {
        self.advance()?;
        self.soft += 1;
        let mut branches = Vec::new();
        let end = loop {
            let condition = self.tuple(false, false)?;
            let (body, end) = self.body(&["elif", "else", "endif"])?;
            branches.push((condition, body));
            if &*end != "elif" {
                break end;
            }
        };
        let otherwise = if &*end == "else" { self.body(&["endif"])?.0 } else { Vec::new() };
        self.soft -= 1;
        Ok(StatementKind::If { branches, otherwise })
    }

    fn set(&mut self) -> Result<StatementKind> {
        self.advance()?;
        let target = self.target(true)?;
        if self.skip_sign("=")? {
            return Ok(StatementKind::Set { target, value: self.tuple(true, false)? });
        }
        let mut filter = None;
        while self.skip_sign("|")? {
            filter = Some(self.filter(filter)?);
        }
        let (body, _) = self.body(&["endset"])?;
        Ok(StatementKind::SetBlock { target, filter, body })
    }

    fn with(&mut self) -> Result<StatementKind> {
        self.advance()?;
        let mut bindings = Vec::new();
        while !matches!(self.current(), TokenKind::BlockEnd) {
            if !bindings.is_empty() {
                self.expect_sign(",")?;
            }
            let target = self.target(false)?;
            self.expect_sign("=")?;
            bindings.push((target, self.expression()?));
        }
        let (body, _) = self.body(&["endwith"])?;
        Ok(StatementKind::With { bindings, body })
    }

    fn macro_definition(&mut self) -> Result<StatementKind> {
        let start = self.span();
        self.advance()?;
        let name = self.assignable_name()?;
        let parameters = self.parameters()?;
        let symbol = Some(self.symbol(&name));
        Ok(StatementKind::Macro(Rc::new(self.macro_body(name, symbol, parameters, &["endmacro"], start)?.0)))
    }

    fn call_block(&mut self) -> Result<StatementKind> {
        let start = self.span();
        self.advance()?;
        let parameters = if self.current().is_sign("(") { self.parameters()? } else { Vec::new() };
        let here = self.span();
        let call = self.expression()?;
        if !matches!(call.kind, ExpressionKind::Call(_)) {
            return Err(self.fail("expected call", here));
        }
        let (caller, _) = self.macro_body("caller".into(), None, parameters, &["endcall"], start)?;
        Ok(StatementKind::CallBlock { caller: Rc::new(caller), call })
    }

    fn macro_body(
        &mut self,
        name: Rc<str>,
        symbol: Option<crate::symbol::Symbol>,
        parameters: Vec<Parameter>,
        ends: &'static [&'static str],
        start: Span,
    ) -> Result<(Macro, Rc<str>)> {
        let outer = std::mem::take(&mut self.special);
        let loops = std::mem::take(&mut self.loops);
        let (body, end) = self.body(ends)?;
        self.loops = loops;
        let [uses_varargs, uses_kwargs, uses_caller] = self.special;
        // An inner macro may use variables of the outer one.
        for (own, inner) in self.special.iter_mut().zip(outer) {
            *own |= inner;
        }
        let span = self.since(start);
        Ok((Macro { name, symbol, parameters, body, uses_varargs, uses_kwargs, uses_caller, span }, end))
    }

    fn parameters(&mut self) -> Result<Vec<Parameter>> {
        self.expect_sign("(")?;
        let mut parameters: Vec<Parameter> = Vec::new();
        while !self.current().is_sign(")") {
            if !parameters.is_empty() {
                self.expect_sign(",")?;
            }
            let here = self.span();
            let name = self.assignable_name()?;
            let default = if self.skip_sign("=")? { Some(self.expression()?) } else { None };
            if default.is_none() && parameters.last().is_some_and(|last| last.default.is_some()) {
                return Err(self.fail("non-default argument follows default argument", here));
            }
            if parameters.iter().any(|parameter| parameter.name == name) {
                let message = format!("duplicate argument {} in function definition", quoted(&name));
                self.raise_later(Error::new(ErrorKind::Syntax, "SyntaxError", message), here);
            }
            let symbol = self.symbol(&name);
            parameters.push(Parameter { name, symbol, default });
        }
        self.expect_sign(")")?;
        Ok(parameters)
    }

    /// Parses a name that can be assigned to.
    pub(crate) fn assignable_name(&mut self) -> Result<Rc<str>> {
        let here = self.span();
        let name = self.expect_name()?;
        if matches!(&*name, "true" | "True" | "false" | "False" | "none" | "None") {
            return Err(self.fail("can't assign to 'name'", here));
        }
        Ok(name)
    }

    /// Parses the target of `set`, `for` or `with`.
    pub(crate) fn target(&mut self, with_namespace: bool) -> Result<AssignmentTarget> {
        let start = self.span();
        let mut targets = Vec::new();
        let mut is_tuple = false;
        loop {
            if !targets.is_empty() {
                self.expect_sign(",")?;
            }
            if self.tuple_end() || (is_tuple && self.current().is_sign("=")) {
                break;
            }
            targets.push(self.single_target(with_namespace)?);
            if !self.current().is_sign(",") {
                break;
            }
            is_tuple = true;
        }
        if is_tuple {
            return Ok(AssignmentTarget::Tuple(targets));
        }
        match targets.pop() {
            Some(single) => Ok(single),
            None => {
                let got = quoted(&self.current().describe());
                Err(self.fail(format!("Expected an expression, got {got}"), start))
            }
        }
    }

    fn single_target(&mut self, with_namespace: bool) -> Result<AssignmentTarget> {
        let start = self.span();
        if self.skip_sign("(")? {
            let inner = self.deeper(|parser| parser.target(with_namespace))?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        if with_namespace && matches!(self.current(), TokenKind::Name(_)) && self.peek().is_sign(".") {
            let name = self.expect_name()?;
            self.advance()?;
            let attribute = self.expect_name()?;
            return Ok(AssignmentTarget::Attribute(self.symbol(&name), attribute));
        }
        let expression = self.primary()?;
        match target_name(&expression) {
            Ok(symbol) => {
                if self.loops > 0 && symbol == self.environment.names.loop_ {
                    self.assert_later("Can't assign to special loop variable in for-loop target", start, None);
                }
                Ok(AssignmentTarget::Name(symbol))
            }
            Err(kind) => Err(self.fail(format!("can't assign to '{kind}'"), start)),
        }
    }
}

fn target_name(expression: &Expression) -> Result<crate::symbol::Symbol, &'static str> {
    match &expression.kind {
        ExpressionKind::Name(symbol) => Ok(*symbol),
        ExpressionKind::List(_) => Err("list"),
        ExpressionKind::Dict(_) => Err("dict"),
        _ => Err("const"),
    }
}
