//! Parses expressions with operators, from the loosest to the tightest.

use super::{TemplateParser, deepest};
use crate::ast::{Conditional, Expression, ExpressionKind, Operator, Relation};
use crate::error::Result;
use crate::lexer::TokenKind;
use crate::value::Comparison;

impl TemplateParser<'_> {
    /// Parses any expression except a tuple without parentheses.
    pub(crate) fn expression(&mut self) -> Result<Expression> {
        self.deeper(Self::conditional)
    }

    fn conditional(&mut self) -> Result<Expression> {
        let start = self.span();
        let asserted = self.assertion.is_some();
        let mut expression = self.or()?;
        while self.skip_name("if")? {
            // An unknown filter before `if` isn't an error, since the condition may be false.
            if !asserted {
                self.assertion = None;
                self.error_at = None;
            }
            self.soft += 1;
            let condition = self.or();
            let otherwise = condition.and_then(|condition| {
                let otherwise = if self.skip_name("else")? { Some(self.expression()?) } else { None };
                Ok((condition, otherwise))
            });
            self.soft -= 1;
            let (condition, otherwise) = otherwise?;
            let below = deepest([&expression, &condition].into_iter().chain(&otherwise));
            let conditional = Conditional { condition, then: expression, otherwise };
            expression = self.node(ExpressionKind::Conditional(Box::new(conditional)), start, below)?;
        }
        Ok(expression)
    }

    /// Parses an expression without a trailing `if`, as a `for` loop needs it.
    pub(super) fn or(&mut self) -> Result<Expression> {
        let start = self.span();
        let first = self.and()?;
        if !self.current().is_name("or") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.skip_name("or")? {
            all.push(self.and()?);
        }
        let below = deepest(&all);
        self.node(ExpressionKind::Or(all), start, below)
    }

    fn and(&mut self) -> Result<Expression> {
        let start = self.span();
        let first = self.not()?;
        if !self.current().is_name("and") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.skip_name("and")? {
            all.push(self.not()?);
        }
        let below = deepest(&all);
        self.node(ExpressionKind::And(all), start, below)
    }

    fn not(&mut self) -> Result<Expression> {
        let start = self.span();
        if self.skip_name("not")? {
            let inner = self.deeper(Self::not)?;
            let below = inner.depth;
            return self.node(ExpressionKind::Not(Box::new(inner)), start, below);
        }
        self.compare()
    }

    fn compare(&mut self) -> Result<Expression> {
        let start = self.span();
        let first = self.binary(0)?;
        let mut relations = Vec::new();
        loop {
            let relation = match self.current() {
                TokenKind::Sign("==") => Relation::Equal,
                TokenKind::Sign("!=") => Relation::NotEqual,
                TokenKind::Sign("<") => Relation::Order(Comparison::Less),
                TokenKind::Sign("<=") => Relation::Order(Comparison::LessOrEqual),
                TokenKind::Sign(">") => Relation::Order(Comparison::Greater),
                TokenKind::Sign(">=") => Relation::Order(Comparison::GreaterOrEqual),
                other if other.is_name("in") => Relation::In,
                other if other.is_name("not") && self.peek().is_name("in") => {
                    self.advance()?;
                    Relation::NotIn
                }
                _ => break,
            };
            self.advance()?;
            relations.push((relation, self.binary(0)?));
        }
        if relations.is_empty() {
            return Ok(first);
        }
        let below = deepest(relations.iter().map(|(_, expression)| expression).chain([&first]));
        self.node(ExpressionKind::Compare(Box::new(first), relations), start, below)
    }

    /// Parses binary operators. As in Jinja, all of them are left-associative, even `**`.
    fn binary(&mut self, level: usize) -> Result<Expression> {
        const LEVELS: [&[(&str, Operator)]; 4] = [
            &[("+", Operator::Add), ("-", Operator::Subtract)],
            &[],
            &[
                ("*", Operator::Multiply),
                ("/", Operator::Divide),
                ("//", Operator::FloorDivide),
                ("%", Operator::Modulo),
            ],
            &[("**", Operator::Power)],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary(true) };
        if operators.is_empty() {
            return self.concat(level + 1);
        }
        let start = self.span();
        let mut left = self.binary(level + 1)?;
        loop {
            let TokenKind::Sign(sign) = self.current() else { return Ok(left) };
            let Some((_, operator)) = operators.iter().find(|(own, _)| own == sign) else { return Ok(left) };
            self.advance()?;
            let right = self.binary(level + 1)?;
            let below = left.depth.max(right.depth);
            left = self.node(ExpressionKind::Binary(*operator, Box::new((left, right))), start, below)?;
        }
    }

    fn concat(&mut self, level: usize) -> Result<Expression> {
        let start = self.span();
        let first = self.binary(level)?;
        if !self.current().is_sign("~") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.skip_sign("~")? {
            all.push(self.binary(level)?);
        }
        let below = deepest(&all);
        self.node(ExpressionKind::Concat(all), start, below)
    }

    fn unary(&mut self, with_filter: bool) -> Result<Expression> {
        let start = self.span();
        let mut node = match self.current() {
            TokenKind::Sign("-") => {
                self.advance()?;
                let inner = self.deeper(|parser| parser.unary(false))?;
                let below = inner.depth;
                self.node(ExpressionKind::Negative(Box::new(inner)), start, below)?
            }
            TokenKind::Sign("+") => {
                self.advance()?;
                let inner = self.deeper(|parser| parser.unary(false))?;
                let below = inner.depth;
                self.node(ExpressionKind::Positive(Box::new(inner)), start, below)?
            }
            _ => self.primary()?,
        };
        node = self.postfix(node)?;
        if with_filter {
            node = self.filters_and_tests(node)?;
        }
        Ok(node)
    }
}
