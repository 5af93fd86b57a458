//! The filter `json_query`: JMESPath, a query language for JSON.

mod evaluate;
mod functions;
mod lexer;
mod parser;

use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::Value;

pub(super) fn json_query(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let expression = arguments.take("expr")?.to_text()?;
    arguments.finish()?;
    value.must_be_usable()?;
    let query = parser::parse(&expression)?;
    evaluate::QueryEvaluator { scope }.run(&query, &value)
}
