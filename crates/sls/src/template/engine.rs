//! [`TemplateEngine`]: renders the templates of one compilation, which share values and parsed files.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use rocksalt_core::Map;
use rocksalt_jinja::{Environment, Options, Value};

use super::functions::SaltObject;
use super::loader::TreeLoader;
use super::options::{JinjaHeader, has_code, options};
use super::{explain, variables};
use crate::inputs::CompileInputs;
use crate::render::{Error, MappedText, RenderContext};
use crate::tree::SlsTree;

#[derive(Default)]
pub(crate) struct TemplateEngine {
    /// `opts`, `grains`, `pillar` and `salt`, created once and shared, so that the next file sees a change made in this
    /// one.
    shared: OnceCell<Vec<(&'static str, Value)>>,
    /// Prepared environments, by saltenv and by whether they are for sls.
    environments: RefCell<HashMap<(String, bool), Rc<PreparedEnvironment>>>,
}

struct PreparedEnvironment {
    environment: Environment,
    loader: Rc<TreeLoader>,
}

impl TemplateEngine {
    pub fn render(&self, input: MappedText, rendering: &RenderContext<'_, '_>) -> Result<MappedText, Error> {
        let inputs = &rendering.compilation.inputs;
        let is_sls = rendering.sls.is_some_and(|sls| !sls.is_empty());
        let mut ready = self.ready(inputs, &rendering.compilation.tree, rendering.saltenv, is_sls);
        let header = JinjaHeader::read(&input.text, ready.environment.options());
        if let Some(header) = &header {
            ready = Rc::new(PreparedEnvironment::new(
                inputs,
                &rendering.compilation.tree,
                rendering.saltenv,
                header.options.clone(),
            ));
        }
        let source = header.as_ref().map_or(input.text.as_str(), |header| &header.rest);
        if !has_code(source, ready.environment.options()) {
            return Ok(match header {
                Some(header) => MappedText { lines: header.line_map(header.rest.lines().count()), text: header.rest },
                None => input,
            });
        }
        let own = variables::of(rendering);
        ready.loader.start(rendering.path, &own);
        let mut context: Vec<(&str, Value)> = self.shared(inputs).to_vec();
        context.push(("saltenv", rendering.saltenv.into()));
        context.extend(own);
        let given: Vec<(String, Value)> =
            rendering.context.iter().map(|(key, value)| (key.to_string(), value.into())).collect();
        for (name, value) in &given {
            context.retain(|(there, _)| there != name);
            context.push((name, value.clone()));
        }
        match ready.environment.render_str_mapped(source, rendering.path, &context) {
            Ok((text, lines)) => Ok(MappedText { text, lines: through(&input, header.as_ref(), lines) }),
            Err(error) => {
                let skipped = header.as_ref().map_or(0, |header| header.line);
                Err(explain::explain(&error, source, skipped, rendering))
            }
        }
    }

    fn ready(
        &self,
        inputs: &CompileInputs<'_>,
        tree: &Rc<SlsTree>,
        saltenv: &str,
        is_sls: bool,
    ) -> Rc<PreparedEnvironment> {
        let mut environments = self.environments.borrow_mut();
        let entry = environments.entry((saltenv.to_owned(), is_sls));
        let make = || Rc::new(PreparedEnvironment::new(inputs, tree, saltenv, options(inputs.options, is_sls)));
        entry.or_insert_with(make).clone()
    }

    fn shared(&self, inputs: &CompileInputs<'_>) -> &[(&'static str, Value)] {
        self.shared.get_or_init(|| {
            let dict = |map: &Map| Value::from(rocksalt_core::Value::Map(map.clone()));
            let of_class = |value: Value, class: &'static str| {
                if let Value::Dict(dict) = &value {
                    dict.borrow_mut().set_class(class);
                }
                value
            };
            let pillar = of_class(dict(inputs.pillar).ordered(), "salt.utils.optsdict.DictProxy");
            let grains = dict(inputs.grains);
            let mut options = rocksalt_core::option_defaults().clone();
            options.extend(inputs.options.iter().map(|(key, value)| (key.clone(), value.clone())));
            let opts = dict(&options);
            if let Value::Dict(opts) = &opts {
                // As on a minion, `opts` also contains both.
                let _ = opts.borrow_mut().insert("grains".into(), grains.clone());
                let _ = opts.borrow_mut().insert("pillar".into(), pillar.clone());
            }
            vec![
                ("salt", Value::object(SaltObject::new(inputs.functions.clone(), pillar.clone()))),
                ("opts", of_class(opts, "salt.utils.optsdict.OptsDict")),
                ("grains", grains),
                ("pillar", pillar),
                ("proxy", dict(&Map::new())),
            ]
        })
    }
}

impl PreparedEnvironment {
    fn new(inputs: &CompileInputs<'_>, tree: &Rc<SlsTree>, saltenv: &str, options: Options) -> PreparedEnvironment {
        let mut environment = Environment::new(options);
        let loader = Rc::new(TreeLoader::new(tree.clone(), saltenv));
        environment.set_loader(loader.clone());
        if let Some(machine) = &inputs.machine {
            environment.set_machine(machine.clone());
        }
        PreparedEnvironment { environment, loader }
    }
}

/// Maps lines of the template to lines of the file, past earlier renderers and a removed header.
fn through(input: &MappedText, header: Option<&JinjaHeader>, mut lines: Vec<u32>) -> Vec<u32> {
    for line in &mut lines {
        let whole = header.map_or(*line, |header| header.original(*line));
        *line = u32::try_from(input.line(whole as usize)).unwrap_or(whole);
    }
    lines
}
