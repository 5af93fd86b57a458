//! Parses a query by operator precedence, as in JMESPath's own grammar.

use super::lexer::{QueryToken, QueryTokens, bad, tokens};
use crate::error::Result;
use crate::value::Value;

pub(super) enum QueryNode {
    Identity,
    Field(String),
    Literal(Value),
    Index(i64),
    Slice([Option<i64>; 3]),
    /// Applies the second query to the result of the first: `a.b`, `a[0]`, `a | b`.
    Then(Box<QueryNode>, Box<QueryNode>),
    Or(Box<QueryNode>, Box<QueryNode>),
    And(Box<QueryNode>, Box<QueryNode>),
    Not(Box<QueryNode>),
    Compare(&'static str, Box<QueryNode>, Box<QueryNode>),
    Flatten(Box<QueryNode>),
    /// Applies the second query to every item of the first.
    Items(Box<QueryNode>, Box<QueryNode>),
    /// Applies the second query to every value of a dict.
    Values(Box<QueryNode>, Box<QueryNode>),
    /// Applies the third query to the items of the first for which the second is true.
    Filter(Box<QueryNode>, Box<QueryNode>, Box<QueryNode>),
    List(Vec<QueryNode>),
    Dict(Vec<(String, QueryNode)>),
    Call(String, Vec<QueryNode>),
    /// `&query`, for functions that apply it.
    Reference(Box<QueryNode>),
}

const MAX_DEPTH: usize = 60;
/// Tokens that bind less tightly end a projection.
const PROJECTION_STOP: u8 = 10;

pub(super) fn parse(text: &str) -> Result<QueryNode> {
    let mut parser = QueryParser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    let query = parser.expression(0)?;
    match parser.current() {
        QueryToken::End => Ok(query),
        _ => Err(parser.fail("this can't follow here")),
    }
}

struct QueryParser<'t> {
    text: &'t str,
    tokens: QueryTokens,
    at: usize,
    depth: usize,
}

impl QueryParser<'_> {
    fn current(&self) -> &QueryToken {
        &self.tokens.tokens[self.at].0
    }

    fn next_is(&self, sign: &str) -> bool {
        self.tokens.tokens.get(self.at + 1).is_some_and(|(token, _)| matches!(token, QueryToken::Sign(s) if *s == sign))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.current(), QueryToken::Sign(s) if *s == sign)
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
        if !matches!(self.current(), QueryToken::End) {
            return bad(self.text, at, reason);
        }
        let mut error = bad(self.text, at, "Incomplete expression");
        error.exception = "IncompleteExpressionError";
        error
    }

    fn power(&self) -> u8 {
        let QueryToken::Sign(sign) = self.current() else { return 0 };
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

    fn expression(&mut self, power: u8) -> Result<QueryNode> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fail("the query nests too deeply"));
        }
        let mut left = self.start()?;
        // A long chain makes a deep tree.
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

    fn start(&mut self) -> Result<QueryNode> {
        let index = self.at;
        let token = self.current().clone();
        self.advance();
        Ok(match token {
            QueryToken::Name(name) => QueryNode::Field(name),
            QueryToken::Quoted(name) if self.is("(") => {
                return Err(self.fail(&format!("the quoted name \"{name}\" can't be a function")));
            }
            QueryToken::Quoted(name) => QueryNode::Field(name),
            QueryToken::Sign("literal") => {
                QueryNode::Literal(self.tokens.literals[index].clone().unwrap_or(Value::None))
            }
            QueryToken::Sign("@") => QueryNode::Identity,
            QueryToken::Sign("*") => {
                let right = if self.is("]") { QueryNode::Identity } else { self.projected(20)? };
                QueryNode::Values(Box::new(QueryNode::Identity), Box::new(right))
            }
            QueryToken::Sign("[?") => self.filter(QueryNode::Identity)?,
            QueryToken::Sign("[]") => {
                let right = self.projected(9)?;
                QueryNode::Items(Box::new(QueryNode::Flatten(Box::new(QueryNode::Identity))), Box::new(right))
            }
            QueryToken::Sign("!") => QueryNode::Not(Box::new(self.expression(45)?)),
            QueryToken::Sign("&") => QueryNode::Reference(Box::new(self.expression(60)?)),
            QueryToken::Sign("(") => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                inner
            }
            QueryToken::Sign("{") => self.dict()?,
            QueryToken::Sign("[") => {
                if matches!(self.current(), QueryToken::Number(_)) || self.is(":") {
                    self.index(QueryNode::Identity)?
                } else if self.is("*") && self.next_is("]") {
                    self.advance();
                    self.advance();
                    let right = self.projected(20)?;
                    QueryNode::Items(Box::new(QueryNode::Identity), Box::new(right))
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

    fn follow(&mut self, left: QueryNode) -> Result<QueryNode> {
        let QueryToken::Sign(sign) = *self.current() else { return Err(self.fail("this can't follow here")) };
        self.advance();
        let left = Box::new(left);
        Ok(match sign {
            "." if self.is("*") => {
                self.advance();
                QueryNode::Values(left, Box::new(self.projected(40)?))
            }
            "." => QueryNode::Then(left, Box::new(self.after_dot(40)?)),
            "|" => QueryNode::Then(left, Box::new(self.expression(1)?)),
            "||" => QueryNode::Or(left, Box::new(self.expression(2)?)),
            "&&" => QueryNode::And(left, Box::new(self.expression(3)?)),
            "==" | "!=" | "<" | "<=" | ">" | ">=" => QueryNode::Compare(sign, left, Box::new(self.expression(5)?)),
            "[]" => QueryNode::Items(Box::new(QueryNode::Flatten(left)), Box::new(self.projected(9)?)),
            "[?" => self.filter(*left)?,
            "(" => {
                let QueryNode::Field(name) = *left else { return Err(self.fail("only a name can be called")) };
                let mut arguments = Vec::new();
                while !self.is(")") {
                    arguments.push(self.expression(0)?);
                    if !self.skip(",") {
                        break;
                    }
                }
                self.expect(")")?;
                QueryNode::Call(name, arguments)
            }
            "[" => {
                if matches!(self.current(), QueryToken::Number(_)) || self.is(":") {
                    self.index(*left)?
                } else {
                    self.expect("*")?;
                    self.expect("]")?;
                    QueryNode::Items(left, Box::new(self.projected(20)?))
                }
            }
            _ => return Err(self.fail("this can't follow here")),
        })
    }

    /// Parses `0]`, `1:]` or `::2]`.
    fn index(&mut self, left: QueryNode) -> Result<QueryNode> {
        if matches!(self.current(), QueryToken::Number(_)) && !self.next_is(":") {
            let QueryToken::Number(number) = *self.current() else { return Err(self.fail("a number is missing")) };
            self.advance();
            self.expect("]")?;
            return Ok(QueryNode::Then(Box::new(left), Box::new(QueryNode::Index(number))));
        }
        let mut parts = [None; 3];
        let mut part = 0;
        while !self.is("]") {
            if self.skip(":") {
                part += 1;
                if part > 2 {
                    return Err(self.fail("a slice has three parts at most"));
                }
            } else if let QueryToken::Number(number) = *self.current() {
                parts[part] = Some(number);
                self.advance();
            } else {
                return Err(self.fail("a slice has numbers"));
            }
        }
        self.expect("]")?;
        let slice = QueryNode::Then(Box::new(left), Box::new(QueryNode::Slice(parts)));
        Ok(QueryNode::Items(Box::new(slice), Box::new(self.projected(20)?)))
    }

    fn filter(&mut self, left: QueryNode) -> Result<QueryNode> {
        let condition = self.expression(0)?;
        self.expect("]")?;
        let right = if self.is("[]") { QueryNode::Identity } else { self.projected(21)? };
        Ok(QueryNode::Filter(Box::new(left), Box::new(condition), Box::new(right)))
    }

    /// Parses what a projection does with each item.
    fn projected(&mut self, power: u8) -> Result<QueryNode> {
        if self.power() < PROJECTION_STOP {
            Ok(QueryNode::Identity)
        } else if self.is("[") || self.is("[?") {
            self.expression(power)
        } else if self.skip(".") {
            self.after_dot(power)
        } else {
            Err(self.fail("this can't follow here"))
        }
    }

    fn after_dot(&mut self, power: u8) -> Result<QueryNode> {
        match self.current() {
            QueryToken::Name(_) | QueryToken::Quoted(_) | QueryToken::Sign("*") => self.expression(power),
            QueryToken::Sign("[") => {
                self.advance();
                self.list()
            }
            QueryToken::Sign("{") => {
                self.advance();
                self.dict()
            }
            _ => Err(self.fail("a name is missing")),
        }
    }

    fn list(&mut self) -> Result<QueryNode> {
        let mut items = vec![self.expression(0)?];
        while self.skip(",") {
            items.push(self.expression(0)?);
        }
        self.expect("]")?;
        Ok(QueryNode::List(items))
    }

    fn dict(&mut self) -> Result<QueryNode> {
        let mut pairs = Vec::new();
        loop {
            let (QueryToken::Name(name) | QueryToken::Quoted(name)) = self.current().clone() else {
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
        Ok(QueryNode::Dict(pairs))
    }
}
