//! A few template functions as in Salt, for tests; the real ones are in the modules.

use rocksalt_core::call::ProblemKind;
use rocksalt_core::merge::update;
use rocksalt_core::pattern::glob;
use rocksalt_core::{Map, Problem, Value};
use rocksalt_sls::TemplateFunctions;

pub struct Fake {
    pub grains: Map,
    pub pillar: Map,
    pub options: Map,
}

const NAMES: [&str; 7] =
    ["config.get", "grains.filter_by", "grains.get", "pillar.get", "test.echo", "test.ping", "test.sleep"];

impl TemplateFunctions for Fake {
    fn call(&self, name: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Problem> {
        let argument = |position: usize, key: &str| {
            args.get(position).or_else(|| kwargs.get(key)).cloned().filter(|value| !value.is_null())
        };
        let path = argument(0, "key").map(|key| key.to_string()).unwrap_or_default();
        let walk = |map: &Map| Value::Map(map.clone()).walk(&path, ":").cloned();
        match name {
            "test.ping" => Ok(true.into()),
            "test.echo" => Ok(args.first().cloned().unwrap_or_default()),
            "pillar.get" | "grains.get" => {
                let default = argument(1, "default").unwrap_or_else(|| "".into());
                let found = walk(if name == "pillar.get" { &self.pillar } else { &self.grains });
                match (found, default) {
                    (Some(Value::Map(found)), Value::Map(mut default))
                        if kwargs.get("merge").is_some_and(Value::truth) =>
                    {
                        update(&mut default, found, false);
                        Ok(default.into())
                    }
                    (found, default) => Ok(found.unwrap_or(default)),
                }
            }
            "config.get" => {
                let found = [&self.options, &self.grains, &self.pillar].into_iter().find_map(walk);
                Ok(found.or_else(|| argument(1, "default")).unwrap_or_else(|| "".into()))
            }
            "grains.filter_by" => {
                let table = args.first().and_then(Value::as_map).cloned().unwrap_or_default();
                let grain = argument(1, "grain").map_or("os_family".into(), |grain| grain.to_string());
                let value = self.grains.get(&grain).map(Value::to_string).unwrap_or_default();
                let pick = |wanted: &str| {
                    table
                        .iter()
                        .find(|(key, _)| glob::matches(&key.to_string(), wanted))
                        .map(|(_, value)| value.clone())
                };
                let default = argument(3, "default").map_or("default".into(), |default| default.to_string());
                let mut found = pick(&value).or_else(|| table.get(&default).cloned()).unwrap_or_default();
                if let Some(Value::Map(base)) = kwargs.get("base").and_then(|base| table.get(&base.to_string())) {
                    let mut under = base.clone();
                    if let Value::Map(over) = found {
                        update(&mut under, over, false);
                    }
                    found = under.into();
                }
                if let (Value::Map(found), Some(Value::Map(over))) = (&mut found, argument(2, "merge")) {
                    update(found, over, false);
                }
                Ok(found)
            }
            _ => Err(Problem::new(ProblemKind::UnknownFunction, format!("'{name}' is not available."))),
        }
    }

    fn exists(&self, name: &str) -> bool {
        NAMES.contains(&name)
    }

    fn names(&self) -> Vec<String> {
        NAMES.map(str::to_owned).to_vec()
    }
}
