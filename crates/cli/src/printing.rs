//! How results are printed: the options, and [`ResultPrinter`].

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use rocksalt_core::call::ProblemKind;
use rocksalt_core::record::{ReturnRecord, TargetOutcome};
use rocksalt_core::{Map, Value};

use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{self, Outputter, Style};

/// How results are printed.
#[derive(Args, Clone, Debug, Default)]
pub struct Printing {
    /// The outputter: nested, json, yaml, txt, table, raw, quiet …
    #[arg(long, visible_alias = "output", value_name = "NAME", help_heading = "Output")]
    pub out: Option<String>,

    /// How states are printed: full, terse, mixed, changes or filter
    #[arg(long, value_name = "FORM", help_heading = "Output")]
    pub state_output: Option<String>,

    /// Print all results together at the end, as one
    #[arg(short = 's', long = "static", help_heading = "Output")]
    pub together: bool,

    /// Write the results to a file
    #[arg(long, visible_alias = "output-file", value_name = "FILE", help_heading = "Output")]
    pub out_file: Option<PathBuf>,

    /// Indent by this many spaces
    #[arg(
        long,
        visible_alias = "output-indent",
        value_name = "N",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub out_indent: Option<i32>,
}

impl Printing {
    pub fn printer(&self, context: &Context) -> Result<ResultPrinter, Failure> {
        self.printer_for(context, "")
    }

    /// The printer for a function's results; those of state runs use the outputter for states.
    pub fn printer_for(&self, context: &Context, function: &str) -> Result<ResultPrinter, Failure> {
        let usual = if rocksalt_catalog::nature(function).runs_states { "highstate" } else { "nested" };
        let name = match (&self.out, context.common.json) {
            (Some(name), _) => name.clone(),
            (None, true) => "json".into(),
            (None, false) => context.config.text("output").unwrap_or_else(|| usual.into()),
        };
        let mut settings = context.config.values().clone();
        if let Some(form) = &self.state_output {
            settings.insert("state_output", form.as_str());
        }
        let outputter = output::open_with(&name, &settings).map_err(|error| {
            let names = output::names().collect::<Vec<_>>().join(", ");
            Failure::caused(&error).hint(format!("there are: {names}"))
        })?;
        let mut style = context.style(self.out_indent);
        let file = match &self.out_file {
            None => None,
            Some(path) => {
                style = Style { indent: self.out_indent, ..Style::default() };
                let file = std::fs::File::create(path);
                Some(file.map_err(|error| Failure::usage(format!("can't write {}: {error}", path.display())))?)
            }
        };
        // Only people read these formats. Programs read the others, where additional messages would disturb them.
        let human = matches!(name.as_str(), "nested" | "highstate" | "table" | "txt");
        Ok(ResultPrinter { outputter, style, together: self.together, file, human, results: Map::new() })
    }
}

pub struct ResultPrinter {
    outputter: Box<dyn Outputter>,
    style: Style,
    together: bool,
    file: Option<std::fs::File>,
    /// The output is for people, so messages may be printed too.
    pub human: bool,
    results: Map,
}

impl ResultPrinter {
    pub fn one(&mut self, id: &str, value: Value, success: bool) {
        if self.together {
            self.results.insert(id, value);
            return;
        }
        let text = match success {
            true => self.outputter.one(id, &value, &self.style),
            false => self.outputter.failed(id, &value, &self.style),
        };
        self.write(&text);
    }

    /// Prints data that belongs to no target.
    pub fn bare(&mut self, value: &Value) {
        let text = self.outputter.bare(value, &self.style);
        self.write(&text);
    }

    /// Prints the results that were held back, in the given order of targets.
    pub fn end(&mut self, order: &[String]) {
        if self.together {
            let mut sorted = Map::new();
            for id in order {
                if let Some(value) = self.results.remove(id) {
                    sorted.insert(id.as_str(), value);
                }
            }
            sorted.extend(std::mem::take(&mut self.results));
            let text = self.outputter.all(&sorted, &self.style);
            self.write(&text);
        }
    }

    pub fn failure(&mut self, id: &str, stage: &str, text: &str, hint: Option<&str>) {
        let value = if self.human {
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            Value::String(format!("ERROR ({stage}): {text}{hint}"))
        } else {
            let mut error = Map::new();
            error.insert("stage", stage);
            error.insert("text", text);
            error.insert("hint", hint.map(str::to_owned));
            Value::Map(Map::from_iter([("_error".into(), Value::Map(error))]))
        };
        self.one(id, value, false);
    }

    /// The outcome of a call on one target.
    pub fn outcome(&mut self, record: ReturnRecord) {
        let id = record.target.as_str();
        match record.outcome {
            TargetOutcome::Returned(result) => match result.problem {
                None => {
                    let success = result.success();
                    self.one(id, result.value, success);
                }
                Some(problem) => {
                    let stage = match problem.kind {
                        ProblemKind::UnknownFunction => "unknown function",
                        ProblemKind::Arguments => "arguments",
                        ProblemKind::Failed => "failed",
                        ProblemKind::Cancelled => "cancelled",
                        ProblemKind::TimedOut => "timed out",
                        ProblemKind::Refused => "refused",
                        ProblemKind::Rebooting => "rebooting",
                    };
                    self.failure(id, stage, &problem.text, problem.hint.as_deref());
                }
            },
            TargetOutcome::Unreached { stage, text, hint } => self.failure(id, stage.name(), &text, hint.as_deref()),
            TargetOutcome::Skipped(reason) => self.failure(id, "skipped", &reason, None),
            TargetOutcome::Lost(why) => self.failure(id, "lost", &why, None),
        }
        if let (Some(size), true) = (record.cut_from, self.human) {
            eprintln!("{id}: the result had {size} bytes; only its beginning is kept");
        }
    }

    fn write(&mut self, text: &str) {
        // If the reader has closed the pipe, the write fails; that is no error.
        let _ = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()),
        };
    }
}
