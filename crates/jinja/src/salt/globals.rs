//! Salt's global functions: `ifelse`, `odict`, `raise` and `show_full_context`.

use rocksalt_core::Map;
use rocksalt_core::target::{DELIMITER, Nodegroups, Subject, TargetExpression, TargetKind};

use crate::arguments::FunctionArguments;
use crate::error::{Error, ErrorKind, Result};
use crate::scope::Scope;
use crate::value::{Dict, ORDERED, PythonObject, Value};

/// A function that a template calls by a bare name.
pub(super) struct SaltGlobal {
    pub name: &'static str,
    pub call: fn(&Scope<'_>, FunctionArguments) -> Result<Value>,
}

impl PythonObject for SaltGlobal {
    fn type_name(&self) -> &str {
        "function"
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, scope: &Scope<'_>, arguments: FunctionArguments) -> Result<Value> {
        (self.call)(scope, arguments.named(self.name))
    }

    fn repr(&self) -> String {
        format!("<function {}>", self.name)
    }
}

pub(super) fn raise(_: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let message = arguments.take("msg")?.to_text()?;
    arguments.finish()?;
    Err(Error::new(ErrorKind::Raised, "TemplateError", message))
}

/// Creates a dict; all dicts keep their order.
pub(super) fn odict(scope: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let mut ordered = Dict::new();
    ordered.set_class(ORDERED);
    let dict = Value::dict(ordered);
    if !arguments.is_empty() {
        let update = dict.attribute("update", scope.undefined_kind())?;
        scope.call(&update, FunctionArguments::new(arguments.rest(), arguments.keywords()))?;
    }
    Ok(dict)
}

/// Returns all variables that the template can see, as plain data where possible.
pub(super) fn show_full_context(scope: &Scope<'_>, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let mut context = Dict::new();
    for (name, value) in scope.variables() {
        let shown = match value.to_core() {
            Ok(data) => Value::from(data),
            Err(_) => value.repr()?.into(),
        };
        context.insert_str(&name, shown);
    }
    Ok(Value::dict(context))
}

/// Takes pairs of a target and a value, and a default for a machine that no target matches.
pub(super) fn ifelse(scope: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let given = arguments.rest();
    let kind = arguments.keyword("tgt_type").map(|kind| kind.to_text()).transpose()?;
    let id = arguments.keyword("minion_id").filter(|id| !id.is_none()).map(|id| id.to_text()).transpose()?;
    let merge = arguments.keyword("merge").filter(|merge| !merge.is_none());
    let merge_lists = arguments.keyword("merge_lists").map_or(Ok(false), |flag| flag.truth())?;
    arguments.finish()?;
    let Some((default, pairs)) = given.split_last().filter(|(_, pairs)| pairs.len() % 2 == 0) else {
        return Err(Error::exception("SaltException", "The ifelse function must have an odd number of arguments!"));
    };
    let mut chosen = default.clone();
    if !pairs.is_empty() {
        let subject = TemplateSubject::new(scope, id);
        let kind = match kind.as_deref() {
            None => TargetKind::Compound,
            Some(name) => TargetKind::from_name(name)
                .map_err(|error| Error::exception("SaltException", format!("ifelse: {error}")))?,
        };
        for pair in pairs.chunks(2) {
            if holds(&pair[0], kind, &subject)? {
                chosen = pair[1].clone();
                break;
            }
        }
    }
    match merge {
        Some(over) => merged(&chosen, &over, merge_lists, 0),
        None => Ok(chosen),
    }
}

fn holds(target: &Value, kind: TargetKind, subject: &TemplateSubject) -> Result<bool> {
    match target {
        Value::Bool(flag) => Ok(*flag),
        target => {
            let text = target.to_text()?;
            Ok(TargetExpression::forgiving(kind, &text, DELIMITER, &Nodegroups::default()).matches(subject))
        }
    }
}

/// Merges `over` into `base` recursively.
fn merged(base: &Value, over: &Value, lists: bool, depth: usize) -> Result<Value> {
    if depth > crate::value::MAX_NESTING {
        return Err(Error::too_deep("merging"));
    }
    match (base, over) {
        (Value::Dict(base), Value::Dict(over)) => {
            let mut out = base.borrow().clone();
            for (key, value) in over.borrow().clone().iter() {
                let value = match out.get(key)? {
                    Some(there) => merged(there, value, lists, depth + 1)?,
                    None => value.clone(),
                };
                out.insert(key.clone(), value)?;
            }
            Ok(Value::dict(out))
        }
        (Value::List(base), Value::List(over)) if lists => {
            let mut out = base.borrow().clone();
            out.extend(over.borrow().iter().cloned());
            Ok(Value::list(out))
        }
        _ => Ok(over.clone()),
    }
}

/// The machine that the template is rendered for, as far as the template's variables describe it.
struct TemplateSubject {
    id: String,
    grains: Map,
    pillar: Map,
}

impl TemplateSubject {
    fn new(scope: &Scope<'_>, id: Option<String>) -> TemplateSubject {
        let map = |name: &str| {
            let data = scope.lookup(name).and_then(|value| value.to_core().ok());
            data.and_then(|data| data.as_map().cloned()).unwrap_or_default()
        };
        let (grains, opts) = (map("grains"), map("opts"));
        let text = |map: &Map| map.get("id").and_then(rocksalt_core::Value::as_str).map(str::to_owned);
        let id = id.or_else(|| text(&opts)).or_else(|| text(&grains)).unwrap_or_default();
        TemplateSubject { id, grains, pillar: map("pillar") }
    }
}

impl Subject for TemplateSubject {
    fn id(&self) -> &str {
        &self.id
    }

    fn grains(&self) -> &Map {
        &self.grains
    }

    fn pillar(&self) -> &Map {
        &self.pillar
    }
}
