//! Evaluates expressions.

use std::rc::Rc;

use crate::arguments::FunctionArguments;
use crate::ast::{
    CallArguments, CallExpression, Expression, ExpressionKind, FilterCall, Operator, Relation, SliceExpression,
    TestCall,
};
use crate::error::{Error, Result};
use crate::evaluate::loops::Loop;
use crate::filters::escape;
use crate::methods;
use crate::place;
use crate::scope::Scope;
use crate::symbol::Symbol;
use crate::value::{Dict, MissingName, Slice, UndefinedKind, Value, arithmetic};

impl Scope<'_> {
    /// Evaluates an expression. An error gets the place of the innermost expression that failed.
    pub(crate) fn eval(&self, expression: &Expression) -> Result<Value> {
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(value.clone()),
            ExpressionKind::Name(symbol) => Ok(self.name(*symbol)),
            _ => self.deeper(|| self.eval_inner(expression)).map_err(|error| self.located(error, expression.span)),
        }
    }

    #[cold]
    pub(crate) fn located(&self, error: Error, span: crate::ast::Span) -> Error {
        place::locate(error, &self.root.template.name, &self.root.template.source, span)
    }

    /// Evaluates a condition; fails for a strict undefined.
    pub(crate) fn eval_truth(&self, expression: &Expression) -> Result<bool> {
        self.eval(expression)?.truth().map_err(|error| self.explained(error, expression))
    }

    /// Adds the nearest defined name as a hint to an error about an undefined name.
    #[cold]
    pub(crate) fn explained(&self, mut error: Error, expression: &Expression) -> Error {
        if error.hint.is_none()
            && let Some(name) = error.message.strip_suffix("' is undefined").and_then(|rest| rest.strip_prefix('\''))
        {
            let name = name.to_owned();
            let variables = self.variables();
            error.suggest(&name, variables.iter().map(|(name, _)| &**name));
        }
        self.located(error, expression.span)
    }

    pub(crate) fn name(&self, symbol: Symbol) -> Value {
        if let Some(value) = self.frame.get(symbol) {
            return value;
        }
        let environment = self.environment();
        if let Some(value) = environment.global(symbol) {
            return value;
        }
        if symbol == environment.names.self_ {
            return self.self_reference();
        }
        Value::undefined(self.undefined_kind(), MissingName::Name(environment.symbol_name(symbol)))
    }

    fn eval_inner(&self, expression: &Expression) -> Result<Value> {
        self.charge(1)?;
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(value.clone()),
            ExpressionKind::Name(symbol) => Ok(self.name(*symbol)),
            ExpressionKind::Attribute(object, name) => self.attribute(object, name),
            ExpressionKind::Item(pair) => self.item(&pair.0, &pair.1),
            ExpressionKind::Slice(slice) => {
                let object = self.eval(&slice.object)?;
                self.slice(object, slice)
            }
            ExpressionKind::Call(call) => self.call_expression(call),
            ExpressionKind::Filter(call) => {
                let value = match &call.value {
                    Some(value) => self.eval(value)?,
                    None => Value::from(""),
                };
                self.apply_filter(call, value)
            }
            ExpressionKind::Test(call) => self.apply_test(call).map(Value::Bool),
            ExpressionKind::List(items) => Ok(Value::list(self.all(items)?)),
            ExpressionKind::Tuple(items) => Ok(Value::tuple(self.all(items)?)),
            ExpressionKind::Dict(pairs) => self.dict(pairs),
            ExpressionKind::Not(inner) => Ok(Value::Bool(!self.eval_truth(inner)?)),
            ExpressionKind::Negative(inner) => {
                let value = self.eval(inner)?;
                arithmetic::negative(&value).map_err(|error| self.explained(error, inner))
            }
            ExpressionKind::Positive(inner) => {
                let value = self.eval(inner)?;
                arithmetic::positive(&value).map_err(|error| self.explained(error, inner))
            }
            ExpressionKind::Binary(operator, pair) => {
                let (left, right) = (self.eval(&pair.0)?, self.eval(&pair.1)?);
                self.defined(&left, &pair.0)?;
                // String formatting accepts undefined operands.
                if !matches!((operator, &left), (Operator::Modulo, Value::String(_))) {
                    self.defined(&right, &pair.1)?;
                }
                arithmetic::binary(self, *operator, left, right)
            }
            ExpressionKind::Concat(parts) => self.concat(parts),
            ExpressionKind::And(parts) => self.logic(parts, false),
            ExpressionKind::Or(parts) => self.logic(parts, true),
            ExpressionKind::Compare(first, relations) => self.compare(first, relations),
            ExpressionKind::Conditional(conditional) => {
                if self.eval_truth(&conditional.condition)? {
                    return self.eval(&conditional.then);
                }
                match &conditional.otherwise {
                    Some(otherwise) => self.eval(otherwise),
                    None => Ok(self.no_else(expression)),
                }
            }
        }
    }

    /// The value of a false `x if y` without `else`. As in Jinja it is lenient, whatever the options say.
    #[cold]
    fn no_else(&self, expression: &Expression) -> Value {
        let template = &self.root.template;
        let line = place::line(&template.source, expression.span.start);
        let message = format!(
            "the inline if-expression on line {line} in '{}' evaluated to false and no else section was defined.",
            template.name
        );
        Value::undefined(UndefinedKind::Lenient, MissingName::Other(message))
    }

    fn defined(&self, value: &Value, expression: &Expression) -> Result<()> {
        value.must_be_defined().map_err(|error| self.explained(error, expression))
    }

    fn all(&self, expressions: &[Expression]) -> Result<Vec<Value>> {
        expressions.iter().map(|expression| self.eval(expression)).collect()
    }

    #[inline(never)]
    fn dict(&self, pairs: &[(Expression, Expression)]) -> Result<Value> {
        let mut dict = Dict::new();
        for (key, value) in pairs {
            dict.insert(self.eval(key)?, self.eval(value)?)?;
        }
        Ok(Value::dict(dict))
    }

    #[inline(never)]
    fn attribute(&self, object: &Expression, name: &str) -> Result<Value> {
        let value = self.eval(object)?;
        if let Some(own) = value.downcast::<Loop>() {
            return own.attribute(self, &value, name);
        }
        value.attribute(name, self.undefined_kind()).map_err(|error| self.explained(error, object))
    }

    #[inline(never)]
    fn item(&self, object: &Expression, key: &Expression) -> Result<Value> {
        let value = self.eval(object)?;
        let found = self.eval(key)?;
        value.item(&found, self.undefined_kind()).map_err(|error| {
            self.explained(error, if found.is_undefined() && !value.is_undefined() { key } else { object })
        })
    }

    #[inline(never)]
    fn slice(&self, object: Value, slice: &SliceExpression) -> Result<Value> {
        let bound = |bound: &Option<Expression>| bound.as_ref().map_or(Ok(Value::None), |bound| self.eval(bound));
        let bounds = [bound(&slice.start)?, bound(&slice.stop)?, bound(&slice.step)?];
        let cut = || {
            let [start, stop, step] = [slice_bound(&bounds[0])?, slice_bound(&bounds[1])?, slice_bound(&bounds[2])?];
            object.slice(&Slice { start, stop, step })
        };
        match cut() {
            // Jinja turns the TypeError of a value that can't be sliced into an undefined value.
            Err(error) if error.exception == "TypeError" => {
                let parts = bounds.iter().map(Value::repr).collect::<Result<Vec<_>>>()?;
                Ok(self.undefined(format!("{} object has no element slice({})", object.type_name(), parts.join(", "))))
            }
            other => other.map_err(|error| self.explained(error, &slice.object)),
        }
    }

    #[inline(never)]
    fn concat(&self, parts: &[Expression]) -> Result<Value> {
        let values = self.all(parts)?;
        let safe = self.autoescape && values.iter().any(Value::is_safe);
        let mut text = String::new();
        for (value, expression) in values.iter().zip(parts) {
            if safe { escape::write_escaped(value, &mut text) } else { value.write_text(&mut text) }
                .map_err(|error| self.explained(error, expression))?;
            self.check_size(text.len())?;
        }
        Ok(if safe { Value::safe(text) } else { text.into() })
    }

    /// Evaluates `and` or `or`: the first value that decides, as in Python. `until` is true for `or`.
    fn logic(&self, parts: &[Expression], until: bool) -> Result<Value> {
        let mut value = Value::None;
        for (index, part) in parts.iter().enumerate() {
            value = self.eval(part)?;
            if index + 1 < parts.len() && value.truth().map_err(|error| self.explained(error, part))? == until {
                return Ok(value);
            }
        }
        Ok(value)
    }

    #[inline(never)]
    fn compare(&self, first: &Expression, relations: &[(Relation, Expression)]) -> Result<Value> {
        let mut left = self.eval(first)?;
        let mut left_expression = first;
        for (relation, expression) in relations {
            let right = self.eval(expression)?;
            let result = match relation {
                Relation::Equal => left.equals(&right),
                Relation::NotEqual => left.equals(&right).map(|equal| !equal),
                Relation::Order(comparison) => left.compares(*comparison, &right),
                Relation::In => right.contains(&left),
                Relation::NotIn => right.contains(&left).map(|found| !found),
            };
            let holds = result.map_err(|error| {
                let of_left = left.as_undefined().is_some_and(|undefined| undefined.message() == error.message);
                self.explained(error, if of_left { left_expression } else { expression })
            })?;
            if !holds {
                return Ok(Value::Bool(false));
            }
            (left, left_expression) = (right, expression);
        }
        Ok(Value::Bool(true))
    }

    #[inline(never)]
    pub(crate) fn arguments(&self, arguments: &CallArguments) -> Result<FunctionArguments> {
        let mut positional = self.all(&arguments.positional)?;
        let mut keyword = Vec::with_capacity(arguments.keyword.len());
        for (name, expression) in &arguments.keyword {
            keyword.push((Rc::clone(name), self.eval(expression)?));
        }
        if let Some(more) = &arguments.more_positional {
            let value = self.eval(more)?;
            let items = value.iterate().map_err(|error| self.explained(error, more))?;
            for item in items {
                self.charge(1)?;
                positional.push(item?);
            }
        }
        if let Some(more) = &arguments.more_keyword {
            let value = self.eval(more)?;
            let Value::Dict(dict) = &value else {
                self.defined(&value, more)?;
                return Err(Error::type_error(format!(
                    "argument after ** must be a mapping, not {}",
                    value.type_name()
                )));
            };
            for (key, value) in dict.borrow().iter() {
                let Value::String(name) = key else { return Err(Error::type_error("keywords must be strings")) };
                if keyword.iter().any(|(own, _)| **own == **name) {
                    return Err(Error::type_error(format!("got multiple values for keyword argument '{}'", &**name)));
                }
                keyword.push((name.shared(), value.clone()));
            }
        }
        Ok(FunctionArguments::new(positional, keyword))
    }

    #[inline(never)]
    fn call_expression(&self, call: &CallExpression) -> Result<Value> {
        self.call_with(call, |arguments| arguments)
    }

    /// Makes a call after `change` has changed the arguments; a call block adds its caller.
    pub(crate) fn call_with(
        &self,
        call: &CallExpression,
        change: impl FnOnce(FunctionArguments) -> FunctionArguments,
    ) -> Result<Value> {
        if let ExpressionKind::Attribute(object, name) = &call.callee.kind {
            let value = self.eval(object)?;
            // Methods are called directly: building a bound method would cost more than the call.
            match &value {
                Value::Object(own) => {
                    let arguments = change(self.arguments(&call.arguments)?).named(Rc::clone(name));
                    if let Some(loop_) = value.downcast::<Loop>() {
                        return loop_.call_method(self, &value, name, arguments);
                    }
                    if let Some(result) = own.call_method(self, name, arguments.clone()) {
                        return result;
                    }
                    let callee = value.attribute(name, self.undefined_kind())?;
                    return self.call(&callee, arguments);
                }
                other => {
                    if let Some(method) = methods::find(other, name) {
                        let arguments = change(self.arguments(&call.arguments)?).named(Rc::clone(name));
                        return method(self, other, arguments);
                    }
                }
            }
            let callee = value.attribute(name, self.undefined_kind()).map_err(|error| self.explained(error, object))?;
            let arguments = change(self.arguments(&call.arguments)?).named(Rc::clone(name));
            return self.call(&callee, arguments).map_err(|error| self.explained(error, &call.callee));
        }
        let callee = self.eval(&call.callee)?;
        let mut arguments = change(self.arguments(&call.arguments)?);
        if let ExpressionKind::Name(symbol) = &call.callee.kind {
            arguments = arguments.named(self.environment().symbol_name(*symbol));
        }
        match callee {
            Value::Object(object) => object.call(self, arguments),
            other => self.call(&other, arguments).map_err(|error| self.explained(error, &call.callee)),
        }
    }

    #[inline(never)]
    pub(crate) fn apply_filter(&self, call: &FilterCall, value: Value) -> Result<Value> {
        let arguments = self.arguments(&call.arguments)?.named(Rc::clone(&call.name));
        match &call.filter {
            Some(filter) => filter.apply(self, value, arguments).map_err(|error| match &call.value {
                Some(expression) => self.located(self.explained_name(error, expression), call.span),
                None => self.located(error, call.span),
            }),
            None => Err(Error::runtime(format!("No filter named {} found.", crate::value::quoted(&call.name)))),
        }
    }

    /// If a filter fails because its input is undefined, the error points to the input.
    #[cold]
    fn explained_name(&self, error: Error, expression: &Expression) -> Error {
        match (error.kind, &expression.kind) {
            (crate::error::ErrorKind::Undefined, ExpressionKind::Name(_)) => self.explained(error, expression),
            _ => error,
        }
    }

    #[inline(never)]
    fn apply_test(&self, call: &TestCall) -> Result<bool> {
        let value = self.eval(&call.value)?;
        let arguments = self.arguments(&call.arguments)?.named(Rc::clone(&call.name));
        match call.test {
            Some(test) => test(self, value, arguments).map_err(|error| self.explained_name(error, &call.value)),
            None => Err(Error::runtime(format!("No test named {} found.", crate::value::quoted(&call.name)))),
        }
    }
}

fn slice_bound(bound: &Value) -> Result<Option<i64>> {
    match bound {
        Value::None => Ok(None),
        Value::BigInt(number) => {
            Ok(Some(if number.sign() == num_bigint::Sign::Minus { i64::MIN + 1 } else { i64::MAX }))
        }
        other => match other.as_i64() {
            Some(number) => Ok(Some(number)),
            None => Err(Error::type_error("slice indices must be integers or None or have an __index__ method")),
        },
    }
}
