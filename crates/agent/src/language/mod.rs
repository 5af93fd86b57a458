//! The state language on this machine: compiles, renders and runs.

mod check;
mod graph;
mod looking;
mod only;
mod rebooting;
mod resume;
mod surroundings;

use std::sync::Arc;

use rocksalt_core::call::{Call, RESUME, RUNS, Return};
use rocksalt_core::frame::Ask;
use rocksalt_core::link::AgentKind;
use rocksalt_core::{Event, Map, Value};
use rocksalt_modules::catalog::Outcome;
use rocksalt_modules::machine::{Host, Probe, StateRequest, StateVerb, Template};
use rocksalt_modules::{Error, Result};
use rocksalt_sls::fault::Fault;
use rocksalt_sls::pillar::{External, PillarSetting};
use rocksalt_sls::render::{self, File};
use rocksalt_sls::schedule::Mode;
use rocksalt_sls::{High, Low, Wanted};

use crate::services;
use crate::state_lock::StateLock;
use crate::states::{self, RunOptions};
use surroundings::{States, Surroundings};

pub use crate::services::ProgressListener;
pub use rebooting::{reboot, restart, resume};
pub use resume::Resumed;
pub use rocksalt_modules::grains::gather as grains;

pub const AGENT_KIND: AgentKind = AgentKind::Whole;

/// Hears how far a run is, if anybody wants to know.
type Listener<'a> = Option<&'a (dyn Fn(&Map) + Send + Sync)>;

/// Gives a host the controller's files, its pillar, templates and runs of states.
pub fn attach_services(host: &Arc<Host>, progress: Option<ProgressListener>, pillar: Option<Map>) {
    services::attach(host, progress, pillar);
}

/// Has a call done, with the machine for itself if it is a run of states.
pub fn alone(
    host: &Arc<Host>,
    mut call: Call,
    work: fn(Call, &Arc<Host>) -> Return,
) -> std::result::Result<Return, Return> {
    let is_run = RUNS.contains(&call.function.as_str());
    let resumes = call.function == RESUME && call.keep;
    if !is_run && !resumes {
        return Ok(work(call, host));
    }
    let mut flag = |name: &str| match call.kwargs.remove(name) {
        Some(Value::Int(number)) => number > 0,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        other => other.is_some_and(|value| value.truth()),
    };
    let (queue, concurrent) = (flag("queue") || !is_run, flag("concurrent"));
    call.kwargs.remove("state_events");
    let given = call.kwargs.get("test").or_else(|| call.args.iter().find(|arg| matches!(arg, Value::Bool(_))));
    let dry = given.or_else(|| host.options().get("test")).is_some_and(Value::truth);
    let _lock = if concurrent { None } else { StateLock::take(host, &call.function, queue, dry)? };
    Ok(work(call, host))
}

pub fn perform(host: &Arc<Host>, wish: StateRequest, progress: Listener<'_>) -> Result<Outcome> {
    let mut around = Surroundings::of(host, wish.saltenv.clone(), wish.pillarenv.clone())?;
    if wish.test {
        around.say("test", true);
    }
    match &wish.saltenv {
        Some(saltenv) => around.say("saltenv", saltenv.as_str()),
        // Whoever names state files names those of an environment.
        None if !wish.sls.is_empty() && around.options().get("saltenv").is_none_or(Value::is_null) => {
            around.say("saltenv", "base");
        }
        None => {}
    }
    match work(host, &around, &wish, progress)? {
        Ok(outcome) => Ok(outcome),
        // Salt's way to say that states did not compile: a list of texts.
        Err(faults) => Ok(Outcome {
            value: faults.iter().map(|fault| fault.report().into()).collect::<Vec<Value>>().into(),
            retcode: 1,
        }),
    }
}

type Compiled<T> = std::result::Result<T, Vec<Fault>>;

fn work(
    host: &Arc<Host>,
    around: &Surroundings,
    wish: &StateRequest,
    progress: Listener<'_>,
) -> Result<Compiled<Outcome>> {
    let shown = |value: Value| Outcome { value, retcode: 0 };
    let setting = around.setting();
    let compiled = match wish.verb {
        StateVerb::Check => return Ok(Ok(check::check(host, around, wish)?)),
        StateVerb::ShowTop => {
            let names = |sls: Vec<String>| Value::List(sls.into_iter().map(Value::String).collect());
            let top = rocksalt_sls::top(&setting);
            let all =
                top.map(|top| top.into_iter().map(|(saltenv, sls)| (saltenv.into(), names(sls))).collect::<Map>());
            return Ok(all.map(|top| shown(top.into())));
        }
        StateVerb::RunHigh => High::of_data(&wish.argument, saltenv(wish)),
        StateVerb::RunLow => High::of_data(&high_of_low(&wish.argument)?, saltenv(wish)),
        StateVerb::Single => High::of_data(&single(wish)?, saltenv(wish)),
        _ if wish.sls.is_empty() => rocksalt_sls::compile(&setting, Wanted::Highstate),
        _ => rocksalt_sls::compile(&setting, Wanted::Sls(&wish.sls)),
    };
    let mut high = match compiled {
        Ok(high) => high,
        Err(faults) => return Ok(nothing_to_do(wish, &faults).ok_or(faults)),
    };
    for warning in &high.warnings {
        let mut data = Map::new();
        data.insert("hint", warning.hint.clone());
        // Nobody need hear it.
        let _ = host.controller().ask(Ask::Event(Event { tag: format!("warning: {}", warning.text), data }));
    }
    high.exclude(wish.exclude.iter().cloned());
    if wish.verb == StateVerb::ShowHigh {
        return Ok(Ok(shown(high.to_value())));
    }
    let low = match rocksalt_sls::low(high, &States, around.options(), setting.grains) {
        Ok(low) => low,
        Err(faults) => return Ok(Err(faults)),
    };
    match wish.verb {
        StateVerb::ShowLow => Ok(Ok(shown(low.into_value()))),
        StateVerb::Graph => Ok(Ok(shown(graph::graph(&low, mode(around, wish)?)))),
        StateVerb::SlsId => {
            let ids = wish.argument.to_string();
            let low = only::only(low, &ids.split(',').map(str::trim).collect::<Vec<_>>())?;
            Ok(Ok(run(host, around, wish, low, progress)?))
        }
        _ => Ok(Ok(run(host, around, wish, low, progress)?)),
    }
}

fn saltenv(wish: &StateRequest) -> &str {
    wish.saltenv.as_deref().unwrap_or("base")
}

fn run(
    host: &Arc<Host>,
    around: &Surroundings,
    wish: &StateRequest,
    low: Low,
    progress: Listener<'_>,
) -> Result<Outcome> {
    let flag = |key: &str| around.options().get(key).is_some_and(Value::truth);
    let options = RunOptions {
        test: wish.test || flag("test"),
        mode: mode(around, wish)?,
        failhard: flag("failhard"),
        width: width(around.options()),
        job: &host.job().map(|job| job.to_string()).unwrap_or_default(),
    };
    if !options.test {
        resume::tell_of_others(host);
    }
    let ran = states::go(&low, &**host, &options, &told(progress, flag("state_events")), None);
    resume::ended(host, wish, &options, low, ran)
}

/// With `steps` the result of each step that has ended goes along.
fn told(progress: Listener<'_>, steps: bool) -> impl Fn(&states::Progress<'_>) + Sync {
    move |news: &states::Progress<'_>| {
        if let Some(progress) = progress {
            let mut map = Map::new();
            map.insert("done", news.done);
            map.insert("total", news.total);
            let shown = |tag: &String| Value::from(describe(tag));
            map.insert("running", news.running.iter().map(shown).collect::<Vec<_>>());
            if let Some((tag, result)) = news.last.filter(|_| steps) {
                map.insert("ret", step(tag, result));
            }
            progress(&map);
        }
    }
}

/// A step's result, for those who follow the run; the whole of a large one comes with the run's result.
fn step(tag: &str, result: &Map) -> Value {
    /// What goes into one piece of a stream with room to spare.
    const MOST: usize = 48 << 10;
    let whole = Value::Map(result.clone());
    if rocksalt_core::json::compact(&whole).len() <= MOST {
        return whole;
    }
    let few = ["result", "name", "__id__", "__sls__", "__run_num__", "start_time", "duration"];
    let mut short: Map = few.iter().filter_map(|key| Some(((*key).into(), result.get(key)?.clone()))).collect();
    short.insert("comment", format!("{}: the result is too large to be shown before the end", describe(tag)));
    short.insert("changes", Map::new());
    short.into()
}

fn finished(results: Map) -> Outcome {
    let failed = results.values().any(|result| result.walk("result", ":") == Some(&Value::Bool(false)));
    Outcome { value: results.into(), retcode: if failed { 2 } else { 0 } }
}

/// How many steps run at once where a mode allows it.
fn width(options: &Map) -> usize {
    match options.get("state_width").and_then(Value::as_i64) {
        Some(number) => usize::try_from(number).unwrap_or(1).clamp(1, 256),
        // Steps wait for disks, networks and other programs far more than they compute.
        None => 4 * std::thread::available_parallelism().map_or(4, usize::from).clamp(4, 16),
    }
}

/// A step's tag as people read it: `file.managed /etc/motd`.
fn describe(tag: &str) -> String {
    let parts: Vec<&str> = tag.split("_|-").collect();
    match parts.as_slice() {
        [state, _, name, function] => format!("{state}.{function} {name}"),
        _ => tag.to_owned(),
    }
}

fn mode(around: &Surroundings, wish: &StateRequest) -> Result<Mode> {
    let name = wish.mode.clone().or_else(|| around.options().get("state_mode").map(ToString::to_string));
    match name {
        None => Ok(Mode::Ansible),
        Some(name) => Mode::from_name(&name)
            .ok_or_else(|| Error::arguments(format!("there is no mode '{name}'")).hint("ansible, justdoit or genius")),
    }
}

/// Salt's answer to a highstate that has nothing for this machine: a result that failed, not an error.
fn nothing_to_do(wish: &StateRequest, faults: &[Fault]) -> Option<Outcome> {
    let [fault] = faults else { return None };
    if wish.verb != StateVerb::Apply || fault.text != rocksalt_sls::high::NO_TOP_MATCH {
        return None;
    }
    let mut result = Map::new();
    result.insert("result", false);
    result.insert("comment", fault.text.as_str());
    result.insert("name", "No States");
    result.insert("changes", Map::new());
    result.insert("__run_num__", 0i64);
    let results = Map::from_iter([("no_|-states_|-states_|-None".into(), result.into())]);
    Some(Outcome { value: results.into(), retcode: 2 })
}

/// The high data of `state.single`.
fn single(wish: &StateRequest) -> Result<Value> {
    let function = wish.argument.to_string();
    let Some((module, function)) = function.split_once('.') else {
        return Err(Error::arguments(format!("'{function}' is no state"))
            .hint("a state is written noun.verb, as in file.managed"));
    };
    let name = wish.arguments.get("name").map_or_else(|| function.to_owned(), ToString::to_string);
    let mut arguments = vec![function.into()];
    let one = |(key, value): (&Value, &Value)| Value::Map(Map::from_iter([(key.clone(), value.clone())]));
    arguments.extend(wish.arguments.iter().map(one));
    let module = Map::from_iter([(module.into(), Value::List(arguments))]);
    Ok(Map::from_iter([(name.into(), module.into())]).into())
}

/// The high data of one low chunk.
fn high_of_low(low: &Value) -> Result<Value> {
    let fault = || Error::arguments("a step is a map with `state`, `fun` and `name`");
    let chunk = low.as_map().ok_or_else(fault)?;
    let text = |key: &str| chunk.get(key).and_then(Value::as_str).ok_or_else(fault);
    let (state, fun, name) = (text("state")?, text("fun")?, text("name")?);
    let id = chunk.get("__id__").and_then(Value::as_str).unwrap_or(name);
    let further = chunk.iter().filter(|(key, _)| !matches!(key.as_str(), Some("state" | "fun" | "__id__" | "order")));
    let one = |(key, value): (&Value, &Value)| Value::Map(Map::from_iter([(key.clone(), value.clone())]));
    let mut arguments = vec![Value::from(fun)];
    arguments.extend(further.map(one));
    let module = Map::from_iter([(state.into(), Value::List(arguments))]);
    Ok(Map::from_iter([(id.into(), module.into())]).into())
}

/// Renders a file's template: its first line is part of it.
pub fn render_text(host: &Arc<Host>, template: &Template<'_>) -> Result<String> {
    match rendered(host, template, false)? {
        Value::String(text) => Ok(text),
        other => Err(Error::failed(format!("{} renders to {}, not to a text", template.source, other.kind()))),
    }
}

pub fn render_data(host: &Arc<Host>, template: &Template<'_>) -> Result<Value> {
    rendered(host, template, true)
}

fn rendered(host: &Arc<Host>, template: &Template<'_>, shebang: bool) -> Result<Value> {
    let around = Surroundings::of(host, Some(template.saltenv.to_owned()), None)?;
    let file = File {
        contents: template.text.as_bytes().into(),
        path: template.source.strip_prefix("salt://").unwrap_or(template.source),
        saltenv: template.saltenv,
        sls: shebang.then_some(""),
        pipe: Some(template.renderer),
        shebang,
        context: &template.context,
    };
    // Salt's words, which become the comment of a state; they show the line themselves.
    render::file(&around.setting(), &file).map_err(|fault| Error::failed(fault.text))
}

/// Compiles the pillar of the machine that the host stands for.
pub fn pillar(host: &Arc<Host>, kwargs: &Map) -> Result<Map> {
    let text = |key: &str| kwargs.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let around = Surroundings::without_pillar(host, text("saltenv"), text("pillarenv"));
    let given = kwargs.get("pillar").and_then(Value::as_map).cloned().unwrap_or_default();
    let external: Vec<Upstairs<'_>> = names_of(around.options())
        .into_iter()
        .enumerate()
        .map(|(number, name)| Upstairs { host, number: u32::try_from(number).unwrap_or(u32::MAX), name })
        .collect();
    let external: Vec<&dyn External> = external.iter().map(|source| source as &dyn External).collect();
    let setting = PillarSetting { setting: around.setting(), given: &given, external: &external };
    let compiled = rocksalt_sls::pillar::compile(&setting);
    let details: Vec<Value> = compiled.details.iter().map(|fault| fault.report().into()).collect();
    let mut answer = Map::new();
    answer.insert("details", details);
    answer.insert("pillar", compiled.into_map());
    Ok(answer)
}

/// What a step of a run here gave, for another target of the job.
pub fn outputs(host: &Arc<Host>, args: &[Value]) -> Result<Map> {
    let text = |place: usize| args.get(place).and_then(Value::as_str).unwrap_or_default();
    let id = host.options().get("id").map(ToString::to_string).unwrap_or_default();
    states::shared::wait_for(&**host, text(0), &id, text(1))
}

/// An external pillar: the controller asks it.
struct Upstairs<'a> {
    host: &'a Arc<Host>,
    number: u32,
    name: String,
}

impl External for Upstairs<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn fetch(&self, _: &str, pillar: &Map) -> std::result::Result<Map, String> {
        let ask = Ask::ExternalPillar { number: self.number, pillar: pillar.clone() };
        match self.host.controller().ask(ask) {
            Ok(Value::Map(data)) => Ok(data),
            Ok(other) => Err(format!("it gave {} instead of a map", other.kind())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The kinds of the external pillars, as the controller has them.
fn names_of(options: &Map) -> Vec<String> {
    options
        .get("ext_pillar_kinds")
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}
