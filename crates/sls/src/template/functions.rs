//! `salt` in a template: `salt['mod.fun'](…)` and `salt.mod.fun(…)`.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use rocksalt_core::Map;
use rocksalt_jinja::{FunctionArguments, PythonObject, Result, Scope, Value};

use super::{failure, inherit};
use crate::functions;

type FunctionHost = Rc<dyn functions::TemplateFunctions>;

pub(super) struct SaltObject {
    host: FunctionHost,
    pillar: Value,
    modules: OnceCell<HashSet<String>>,
}

impl SaltObject {
    /// Creates the object. `pillar` is the template's; parts of it that functions return keep their classes.
    pub fn new(host: FunctionHost, pillar: Value) -> SaltObject {
        SaltObject { host, pillar, modules: OnceCell::new() }
    }

    fn module(&self, name: &str) -> Option<Value> {
        let modules = self.modules.get_or_init(|| {
            let names = self.host.names();
            names.iter().filter_map(|name| name.split_once('.')).map(|(module, _)| module.to_owned()).collect()
        });
        modules.contains(name).then(|| {
            Value::object(SaltModule { name: name.to_owned(), host: self.host.clone(), pillar: self.pillar.clone() })
        })
    }
}

impl PythonObject for SaltObject {
    fn type_name(&self) -> &str {
        "salt.utils.templates.AliasedLoader"
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        let own = |name| Value::object(SaltMethod { name, host: self.host.clone(), pillar: self.pillar.clone() });
        match name {
            "get" => Some(own("get")),
            "keys" => Some(own("keys")),
            _ => self.module(name),
        }
    }

    fn get_item(&self, key: &Value) -> Result<Option<Value>> {
        let Some(name) = key.as_str() else { return Ok(None) };
        Ok(function(&self.host, &self.pillar, name).or_else(|| self.module(name)))
    }

    fn contains(&self, value: &Value) -> Option<Result<bool>> {
        Some(Ok(value.as_str().is_some_and(|name| self.host.exists(name))))
    }
}

/// The methods `salt.get(name, default)` and `salt.keys()`.
struct SaltMethod {
    name: &'static str,
    host: FunctionHost,
    pillar: Value,
}

impl PythonObject for SaltMethod {
    fn type_name(&self) -> &str {
        "method"
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, _: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
        if self.name == "keys" {
            return Ok(Value::list(self.host.names().into_iter().map(Value::from).collect()));
        }
        let given = arguments.rest();
        let found = given.first().and_then(Value::as_str).and_then(|name| function(&self.host, &self.pillar, name));
        Ok(found.or_else(|| given.get(1).cloned()).unwrap_or(Value::None))
    }
}

struct SaltModule {
    name: String,
    host: FunctionHost,
    pillar: Value,
}

impl PythonObject for SaltModule {
    fn type_name(&self) -> &str {
        "salt.loader.lazy.LoadedMod"
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        function(&self.host, &self.pillar, &format!("{}.{name}", self.name))
    }

    fn get_item(&self, key: &Value) -> Result<Option<Value>> {
        Ok(key.as_str().and_then(|name| self.get_attribute(name)))
    }
}

struct SaltFunction {
    name: String,
    host: FunctionHost,
    pillar: Value,
}

fn function(host: &FunctionHost, pillar: &Value, name: &str) -> Option<Value> {
    let make = || SaltFunction { name: name.to_owned(), host: host.clone(), pillar: pillar.clone() };
    host.exists(name).then(|| Value::object(make()))
}

impl PythonObject for SaltFunction {
    fn type_name(&self) -> &str {
        "salt.loader.lazy.LoadedFunc"
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, _: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
        let positional = arguments.rest();
        let named = arguments.keywords();
        let args = positional.iter().map(Value::to_core).collect::<Result<Vec<_>>>()?;
        let mut kwargs = Map::new();
        for (name, value) in &named {
            kwargs.insert(&**name, value.to_core()?);
        }
        let (value, changed) =
            self.host.call_in_place(&self.name, args, kwargs).map_err(|problem| failure::of(&self.name, problem))?;
        if let Some(changed) = changed {
            let by_name = || named.iter().find(|(name, _)| &**name == changed.name).map(|(_, value)| value);
            let argument = positional.get(changed.position).or_else(by_name);
            if let (Some(Value::Dict(argument)), Value::Dict(now)) = (argument, Value::from(changed.value)) {
                let before = Value::dict(argument.borrow().clone());
                let class = argument.borrow().class();
                *argument.borrow_mut() = now.borrow().clone();
                argument.borrow_mut().set_class(class);
                let sources: Vec<Value> = std::iter::once(before).chain(positional.iter().skip(1).cloned()).collect();
                inherit::below(&Value::Dict(argument.clone()), &sources);
            }
        }
        let value = Value::from(value);
        inherit::classes(&self.name, &value, &positional, &named, &self.pillar);
        Ok(value)
    }

    fn repr(&self) -> String {
        format!("<LoadedFunc name='{}'>", self.name)
    }
}
