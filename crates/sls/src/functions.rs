//! The interfaces to the host: [`TemplateFunctions`], [`StateCatalog`], [`Decryptor`].

use rocksalt_core::call::ProblemKind;
use rocksalt_core::{Map, Problem, Value};

/// The functions that templates call as `salt['mod.fun'](…)`.
pub trait TemplateFunctions {
    /// Calls a function. The template's user sees the text of the problem.
    fn call(&self, name: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Problem>;

    /// Like `call`, and also returns arguments that the function changed in place. Few functions do that.
    fn call_in_place(
        &self,
        name: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<(Value, Option<ChangedArgument>), Problem> {
        Ok((self.call(name, args, kwargs)?, None))
    }

    fn exists(&self, name: &str) -> bool;

    /// All names, sorted, for `salt.mod.fun` and for "did you mean".
    fn names(&self) -> Vec<String>;
}

/// An argument that a call has changed.
pub struct ChangedArgument {
    /// Its position, if it was passed by position.
    pub position: usize,
    /// Its name, if it was given by name.
    pub name: &'static str,
    /// Its new value.
    pub value: Value,
}

/// The compiler's view of states.
pub trait StateCatalog {
    /// Whether the module has a watch function; without one, a `watch` is a `require`.
    fn has_watch(&self, module: &str) -> bool;

    /// Whether states of this module can be aggregated.
    fn has_aggregate(&self, module: &str) -> bool;

    /// Whether `mod.fun` is a state.
    fn has_state(&self, function: &str) -> bool;
}

/// Decrypts a text that was encrypted for this machine. The host implements it, since it runs a program.
pub trait Decryptor {
    /// `method` is `gpg` or `age`.
    fn decrypt(&self, method: &str, encrypted: &[u8]) -> Result<Vec<u8>, String>;
}

/// A host without functions.
pub struct NoFunctions;

impl TemplateFunctions for NoFunctions {
    fn call(&self, name: &str, _: Vec<Value>, _: Map) -> Result<Value, Problem> {
        Err(Problem::new(ProblemKind::UnknownFunction, format!("'{name}' is not available.")))
    }

    fn exists(&self, _: &str) -> bool {
        false
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Refuses to decrypt, for hosts without keys.
pub struct NoDecryptor;

impl Decryptor for NoDecryptor {
    fn decrypt(&self, method: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Err(format!("there is no {method} key here"))
    }
}
