//! From tokens to a query, by binding powers as in JMESPath's own grammar.

use super::lexer::{Token, Tokens, bad, tokens};
use crate::error::Result;
use crate::value::Value;

pub(super) enum Query {
    Identity,
    Field(String),
    Literal(Value),
    Index(i64),
    Slice([Option<i64>; 3]),
    /// The second one on what the first one gives: `a.b`, `a[0]`, `a | b`.
    Then(Box<Query>, Box<Query>),
    Or(Box<Query>, Box<Query>),
    And(Box<Query>, Box<Query>),
    Not(Box<Query>),
    Compare(&'static str, Box<Query>, Box<Query>),
    Flatten(Box<Query>),
    /// The second one on every item of the first.
    Items(Box<Query>, Box<Query>),
    /// The same on every value of a dict.
    Values(Box<Query>, Box<Query>),
    /// The same on the items that the condition holds for.
    Filter(Box<Query>, Box<Query>, Box<Query>),
    List(Vec<Query>),
    Dict(Vec<(String, Query)>),
    Call(String, Vec<Query>),
    /// `&query`, for functions that apply it.
    Reference(Box<Query>),
}

const MAX_DEPTH: usize = 60;
/// What binds less ends a projection.
const PROJECTION_STOP: u8 = 10;

pub(super) fn parse(text: &str) -> Result<Query> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    let query = parser.expression(0)?;
    match parser.current() {
        Token::End => Ok(query),
        _ => Err(parser.fail("this can't follow here")),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Tokens,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn current(&self) -> &Token {
        &self.tokens.tokens[self.at].0
    }

    fn next_is(&self, sign: &str) -> bool {
        self.tokens.tokens.get(self.at + 1).is_some_and(|(token, _)| matches!(token, Token::Sign(s) if *s == sign))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.current(), Token::Sign(s) if *s == sign)
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.tokens.len() - 1);
    }

    fn skip(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.skip(sign) { Ok(()) } else { Err(self.fail(&format!("'{sign}' is missing"))) }
    }

    fn fail(&self, reason: &str) -> crate::error::Error {
        let at = self.tokens.tokens[self.at].1;
        if !matches!(self.current(), Token::End) {
            return bad(self.text, at, reason);
        }
        let mut error = bad(self.text, at, "Incomplete expression");
        error.exception = "IncompleteExpressionError";
        error
    }

    fn power(&self) -> u8 {
        let Token::Sign(sign) = self.current() else { return 0 };
        match *sign {
            "|" => 1,
            "||" => 2,
            "&&" => 3,
            "==" | "!=" | "<" | "<=" | ">" | ">=" => 5,
            "[]" => 9,
            "*" => 20,
            "[?" => 21,
            "." => 40,
            "!" => 45,
            "{" => 50,
            "[" => 55,
            "(" => 60,
            _ => 0,
        }
    }

    fn expression(&mut self, power: u8) -> Result<Query> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fail("the query nests too deeply"));
        }
        let mut left = self.start()?;
        // A long chain is a deep tree as well.
        let mut links = 0;
        while power < self.power() {
            links += 1;
            if links > 4 * MAX_DEPTH {
                return Err(self.fail("the query is too long"));
            }
            left = self.follow(left)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn start(&mut self) -> Result<Query> {
        let index = self.at;
        let token = self.current().clone();
        self.advance();
        Ok(match token {
            Token::Name(name) => Query::Field(name),
            Token::Quoted(name) if self.is("(") => {
                return Err(self.fail(&format!("the quoted name \"{name}\" can't be a function")));
            }
            Token::Quoted(name) => Query::Field(name),
            Token::Sign("literal") => Query::Literal(self.tokens.literals[index].clone().unwrap_or(Value::None)),
            Token::Sign("@") => Query::Identity,
            Token::Sign("*") => {
                let right = if self.is("]") { Query::Identity } else { self.projected(20)? };
                Query::Values(Box::new(Query::Identity), Box::new(right))
            }
            Token::Sign("[?") => self.filter(Query::Identity)?,
            Token::Sign("[]") => {
                let right = self.projected(9)?;
                Query::Items(Box::new(Query::Flatten(Box::new(Query::Identity))), Box::new(right))
            }
            Token::Sign("!") => Query::Not(Box::new(self.expression(45)?)),
            Token::Sign("&") => Query::Reference(Box::new(self.expression(60)?)),
            Token::Sign("(") => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                inner
            }
            Token::Sign("{") => self.dict()?,
            Token::Sign("[") => {
                if matches!(self.current(), Token::Number(_)) || self.is(":") {
                    self.index(Query::Identity)?
                } else if self.is("*") && self.next_is("]") {
                    self.advance();
                    self.advance();
                    let right = self.projected(20)?;
                    Query::Items(Box::new(Query::Identity), Box::new(right))
                } else {
                    self.list()?
                }
            }
            _ => {
                self.at = index;
                return Err(self.fail("an expression is missing"));
            }
        })
    }

    fn follow(&mut self, left: Query) -> Result<Query> {
        let Token::Sign(sign) = *self.current() else { return Err(self.fail("this can't follow here")) };
        self.advance();
        let left = Box::new(left);
        Ok(match sign {
            "." if self.is("*") => {
                self.advance();
                Query::Values(left, Box::new(self.projected(40)?))
            }
            "." => Query::Then(left, Box::new(self.after_dot(40)?)),
            "|" => Query::Then(left, Box::new(self.expression(1)?)),
            "||" => Query::Or(left, Box::new(self.expression(2)?)),
            "&&" => Query::And(left, Box::new(self.expression(3)?)),
            "==" | "!=" | "<" | "<=" | ">" | ">=" => Query::Compare(sign, left, Box::new(self.expression(5)?)),
            "[]" => Query::Items(Box::new(Query::Flatten(left)), Box::new(self.projected(9)?)),
            "[?" => self.filter(*left)?,
            "(" => {
                let Query::Field(name) = *left else { return Err(self.fail("only a name can be called")) };
                let mut arguments = Vec::new();
                while !self.is(")") {
                    arguments.push(self.expression(0)?);
                    if !self.skip(",") {
                        break;
                    }
                }
                self.expect(")")?;
                Query::Call(name, arguments)
            }
            "[" => {
                if matches!(self.current(), Token::Number(_)) || self.is(":") {
                    self.index(*left)?
                } else {
                    self.expect("*")?;
                    self.expect("]")?;
                    Query::Items(left, Box::new(self.projected(20)?))
                }
            }
            _ => return Err(self.fail("this can't follow here")),
        })
    }

    /// `0]`, `1:]`, `::2]`
    fn index(&mut self, left: Query) -> Result<Query> {
        if matches!(self.current(), Token::Number(_)) && !self.next_is(":") {
            let Token::Number(number) = *self.current() else { return Err(self.fail("a number is missing")) };
            self.advance();
            self.expect("]")?;
            return Ok(Query::Then(Box::new(left), Box::new(Query::Index(number))));
        }
        let mut parts = [None; 3];
        let mut part = 0;
        while !self.is("]") {
            if self.skip(":") {
                part += 1;
                if part > 2 {
                    return Err(self.fail("a slice has three parts at most"));
                }
            } else if let Token::Number(number) = *self.current() {
                parts[part] = Some(number);
                self.advance();
            } else {
                return Err(self.fail("a slice has numbers"));
            }
        }
        self.expect("]")?;
        let slice = Query::Then(Box::new(left), Box::new(Query::Slice(parts)));
        Ok(Query::Items(Box::new(slice), Box::new(self.projected(20)?)))
    }

    fn filter(&mut self, left: Query) -> Result<Query> {
        let condition = self.expression(0)?;
        self.expect("]")?;
        let right = if self.is("[]") { Query::Identity } else { self.projected(21)? };
        Ok(Query::Filter(Box::new(left), Box::new(condition), Box::new(right)))
    }

    /// What is done with each item.
    fn projected(&mut self, power: u8) -> Result<Query> {
        if self.power() < PROJECTION_STOP {
            Ok(Query::Identity)
        } else if self.is("[") || self.is("[?") {
            self.expression(power)
        } else if self.skip(".") {
            self.after_dot(power)
        } else {
            Err(self.fail("this can't follow here"))
        }
    }

    fn after_dot(&mut self, power: u8) -> Result<Query> {
        match self.current() {
            Token::Name(_) | Token::Quoted(_) | Token::Sign("*") => self.expression(power),
            Token::Sign("[") => {
                self.advance();
                self.list()
            }
            Token::Sign("{") => {
                self.advance();
                self.dict()
            }
            _ => Err(self.fail("a name is missing")),
        }
    }

    fn list(&mut self) -> Result<Query> {
        let mut items = vec![self.expression(0)?];
        while self.skip(",") {
            items.push(self.expression(0)?);
        }
        self.expect("]")?;
        Ok(Query::List(items))
    }

    fn dict(&mut self) -> Result<Query> {
        let mut pairs = Vec::new();
        loop {
            let (Token::Name(name) | Token::Quoted(name)) = self.current().clone() else {
                return Err(self.fail("a name is missing"));
            };
            self.advance();
            self.expect(":")?;
            pairs.push((name, self.expression(0)?));
            if !self.skip(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(Query::Dict(pairs))
    }
}
