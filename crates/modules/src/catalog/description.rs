//! [`FunctionDescription`]: everything known about a function or a state, for the data file of `rocksalt-catalog`.

use rocksalt_core::description::{Nature, Shape};
use rocksalt_core::value::to_value;
use rocksalt_core::{Map, Value};
use serde::Serialize;

use super::arguments::{Arguments, FunctionAttributes, StateAttributes};
use super::file::Flag;

/// The description of a function or a state.
pub struct FunctionDescription {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub doc: &'static str,
    pub arguments: Vec<ArgumentDescription>,
    /// The argument that takes all further positional ones.
    pub rest: &'static str,
    /// For functions only.
    pub nature: Option<Nature>,
}

/// An argument.
pub struct ArgumentDescription {
    pub name: &'static str,
    pub doc: &'static str,
    pub shape: Shape,
    /// The default; `None` if the argument is required.
    pub default: Option<Value>,
    pub secret: bool,
}

/// The description of one argument.
pub fn argument<T: Described>(
    name: &'static str,
    doc: &'static str,
    default: Option<T>,
    secret: bool,
) -> ArgumentDescription {
    ArgumentDescription { name, doc, shape: T::SHAPE, default: default.map(|value| value.shown()), secret }
}

impl FunctionDescription {
    pub fn of_function<F: Arguments + FunctionAttributes>() -> FunctionDescription {
        let mut arguments = Vec::new();
        F::describe(&mut arguments);
        FunctionDescription {
            name: F::NAME,
            aliases: F::ALIASES,
            doc: F::DOC,
            arguments,
            rest: F::REST,
            nature: Some(F::NATURE),
        }
    }

    /// The description of a state. Its arguments can only be given by name.
    pub fn of_state<S: Arguments + StateAttributes>() -> FunctionDescription {
        let mut arguments = Vec::new();
        S::describe(&mut arguments);
        FunctionDescription { name: S::NAME, aliases: &[], doc: S::DOC, arguments, rest: "", nature: None }
    }
}

/// A type of arguments.
pub trait Described {
    const SHAPE: Shape;
    /// A default as the documentation shows it; null if there is none.
    fn shown(&self) -> Value;
}

macro_rules! described {
    ($($type:ty = $shape:ident),+) => { $(
        impl Described for $type {
            const SHAPE: Shape = Shape::$shape;

            fn shown(&self) -> Value {
                shown(self)
            }
        }
    )+ };
}

described!(bool = Bool, i32 = I32, i64 = I64, u16 = U16, u32 = U32, u64 = U64, usize = U64, f64 = F64);
described!(String = Text, Map = Map, Value = Any);

impl Described for Flag {
    const SHAPE: Shape = Shape::Flag;

    fn shown(&self) -> Value {
        Value::Null
    }
}

impl<T: Described> Described for Option<T> {
    const SHAPE: Shape = Shape::Optional(&T::SHAPE);

    fn shown(&self) -> Value {
        self.as_ref().map(T::shown).unwrap_or_default()
    }
}

impl<T: Described> Described for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn shown(&self) -> Value {
        Value::List(self.iter().map(T::shown).collect())
    }
}

fn shown(value: &impl Serialize) -> Value {
    to_value(value).unwrap_or_default()
}
