//! A parsed template.

use std::rc::Rc;

use crate::environment::{AnyFilter, TestFunction};
use crate::symbol::Symbol;
use crate::value::{Comparison, Value};

/// A range of bytes in the template's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

pub struct ParsedTemplate {
    pub name: Rc<str>,
    /// The text with newlines as `
    /// `; spans point into it.
    pub source: Rc<str>,
    /// The text as it was loaded, to detect changes; empty if the template wasn't loaded.
    pub raw: Rc<str>,
    pub body: Vec<Statement>,
    pub blocks: Vec<Rc<BlockDefinition>>,
}

pub struct Expression {
    pub kind: ExpressionKind,
    pub span: Span,
    /// The number of levels below this node, which is limited to protect the stack.
    pub depth: u16,
}

pub enum ExpressionKind {
    Constant(Value),
    Name(Symbol),
    Attribute(Box<Expression>, Rc<str>),
    Item(Box<(Expression, Expression)>),
    Slice(Box<SliceExpression>),
    Call(Box<CallExpression>),
    Filter(Box<FilterCall>),
    Test(Box<TestCall>),
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Positive(Box<Expression>),
    Binary(Operator, Box<(Expression, Expression)>),
    Concat(Vec<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Compare(Box<Expression>, Vec<(Relation, Expression)>),
    Conditional(Box<Conditional>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    NotEqual,
    Order(Comparison),
    In,
    NotIn,
}

pub struct SliceExpression {
    pub object: Expression,
    pub start: Option<Expression>,
    pub stop: Option<Expression>,
    pub step: Option<Expression>,
}

pub struct Conditional {
    pub condition: Expression,
    pub then: Expression,
    pub otherwise: Option<Expression>,
}

#[derive(Default)]
pub struct CallArguments {
    pub positional: Vec<Expression>,
    pub keyword: Vec<(Rc<str>, Expression)>,
    pub more_positional: Option<Expression>,
    pub more_keyword: Option<Expression>,
}

pub struct CallExpression {
    pub callee: Expression,
    pub arguments: CallArguments,
}

pub struct FilterCall {
    /// `None` in a filter block or a set block, where the body is the value.
    pub value: Option<Expression>,
    pub name: Rc<str>,
    /// The name and the arguments, without the value.
    pub span: Span,
    /// `None` if there is no such filter, which is an error only when the call is evaluated.
    pub filter: Option<AnyFilter>,
    pub arguments: CallArguments,
}

pub struct TestCall {
    pub value: Expression,
    pub name: Rc<str>,
    pub test: Option<TestFunction>,
    pub arguments: CallArguments,
}

pub enum AssignmentTarget {
    Name(Symbol),
    /// `namespace.attribute`
    Attribute(Symbol, Rc<str>),
    Tuple(Vec<AssignmentTarget>),
}

pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

pub enum StatementKind {
    /// The text of the statement's span.
    Data,
    Print(Expression),
    If {
        branches: Vec<(Expression, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    For(Rc<For>),
    Set {
        target: AssignmentTarget,
        value: Expression,
    },
    SetBlock {
        target: AssignmentTarget,
        filter: Option<Expression>,
        body: Vec<Statement>,
    },
    With {
        bindings: Vec<(AssignmentTarget, Expression)>,
        body: Vec<Statement>,
    },
    Macro(Rc<Macro>),
    CallBlock {
        caller: Rc<Macro>,
        call: Expression,
    },
    FilterBlock {
        filter: Expression,
        body: Vec<Statement>,
    },
    Block(Rc<BlockDefinition>),
    Extends(Expression),
    Include {
        template: Expression,
        ignore_missing: bool,
        with_context: bool,
    },
    Import {
        template: Expression,
        target: Symbol,
        with_context: bool,
    },
    FromImport {
        template: Expression,
        names: Vec<(Rc<str>, Symbol)>,
        with_context: bool,
    },
    Do(Expression),
    Break,
    Continue,
    Autoescape {
        flag: Expression,
        body: Vec<Statement>,
    },
    Translate(Box<Translate>),
    Debug,
}

pub struct For {
    pub target: AssignmentTarget,
    pub iterable: Expression,
    pub filter: Option<Expression>,
    pub recursive: bool,
    pub body: Vec<Statement>,
    pub otherwise: Vec<Statement>,
}

pub struct Macro {
    pub name: Rc<str>,
    pub symbol: Option<Symbol>,
    pub parameters: Vec<Parameter>,
    pub body: Vec<Statement>,
    /// Whether the body uses these names: only then does the macro take additional arguments.
    pub uses_varargs: bool,
    pub uses_kwargs: bool,
    pub uses_caller: bool,
    pub span: Span,
}

pub struct Parameter {
    pub name: Rc<str>,
    pub symbol: Symbol,
    pub default: Option<Expression>,
}

pub struct BlockDefinition {
    pub name: Rc<str>,
    pub symbol: Symbol,
    pub scoped: bool,
    pub required: bool,
    pub body: Vec<Statement>,
}

/// A `trans` block: text and the names of variables.
pub struct Translate {
    pub bindings: Vec<(Symbol, Expression)>,
    /// The number that selects singular or plural.
    pub count: Option<Symbol>,
    pub singular: Vec<TranslatePart>,
    pub plural: Option<Vec<TranslatePart>>,
}

pub enum TranslatePart {
    Text(String),
    Variable(Symbol),
}
