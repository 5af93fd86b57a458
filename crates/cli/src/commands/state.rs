//! `rocksalt state`: the state language on this machine, stage by stage.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::{Call, Map, Value, json, yaml};

use super::Context;
use crate::failure::{Failure, FailureKind};
use crate::graph;
use crate::printing::Printing;
use crate::stdout::print_line;
use crate::this_machine::ThisMachine;

/// Compiles states and shows what they come to, or applies them, on this machine.
///
/// On other machines: `rocksalt apply TARGET`, or any of Salt's `state.*` functions.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: StateCommand,
}

#[derive(Subcommand)]
enum StateCommand {
    /// Apply state files, or what the top file says
    Apply(Apply),
    /// The states as written, with includes and extends worked in
    ShowHigh(Show),
    /// The steps in the order in which they would run
    ShowLow(Show),
    /// The states of the files named
    ShowSls(Show),
    /// Which state files the top file gives this machine
    ShowTop(Show),
    /// The steps and what each waits for
    Graph(Graph),
    /// Apply one state, without any file
    Single(Single),
    /// Apply the steps of one id, with what they require
    SlsId(SlsId),
}

#[derive(Args, Clone, Default)]
pub struct CompileOptions {
    /// The environment of the state files
    #[arg(long, value_name = "ENV")]
    pub saltenv: Option<String>,

    /// The environment of the pillar
    #[arg(long, value_name = "ENV")]
    pub pillarenv: Option<String>,

    /// Pillar that is merged over the rest: JSON or YAML
    #[arg(long, value_name = "DATA")]
    pub pillar: Option<String>,
}

#[derive(Args, Clone)]
pub struct StateRunOptions {
    /// Only say what would change
    #[arg(long)]
    pub test: bool,

    /// The order of steps: ordered (Salt's order, one by one; also called ansible), justdoit or genius
    #[arg(long, value_name = "MODE", value_parser = ["ordered", "ansible", "justdoit", "genius"])]
    pub mode: Option<String>,

    /// Leave out state files (`sls: name`, or just the name) or ids (`id: name`): YAML
    #[arg(long, value_name = "DATA")]
    pub exclude: Option<String>,
}

#[derive(Args)]
struct Show {
    /// State files; none: what the top file says
    sls: Vec<String>,
    #[command(flatten)]
    compiling: CompileOptions,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Args)]
struct Apply {
    /// State files; none: what the top file says
    sls: Vec<String>,
    #[command(flatten)]
    compiling: CompileOptions,
    #[command(flatten)]
    running: StateRunOptions,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Args)]
struct Graph {
    /// State files; none: what the top file says
    sls: Vec<String>,
    /// How it is drawn
    #[arg(long, value_enum, default_value_t)]
    format: graph::GraphFormat,
    /// Say for each step why it waits
    #[arg(long)]
    why: bool,
    /// The order of steps: ordered (Salt's order, one by one; also called ansible), justdoit or genius
    #[arg(long, value_name = "MODE", value_parser = ["ordered", "ansible", "justdoit", "genius"])]
    mode: Option<String>,
    #[command(flatten)]
    compiling: CompileOptions,
}

#[derive(Args)]
struct Single {
    /// The state: file.managed …
    function: String,
    /// What it is about: a path, a package …
    name: String,
    /// Its arguments as name=value; each value is read as YAML
    arguments: Vec<String>,
    /// Its arguments, all of them: JSON or YAML
    #[arg(long, value_name = "DATA")]
    args: Option<String>,
    /// Only say what would change
    #[arg(long)]
    test: bool,
    #[command(flatten)]
    compiling: CompileOptions,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Args)]
struct SlsId {
    /// The id
    id: String,
    /// State files; none: what the top file says
    sls: Vec<String>,
    /// Only say what would change
    #[arg(long)]
    test: bool,
    #[command(flatten)]
    compiling: CompileOptions,
    #[command(flatten)]
    printing: Printing,
}

impl CompileOptions {
    /// Adds these options to a call's named arguments.
    pub fn fill(&self, call: &mut Call) -> Result<(), Failure> {
        for (name, value) in [("saltenv", &self.saltenv), ("pillarenv", &self.pillarenv)] {
            if let Some(value) = value {
                call.kwargs.insert(name, value.as_str());
            }
        }
        if let Some(text) = &self.pillar {
            call.kwargs.insert("pillar", data_map("--pillar", text)?);
        }
        Ok(())
    }
}

impl StateRunOptions {
    pub fn fill(&self, call: &mut Call) -> Result<(), Failure> {
        if self.test {
            call.kwargs.insert("test", true);
        }
        if let Some(mode) = &self.mode {
            call.kwargs.insert("mode", mode.as_str());
        }
        if let Some(text) = &self.exclude {
            call.kwargs.insert("exclude", data("--exclude", text)?);
        }
        Ok(())
    }
}

pub async fn run(context: Context, options: Options) -> Result<ExitCode, Failure> {
    match options.command {
        StateCommand::ShowHigh(show) => shown(context, "high", "state.show_highstate", "state.show_sls", show).await,
        StateCommand::ShowSls(show) if show.sls.is_empty() => {
            Err(Failure::usage("which state files?").hint("`rocksalt state show-high` shows what the top file says"))
        }
        StateCommand::ShowSls(show) => shown(context, "high", "state.show_sls", "state.show_sls", show).await,
        StateCommand::ShowLow(show) => shown(context, "low", "state.show_lowstate", "state.show_low_sls", show).await,
        StateCommand::ShowTop(show) if !show.sls.is_empty() => Err(Failure::usage("show-top takes no state files")),
        StateCommand::ShowTop(show) => shown(context, "top", "state.show_top", "state.show_top", show).await,
        StateCommand::Apply(apply) => {
            let mut call = Call::new("state.apply");
            if !apply.sls.is_empty() {
                call = call.arg(names(&apply.sls));
            }
            apply.compiling.fill(&mut call)?;
            apply.running.fill(&mut call)?;
            applied(context, call, &apply.printing).await
        }
        StateCommand::Single(single) => {
            let mut call = Call::new("state.single");
            if let Some(text) = &single.args {
                call.kwargs = data_map("--args", text)?;
            }
            let (args, kwargs) = crate::arguments::parse(&single.arguments).map_err(|error| Failure::caused(&error))?;
            if !args.is_empty() {
                return Err(Failure::usage("the state's arguments are given as name=value"));
            }
            call.kwargs.extend(kwargs);
            call = call.arg(single.function.as_str()).arg(single.name.as_str());
            single.compiling.fill(&mut call)?;
            if single.test {
                call.kwargs.insert("test", true);
            }
            applied(context, call, &single.printing).await
        }
        StateCommand::SlsId(only) => {
            let mut call = Call::new("state.sls_id").arg(only.id.as_str()).arg(names(&only.sls));
            only.compiling.fill(&mut call)?;
            if only.test {
                call.kwargs.insert("test", true);
            }
            applied(context, call, &only.printing).await
        }
        StateCommand::Graph(graph) => draw_graph(context, graph).await,
    }
}

async fn draw_graph(context: Context, wanted: Graph) -> Result<ExitCode, Failure> {
    let mut call = Call::new("state.graph").arg(names(&wanted.sls));
    wanted.compiling.fill(&mut call)?;
    if let Some(mode) = &wanted.mode {
        call.kwargs.insert("mode", mode.as_str());
    }
    let result = ThisMachine::open(&context, None)?.call(&call).await?;
    let format = if context.common.json { graph::GraphFormat::Json } else { wanted.format };
    match errors(&result.value) {
        Some(errors) => Err(refused(&context, &errors)),
        None => {
            print_line!("{}", graph::draw(&succeeded(result)?, format, wanted.why));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn names(sls: &[String]) -> Vec<Value> {
    sls.iter().map(|name| name.as_str().into()).collect()
}

/// Parses JSON or YAML from the command line.
pub fn data(option: &str, text: &str) -> Result<Value, Failure> {
    match json::parse(text) {
        Ok(value) => Ok(value),
        Err(_) => yaml::parse(text).map_err(|error| Failure::usage(format!("{option}: {error}"))),
    }
}

fn data_map(option: &str, text: &str) -> Result<Map, Failure> {
    match data(option, text)? {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(Failure::usage(format!("{option} must be a map, not {}", other.kind()))
            .hint(format!("as in {option} '{{\"key\": \"value\"}}'"))),
    }
}

/// Shows one stage. With --json it is under the stage's name, or the errors are under `errors`.
async fn shown(context: Context, stage: &str, all: &str, some: &str, show: Show) -> Result<ExitCode, Failure> {
    let mut call = Call::new(if show.sls.is_empty() { all } else { some });
    if !show.sls.is_empty() {
        call = call.arg(names(&show.sls));
    }
    show.compiling.fill(&mut call)?;
    let result = ThisMachine::open(&context, None)?.call(&call).await?;
    if stage != "low"
        && let Some(errors) = errors(&result.value)
    {
        return Err(refused(&context, &errors));
    }
    if let (Some(errors), true) = (errors(&result.value), result.retcode != 0) {
        return Err(refused(&context, &errors));
    }
    let value = succeeded(result)?;
    print(&context, &show.printing, stage, value)
}

/// Prints data under its own name with --json, otherwise in a form for people.
pub fn print(context: &Context, printing: &Printing, name: &str, value: Value) -> Result<ExitCode, Failure> {
    if context.common.json && printing.out.is_none() {
        let shown = Value::Map(Map::from_iter([(name.into(), value)]));
        print_line!("{}", json::compact(&shown));
        // The process ends now, so freeing a large result would only cost time.
        std::mem::forget(shown);
        return Ok(ExitCode::SUCCESS);
    }
    let out = printing.out.clone().or_else(|| Some("yaml".into()));
    let mut printer = Printing { out, ..printing.clone() }.printer(context)?;
    printer.bare(&value);
    Ok(ExitCode::SUCCESS)
}

/// Runs states and prints their results.
async fn applied(context: Context, call: Call, printing: &Printing) -> Result<ExitCode, Failure> {
    let machine = ThisMachine::open(&context, None)?;
    if !context.common.json || printing.out.is_some() {
        let printer = printing.printer_for(&context, &call.function)?;
        return machine.print_call(&call, JobOptions::default(), printer).await;
    }
    let result = machine.call(&call).await?;
    if let Some(errors) = errors(&result.value) {
        return Err(refused(&context, &errors));
    }
    let retcode = result.retcode;
    let value = succeeded(result)?;
    print_line!("{}", json::compact(&Value::Map(Map::from_iter([("results".into(), value)]))));
    if retcode == 0 { Ok(ExitCode::SUCCESS) } else { Err(Failure::silent(FailureKind::Function)) }
}

/// The errors if the value is a list of texts: in Salt this means that states did not compile.
fn errors(value: &Value) -> Option<Vec<String>> {
    let texts = value.as_list()?;
    texts.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn refused(context: &Context, errors: &[String]) -> Failure {
    if context.common.json {
        let list: Vec<Value> = errors.iter().map(|error| error.as_str().into()).collect();
        print_line!("{}", json::compact(&Value::Map(Map::from_iter([("errors".into(), list.into())]))));
        return Failure::silent(FailureKind::Usage);
    }
    Failure::usage(errors.join("\n\nerror: "))
}

/// The value, unless the function failed.
pub fn succeeded(result: rocksalt_core::Return) -> Result<Value, Failure> {
    match result.problem {
        None => Ok(result.value),
        Some(problem) => {
            let mut failure = Failure { kind: FailureKind::Function, ..Failure::usage(problem.text) };
            failure.hints.extend(problem.hint);
            Err(failure)
        }
    }
}
