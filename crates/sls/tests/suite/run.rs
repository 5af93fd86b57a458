//! Runs one step of a case; the answer has the form of the comparison.

use std::rc::Rc;

use rocksalt_core::target::{DELIMITER, Nodegroups, Subject, TargetExpression, TargetKind};
use rocksalt_core::{Map, Value};
use rocksalt_sls::functions::NoDecryptor;
use rocksalt_sls::pillar::{self, PillarInputs};
use rocksalt_sls::render::{RenderRequest, render_file};
use rocksalt_sls::{CompileInputs, SlsFault, SlsSelection, StateCatalog, compile, low, top};

use crate::case::Case;
use crate::functions::Fake;

/// The steps that need no machine.
pub const STEPS: [&str; 6] = ["high", "low", "match", "pillar", "render", "top"];

pub fn run(case: &Case, step: &str) -> Value {
    let mut options = case.what.get("config").and_then(Value::as_map).cloned().unwrap_or_default();
    let id = case.text("id").or_else(|| case.grains.get("id").map(Value::to_string)).unwrap_or_default();
    let mut grains = case.grains.clone();
    grains.insert("id", id.as_str());
    options.insert("id", id.as_str());
    options.insert("file_client", "local");
    let (pillarenv, saltenv) = (case.text("pillarenv"), case.text("saltenv"));
    let given = case.what.get("pillar_override").and_then(Value::as_map).cloned().unwrap_or_default();
    let empty = Map::new();
    let inputs = CompileInputs {
        id: &id,
        options: &options,
        grains: &grains,
        pillar: &empty,
        sources: Rc::new(case.sources("pillar_roots", "pillar")),
        functions: Rc::new(Fake { grains: grains.clone(), pillar: empty.clone(), options: options.clone() }),
        decrypt: &NoDecryptor,
        machine: None,
        saltenv: None,
        pillarenv: pillarenv.as_deref(),
    };
    let compiled = pillar::compile(&PillarInputs { inputs: inputs.clone(), given: &given, external: &[] });
    if step == "pillar" {
        let mut answer = Map::from_iter([("pillar".into(), compiled.data.clone().into())]);
        if !compiled.errors.is_empty() {
            answer.insert("errors", texts(&compiled.errors));
        }
        return answer.into();
    }
    let pillar = compiled.into_map();
    let inputs = CompileInputs {
        pillar: &pillar,
        sources: Rc::new(case.sources("file_roots", "states")),
        functions: Rc::new(Fake { grains: grains.clone(), pillar: pillar.clone(), options: options.clone() }),
        saltenv: saltenv.as_deref(),
        ..inputs
    };
    let names: Vec<String> = match case.what.get("sls") {
        Some(Value::List(names)) => names.iter().map(Value::to_string).collect(),
        Some(Value::String(name)) => vec![name.clone()],
        _ => Vec::new(),
    };
    let wanted = if names.is_empty() { SlsSelection::Highstate } else { SlsSelection::Sls(&names) };
    match step {
        "high" => answer("high", compile(&inputs, wanted).map(|high| high.to_value())),
        "low" => {
            let low = compile(&inputs, wanted).and_then(|high| low(high, &States, &options, &grains));
            answer("low", low.map(|low| low.into_value()))
        }
        "top" => answer(
            "top",
            top(&inputs).map(|matches| {
                let list = |names: Vec<String>| Value::List(names.into_iter().map(Value::from).collect());
                Value::Map(matches.into_iter().map(|(saltenv, names)| (saltenv.into(), list(names))).collect())
            }),
        ),
        "match" => matched(case, &inputs),
        "render" => rendered(case, &inputs),
        other => panic!("'{other}' is no step"),
    }
}

fn answer(key: &str, result: Result<Value, Vec<SlsFault>>) -> Value {
    let pair = match result {
        Ok(value) => (key.into(), value),
        Err(faults) => ("errors".into(), texts(&faults)),
    };
    Map::from_iter([pair]).into()
}

fn texts(faults: &[SlsFault]) -> Value {
    Value::List(faults.iter().map(|fault| fault.text.as_str().into()).collect())
}

fn matched(case: &Case, inputs: &CompileInputs<'_>) -> Value {
    struct TemplateMachine<'a>(&'a CompileInputs<'a>);
    impl Subject for TemplateMachine<'_> {
        fn id(&self) -> &str {
            self.0.id
        }
        fn grains(&self) -> &Map {
            self.0.grains
        }
        fn pillar(&self) -> &Map {
            self.0.pillar
        }
    }
    let groups = Nodegroups::from_value(inputs.options.get("nodegroups").unwrap_or(&Value::Null)).unwrap_or_default();
    let expressions = case.what.get("match").and_then(Value::as_list).unwrap_or_default();
    let verdicts = expressions.iter().map(|text| {
        let expression = TargetExpression::forgiving(TargetKind::Compound, &text.to_string(), DELIMITER, &groups);
        (text.clone(), expression.matches(&TemplateMachine(inputs)).into())
    });
    Map::from_iter([("match".into(), Value::Map(verdicts.collect()))]).into()
}

fn rendered(case: &Case, inputs: &CompileInputs<'_>) -> Value {
    let mut out = Map::new();
    for path in case.what.get("render").and_then(Value::as_list).unwrap_or_default() {
        let path = path.to_string();
        let contents = case.files.iter().find(|(name, _)| *name == path).map(|(_, contents)| contents.clone());
        let pipe = case.text("renderer").unwrap_or_else(|| "jinja".into());
        let rendering = RenderRequest {
            contents: contents.unwrap_or_default().into(),
            path: path.split_once('/').map_or(path.as_str(), |(_, rest)| rest),
            saltenv: "base",
            sls: Some(""),
            pipe: Some(&pipe),
            shebang: true,
            context: &Map::new(),
        };
        match render_file(inputs, &rendering) {
            Ok(value) => drop(out.insert(path, value)),
            Err(fault) => return Map::from_iter([("errors".into(), texts(&[fault]))]).into(),
        }
    }
    Map::from_iter([("render".into(), out.into())]).into()
}

/// Salt's states that have a watch function, and those that can be aggregated.
pub struct States;

impl StateCatalog for States {
    fn has_watch(&self, module: &str) -> bool {
        const WATCHERS: [&str; 9] =
            ["at", "cmd", "docker_container", "event", "module", "mount", "pkg", "service", "test"];
        WATCHERS.contains(&module)
    }

    fn has_aggregate(&self, module: &str) -> bool {
        module == "pkg"
    }

    fn has_state(&self, _: &str) -> bool {
        true
    }
}
