//! [`TemplateToken`]: the tokens of a template.

use std::rc::Rc;

use crate::ast::Span;
use crate::error::Error;
use crate::value::Value;

pub struct TemplateToken {
    pub kind: TokenKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum TokenKind {
    Data,
    BlockBegin,
    BlockEnd,
    VariableBegin,
    VariableEnd,
    Name(Rc<str>),
    String(Rc<str>),
    Integer(Number),
    Float(f64),
    Sign(&'static str),
    /// The lexer's error, which the parser raises when it reaches the token.
    Error(Box<Error>),
    End,
}

/// The value of a number token; the wrapper implements `Debug`.
#[derive(Clone)]
pub struct Number(pub Value);

impl std::fmt::Debug for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_text().unwrap_or_default())
    }
}

impl TokenKind {
    /// The token's name in Jinja's messages.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Data => "template data / text",
            TokenKind::BlockBegin => "begin of statement block",
            TokenKind::BlockEnd => "end of statement block",
            TokenKind::VariableBegin => "begin of print statement",
            TokenKind::VariableEnd => "end of print statement",
            TokenKind::Name(name) => name,
            TokenKind::String(_) => "string",
            TokenKind::Integer(_) => "integer",
            TokenKind::Float(_) => "float",
            TokenKind::Sign(sign) => sign,
            TokenKind::Error(_) => "error",
            TokenKind::End => "end of template",
        }
        .to_owned()
    }

    pub fn is_sign(&self, sign: &str) -> bool {
        matches!(self, TokenKind::Sign(own) if *own == sign)
    }

    pub fn is_name(&self, name: &str) -> bool {
        matches!(self, TokenKind::Name(own) if **own == *name)
    }
}
