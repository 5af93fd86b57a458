//! The state language on this machine: compiles, renders and runs.

mod check;
mod compile_context;
mod graph;
mod pillar;
mod reboot;
mod resume;
mod select_ids;
mod template_machine;

use std::sync::Arc;
use std::time::Instant;

use rocksalt_core::call::{Call, RESUME, Return};
use rocksalt_core::frame::Ask;
use rocksalt_core::link::AgentKind;
use rocksalt_core::log::LogLevel;
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::{self, FunctionOutcome};
use rocksalt_modules::machine::{HostSystem, Probe, StateRequest, StateVerb, Template};
use rocksalt_modules::{Error, Result};
use rocksalt_sls::fault::{SlsFault, SlsFaultKind};
use rocksalt_sls::render::{self, RenderRequest};
use rocksalt_sls::schedule::OrderMode;
use rocksalt_sls::{High, Low, SlsSelection};

use crate::services;
use crate::state_lock::StateLock;
use crate::states::{self, RunProgress, RunnerOptions, StepRunner};
use compile_context::{CatalogStates, CompileContext};

pub use crate::services::ProgressListener;
pub use pillar::compile_pillar;
pub use reboot::{announced_reboot, reboot, resume};
pub use resume::Resumed;
pub use rocksalt_modules::grains::gather as grains;

pub const AGENT_KIND: AgentKind = AgentKind::Whole;

/// Receives the progress of a run.
type MapListener<'a> = Option<&'a (dyn Fn(&Map) + Send + Sync)>;

/// Gives a host the services of the controller: files, pillar, templates and runs of states.
pub fn attach_services(host: &Arc<HostSystem>, progress: Option<ProgressListener>, pillar: Option<Map>) {
    services::attach(host, progress, pillar);
}

/// Runs a call; a run of states first takes the lock that excludes other runs on the machine.
pub fn with_state_lock(
    host: &Arc<HostSystem>,
    mut call: Call,
    run: fn(Call, &Arc<HostSystem>) -> Return,
) -> std::result::Result<Return, Return> {
    let is_run = catalog::is_run(&call.function);
    let resumes = call.function == RESUME && call.keep;
    if !is_run && !resumes {
        return Ok(run(call, host));
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
    let _lock = if concurrent { None } else { StateLock::acquire(host, &call.function, queue, dry)? };
    Ok(run(call, host))
}

/// Serves a request of `state.*`: compiles, and then shows or runs the result.
pub fn run_request(
    host: &Arc<HostSystem>,
    request: &StateRequest,
    progress: MapListener<'_>,
) -> Result<FunctionOutcome> {
    let mut context = CompileContext::of(host, request.saltenv.clone(), request.pillarenv.clone())?;
    if request.test {
        context.set_option("test", true);
    }
    match &request.saltenv {
        Some(saltenv) => context.set_option("saltenv", saltenv.as_str()),
        // Without an environment, named state files belong to `base`.
        None if !request.sls.is_empty() && context.options().get("saltenv").is_none_or(Value::is_null) => {
            context.set_option("saltenv", "base");
        }
        None => {}
    }
    let show = |value: Value| Ok(FunctionOutcome { value, retcode: 0 });
    match request.verb {
        StateVerb::Check => return check::check(host, &context, request),
        StateVerb::ShowTop => {
            return rocksalt_sls::top(&context.inputs()).map_or_else(not_compiled, |top| show(top_value(top)));
        }
        _ => {}
    }
    let mut high = match compile_high(&context, request)? {
        Ok(high) => high,
        Err(faults) => return nothing_to_do(request, &faults).map_or_else(|| not_compiled(faults), Ok),
    };
    send_warnings(host, &high);
    high.exclude(request.exclude.iter().cloned());
    if request.verb == StateVerb::ShowHigh {
        return show(high.to_value());
    }
    let low = match rocksalt_sls::low(high, &CatalogStates, context.options(), context.inputs().grains) {
        Ok(low) => low,
        Err(faults) => return not_compiled(faults),
    };
    match request.verb {
        StateVerb::ShowLow => show(low.into_value()),
        StateVerb::Graph => show(graph::graph(&low, mode(&context, request)?)),
        StateVerb::SlsId => {
            let ids = request.argument.to_string();
            let low = select_ids::select_ids(low, &ids.split(',').map(str::trim).collect::<Vec<_>>())?;
            run_low(host, &context, request, low, progress)
        }
        _ => run_low(host, &context, request, low, progress),
    }
}

/// Salt's result for states that did not compile: a list of texts.
fn not_compiled(faults: Vec<SlsFault>) -> Result<FunctionOutcome> {
    let texts: Vec<Value> = faults.iter().map(|fault| fault.report().into()).collect();
    Ok(FunctionOutcome { value: texts.into(), retcode: 1 })
}

fn top_value(top: rocksalt_sls::top::TopMatches) -> Value {
    let names = |sls: Vec<String>| Value::List(sls.into_iter().map(Value::String).collect());
    top.into_iter().map(|(saltenv, sls)| (saltenv.into(), names(sls))).collect::<Map>().into()
}

fn compile_high(context: &CompileContext, request: &StateRequest) -> Result<std::result::Result<High, Vec<SlsFault>>> {
    Ok(match request.verb {
        StateVerb::RunHigh => High::of_data(&request.argument, saltenv(request)),
        StateVerb::RunLow => High::of_data(&high_of_low(&request.argument)?, saltenv(request)),
        StateVerb::Single => High::of_data(&single(request)?, saltenv(request)),
        _ if request.sls.is_empty() => rocksalt_sls::compile(&context.inputs(), SlsSelection::Highstate),
        _ => rocksalt_sls::compile(&context.inputs(), SlsSelection::Sls(&request.sls)),
    })
}

fn send_warnings(host: &HostSystem, high: &High) {
    for warning in &high.warnings {
        // Ignored: the run does not depend on the warning.
        let _ = host.controller().ask(Ask::Warning { text: warning.text.clone(), hint: warning.hint.clone() });
    }
}

fn saltenv(request: &StateRequest) -> &str {
    request.saltenv.as_deref().unwrap_or("base")
}

fn run_low(
    host: &Arc<HostSystem>,
    context: &CompileContext,
    request: &StateRequest,
    low: Low,
    progress: MapListener<'_>,
) -> Result<FunctionOutcome> {
    let flag = |key: &str| context.options().get(key).is_some_and(Value::truth);
    let options = RunnerOptions {
        test: request.test || flag("test"),
        mode: mode(context, request)?,
        failhard: flag("failhard"),
        width: width(context.options()),
        job: &host.job().map(|job| job.to_string()).unwrap_or_default(),
    };
    if !options.test {
        resume::report_unfinished_runs(host);
    }
    let listener = progress_reporter(progress, flag("state_events"));
    let run = StepRunner::run(&low, &**host, &options, &listener, RunProgress::default());
    resume::finish_run(host, request, &options, low, run)
}

/// Turns updates into maps; with `steps` they also have the result of each step that ended.
fn progress_reporter(progress: MapListener<'_>, steps: bool) -> impl Fn(&states::RunUpdate<'_>) + Sync {
    move |update: &states::RunUpdate<'_>| {
        if let Some(progress) = progress {
            let mut map = Map::new();
            map.insert("done", update.done);
            map.insert("total", update.total);
            let shown = |tag: &String| Value::from(describe(tag));
            map.insert("running", update.running.iter().map(shown).collect::<Vec<_>>());
            if let Some((tag, result)) = update.last.filter(|_| steps) {
                map.insert("ret", step_value(tag, result));
            }
            progress(&map);
        }
    }
}

/// A step's result for a progress update; a large one is shortened here, but complete in the run's result.
fn step_value(tag: &str, result: &Map) -> Value {
    /// Fits into one piece of a stream with room to spare.
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

fn outcome_of(results: Map) -> FunctionOutcome {
    let failed = results.values().any(|result| result.walk("result", ":") == Some(&Value::Bool(false)));
    FunctionOutcome { value: results.into(), retcode: if failed { 2 } else { 0 } }
}

/// The number of steps that run at once where the mode allows it.
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

fn mode(context: &CompileContext, request: &StateRequest) -> Result<OrderMode> {
    let name = request.mode.clone().or_else(|| context.options().get("state_mode").map(ToString::to_string));
    match name {
        None => Ok(OrderMode::Ansible),
        Some(name) => OrderMode::from_name(&name).ok_or_else(|| {
            Error::arguments(format!("there is no mode '{name}'"))
                .hint("ordered (also called ansible), justdoit or genius")
        }),
    }
}

/// Salt's result for a highstate that has nothing for this machine: a failed step, not an error.
fn nothing_to_do(request: &StateRequest, faults: &[SlsFault]) -> Option<FunctionOutcome> {
    let [fault] = faults else { return None };
    if request.verb != StateVerb::Apply || fault.kind != SlsFaultKind::NoTopMatch {
        return None;
    }
    let mut result = Map::new();
    result.insert("result", false);
    result.insert("comment", fault.text.as_str());
    result.insert("name", "No States");
    result.insert("changes", Map::new());
    result.insert("__run_num__", 0i64);
    let results = Map::from_iter([("no_|-states_|-states_|-None".into(), result.into())]);
    Some(FunctionOutcome { value: results.into(), retcode: 2 })
}

/// The high data of `state.single`.
fn single(request: &StateRequest) -> Result<Value> {
    let function = request.argument.to_string();
    let Some((module, function)) = function.split_once('.') else {
        return Err(Error::arguments(format!("'{function}' is not the name of a state"))
            .hint("a state is written noun.verb, as in file.managed"));
    };
    let name = request.arguments.get("name").map_or_else(|| function.to_owned(), ToString::to_string);
    let mut arguments = vec![function.into()];
    let one = |(key, value): (&Value, &Value)| Value::Map(Map::from_iter([(key.clone(), value.clone())]));
    arguments.extend(request.arguments.iter().map(one));
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

/// Renders a template of a file to text. A first line `#!…` is part of the text.
pub fn render_text(host: &Arc<HostSystem>, template: &Template<'_>) -> Result<String> {
    match render_template(host, template, false)? {
        Value::String(text) => Ok(text),
        other => Err(Error::failed(format!("{} renders to {}, not to a text", template.source, other.kind()))),
    }
}

pub fn render_data(host: &Arc<HostSystem>, template: &Template<'_>) -> Result<Value> {
    render_template(host, template, true)
}

fn render_template(host: &Arc<HostSystem>, template: &Template<'_>, shebang: bool) -> Result<Value> {
    let context = CompileContext::of(host, Some(template.saltenv.to_owned()), None)?;
    let file = RenderRequest {
        contents: template.text.as_bytes().into(),
        path: template.source.strip_prefix("salt://").unwrap_or(template.source),
        saltenv: template.saltenv,
        sls: shebang.then_some(""),
        pipe: Some(template.renderer),
        shebang,
        context: &template.context,
    };
    let started = Instant::now();
    let result = render::render_file(&context.inputs(), &file);
    // Other sources are the text itself, or an address that may hold a password.
    let source = if template.source.starts_with("salt://") { template.source } else { "a template" };
    let ms = started.elapsed().as_millis();
    let outcome = if result.is_ok() { "rendered" } else { "failed to render" };
    host.log(LogLevel::Debug, "templates", format_args!("{outcome} {source} with {} in {ms} ms", template.renderer));
    // Salt's text already shows the line, and becomes the comment of a state.
    result.map_err(|fault| Error::failed(fault.text))
}

/// The outputs of a step of a run on this machine, for another target of the job.
pub fn step_outputs(host: &Arc<HostSystem>, args: &[Value]) -> Result<Map> {
    let text = |place: usize| args.get(place).and_then(Value::as_str).unwrap_or_default();
    let id = host.options().get("id").map(ToString::to_string).unwrap_or_default();
    states::shared_outputs::wait_for(&**host, text(0), &id, text(1))
}
