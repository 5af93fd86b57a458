//! Parses names, literals, and what may follow them: subscripts, calls, filters and tests.

use std::rc::Rc;

use super::{TemplateParser, deepest};
use crate::ast::{
    CallArguments, CallExpression, Expression, ExpressionKind, FilterCall, SliceExpression, Span, TestCall,
};
use crate::error::{Error, ErrorKind, Result};
use crate::lexer::TokenKind;
use crate::value::{MarkupText, Value, quoted};

impl TemplateParser<'_> {
    pub(super) fn primary(&mut self) -> Result<Expression> {
        let start = self.span();
        let kind = match self.current().clone() {
            TokenKind::Name(name) => {
                self.advance()?;
                match &*name {
                    "true" | "True" => ExpressionKind::Constant(Value::Bool(true)),
                    "false" | "False" => ExpressionKind::Constant(Value::Bool(false)),
                    "none" | "None" => ExpressionKind::Constant(Value::None),
                    name => {
                        match name {
                            "varargs" => self.special[0] = true,
                            "kwargs" => self.special[1] = true,
                            "caller" => self.special[2] = true,
                            _ => {}
                        }
                        ExpressionKind::Name(self.symbol(name))
                    }
                }
            }
            TokenKind::String(first) => {
                self.advance()?;
                let mut text = first;
                // Adjacent string literals are concatenated.
                while let TokenKind::String(more) = self.current() {
                    text = format!("{text}{more}").into();
                    self.advance()?;
                }
                ExpressionKind::Constant(Value::String(MarkupText::from(text)))
            }
            TokenKind::Integer(number) => {
                self.advance()?;
                ExpressionKind::Constant(number.0)
            }
            TokenKind::Float(number) => {
                self.advance()?;
                ExpressionKind::Constant(Value::Float(number))
            }
            TokenKind::Sign("(") => {
                self.advance()?;
                let mut inner = self.tuple(true, true)?;
                self.expect_sign(")")?;
                inner.span = self.since(start);
                return Ok(inner);
            }
            TokenKind::Sign("[") => return self.list(start),
            TokenKind::Sign("{") => return self.dict(start),
            other => return Err(Error::syntax(format!("unexpected {}", quoted(&other.describe())))),
        };
        self.node(kind, start, 0)
    }

    /// Parses expressions separated by commas; a single one isn't wrapped into a tuple.
    pub(crate) fn tuple(&mut self, conditional: bool, parentheses: bool) -> Result<Expression> {
        let start = self.span();
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if !items.is_empty() {
                self.expect_sign(",")?;
            }
            if self.tuple_end() {
                break;
            }
            items.push(if conditional { self.expression()? } else { self.deeper(Self::or)? });
            if !self.current().is_sign(",") {
                break;
            }
            is_tuple = true;
        }
        if !is_tuple {
            if let Some(single) = items.pop() {
                return Ok(single);
            }
            if !parentheses {
                let got = quoted(&self.current().describe());
                return Err(Error::syntax(format!("Expected an expression, got {got}")));
            }
        }
        let below = deepest(&items);
        self.node(ExpressionKind::Tuple(items), start, below)
    }

    pub(super) fn tuple_end(&self) -> bool {
        matches!(self.current(), TokenKind::VariableEnd | TokenKind::BlockEnd | TokenKind::Sign(")"))
    }

    fn list(&mut self, start: Span) -> Result<Expression> {
        self.advance()?;
        let mut items = Vec::new();
        while !self.current().is_sign("]") {
            if !items.is_empty() {
                self.expect_sign(",")?;
            }
            if self.current().is_sign("]") {
                break;
            }
            items.push(self.expression()?);
        }
        self.expect_sign("]")?;
        let below = deepest(&items);
        self.node(ExpressionKind::List(items), start, below)
    }

    fn dict(&mut self, start: Span) -> Result<Expression> {
        self.advance()?;
        let mut items = Vec::new();
        while !self.current().is_sign("}") {
            if !items.is_empty() {
                self.expect_sign(",")?;
            }
            if self.current().is_sign("}") {
                break;
            }
            let key = self.expression()?;
            self.expect_sign(":")?;
            items.push((key, self.expression()?));
        }
        self.expect_sign("}")?;
        let below = deepest(items.iter().flat_map(|(key, value)| [key, value]));
        self.node(ExpressionKind::Dict(items), start, below)
    }

    /// Parses subscripts and calls.
    pub(super) fn postfix(&mut self, mut node: Expression) -> Result<Expression> {
        loop {
            node = match self.current() {
                TokenKind::Sign(".") => self.attribute(node)?,
                TokenKind::Sign("[") => self.subscript(node)?,
                TokenKind::Sign("(") => self.call(node)?,
                _ => return Ok(node),
            };
        }
    }

    pub(super) fn filters_and_tests(&mut self, mut node: Expression) -> Result<Expression> {
        loop {
            node = match self.current() {
                TokenKind::Sign("|") => {
                    self.advance()?;
                    self.filter(Some(node))?
                }
                TokenKind::Sign("(") => self.call(node)?,
                other if other.is_name("is") => self.test(node)?,
                _ => return Ok(node),
            };
        }
    }

    fn attribute(&mut self, object: Expression) -> Result<Expression> {
        let start = object.span;
        self.advance()?;
        let below = object.depth;
        let kind = match self.current().clone() {
            TokenKind::Name(name) => ExpressionKind::Attribute(Box::new(object), name),
            TokenKind::Integer(number) => {
                let key = self.node(ExpressionKind::Constant(number.0), self.span(), 0)?;
                ExpressionKind::Item(Box::new((object, key)))
            }
            _ => return Err(Error::syntax("expected name or number")),
        };
        self.advance()?;
        self.node(kind, start, below)
    }

    fn subscript(&mut self, object: Expression) -> Result<Expression> {
        let (start, bracket) = (object.span, self.span());
        self.advance()?;
        let mut keys = Vec::new();
        let mut slice: Option<[Option<Expression>; 3]> = None;
        while !self.current().is_sign("]") {
            if !keys.is_empty() || slice.is_some() {
                self.expect_sign(",")?;
            }
            let first = if self.current().is_sign(":") { None } else { Some(self.expression()?) };
            if !self.current().is_sign(":") {
                keys.extend(first);
                continue;
            }
            let mut parts = [first, None, None];
            for part in &mut parts[1..] {
                if !self.skip_sign(":")? {
                    break;
                }
                if !matches!(self.current(), TokenKind::Sign(":" | "]" | ",")) {
                    *part = Some(self.expression()?);
                }
            }
            slice = Some(parts);
        }
        self.expect_sign("]")?;
        match slice {
            Some([from, to, step]) if keys.is_empty() => {
                let below = deepest([&from, &to, &step].into_iter().flatten().chain([&object]));
                let slice = SliceExpression { object, start: from, stop: to, step };
                self.node(ExpressionKind::Slice(Box::new(slice)), start, below)
            }
            Some(_) => Err(self.fail("a slice can't be one of several subscripts", bracket)),
            None => {
                let key = match keys.len() {
                    1 => keys.remove(0),
                    _ => {
                        let below = deepest(&keys);
                        self.node(ExpressionKind::Tuple(keys), bracket, below)?
                    }
                };
                let below = object.depth.max(key.depth);
                self.node(ExpressionKind::Item(Box::new((object, key))), start, below)
            }
        }
    }

    fn call(&mut self, callee: Expression) -> Result<Expression> {
        let start = callee.span;
        let arguments = self.arguments()?;
        let below = arguments.depth().max(callee.depth);
        self.node(ExpressionKind::Call(Box::new(CallExpression { callee, arguments })), start, below)
    }

    fn arguments(&mut self) -> Result<CallArguments> {
        let open = self.span();
        self.expect_sign("(")?;
        let mut arguments = CallArguments::default();
        let mut any = false;
        while !self.current().is_sign(")") {
            if any {
                self.expect_sign(",")?;
                if self.current().is_sign(")") {
                    break;
                }
            }
            any = true;
            let more = arguments.more_positional.is_some() || arguments.more_keyword.is_some();
            let in_order = if self.current().is_sign("*") {
                self.advance()?;
                arguments.more_positional = Some(self.expression()?);
                !more
            } else if self.current().is_sign("**") {
                let first = arguments.more_keyword.is_none();
                self.advance()?;
                arguments.more_keyword = Some(self.expression()?);
                first
            } else if matches!(self.current(), TokenKind::Name(_)) && self.peek().is_sign("=") {
                let first = arguments.more_keyword.is_none();
                let here = self.span();
                let name = self.expect_name()?;
                self.advance()?;
                if arguments.keyword.iter().any(|(own, _)| *own == name) {
                    let message = format!("keyword argument repeated: {name}");
                    self.raise_later(Error::new(ErrorKind::Syntax, "SyntaxError", message), here);
                }
                arguments.keyword.push((name, self.expression()?));
                first
            } else {
                let first = !more && arguments.keyword.is_empty();
                arguments.positional.push(self.expression()?);
                first
            };
            if !in_order {
                return Err(self.fail("invalid syntax for function call expression", open));
            }
        }
        self.expect_sign(")")?;
        Ok(arguments)
    }

    /// Parses a filter after the `|`. There is no value where a block's body is filtered.
    pub(super) fn filter(&mut self, value: Option<Expression>) -> Result<Expression> {
        let here = self.span();
        let start = value.as_ref().map_or(here, |value| value.span);
        let name = self.dotted_name()?;
        let arguments = if self.current().is_sign("(") { self.arguments()? } else { CallArguments::default() };
        let filter = self.environment.filter(&name);
        if filter.is_none() && self.soft == 0 {
            let hint = self.environment.nearest_filter(&name);
            self.assert_later(format!("No filter named {}.", quoted(&name)), here, hint);
        }
        let below = arguments.depth().max(value.as_ref().map_or(0, |value| value.depth));
        let call = FilterCall { value, name, span: self.since(here), filter, arguments };
        self.node(ExpressionKind::Filter(Box::new(call)), start, below)
    }

    fn test(&mut self, value: Expression) -> Result<Expression> {
        let start = value.span;
        self.advance()?;
        let negated = self.skip_name("not")?;
        let here = self.span();
        let name = self.dotted_name()?;
        let mut arguments = CallArguments::default();
        match self.current() {
            TokenKind::Sign("(") => arguments = self.arguments()?,
            TokenKind::Name(word) if matches!(&**word, "else" | "or" | "and") => {}
            TokenKind::Name(word) if &**word == "is" => {
                return Err(Error::syntax("You cannot chain multiple tests with is"));
            }
            TokenKind::Name(_)
            | TokenKind::String(_)
            | TokenKind::Integer(_)
            | TokenKind::Float(_)
            | TokenKind::Sign("[" | "{") => {
                let argument = self.primary()?;
                arguments.positional.push(self.postfix(argument)?);
            }
            _ => {}
        }
        let test = self.environment.test(&name);
        if test.is_none() && self.soft == 0 {
            let hint = self.environment.nearest_test(&name);
            self.assert_later(format!("No test named {}.", quoted(&name)), here, hint);
        }
        let below = arguments.depth().max(value.depth);
        let call = TestCall { value, name, test, arguments };
        let node = self.node(ExpressionKind::Test(Box::new(call)), start, below)?;
        if negated {
            let below = node.depth;
            return self.node(ExpressionKind::Not(Box::new(node)), start, below);
        }
        Ok(node)
    }

    fn dotted_name(&mut self) -> Result<Rc<str>> {
        let mut name = self.expect_name()?;
        while self.skip_sign(".")? {
            name = format!("{name}.{}", self.expect_name()?).into();
        }
        Ok(name)
    }
}

impl CallArguments {
    fn depth(&self) -> u16 {
        let keyword = self.keyword.iter().map(|(_, expression)| expression);
        deepest(self.positional.iter().chain(keyword).chain(&self.more_positional).chain(&self.more_keyword))
    }
}
