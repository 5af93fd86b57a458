//! `-v`, `-l`, `--log-file` and ROCKSALT_LOG: log lines of a command, on standard error and in a file.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{ArgAction, Args};
use rocksalt_daemon::serve::log::{self, EscapedLines, LogFormat, Settings};

use crate::config::Config;
use crate::environment::ProcessEnvironment;
use crate::failure::Failure;
use crate::progress_line;

#[derive(Args, Clone, Default)]
pub struct DiagnosticsOptions {
    /// Say what happens: the job's id and each connection; -vv: each step of a login and of a run; -vvv: all there is
    #[arg(short = 'v', global = true, action = ArgAction::Count, help_heading = "Diagnostics")]
    pub verbose: u8,

    /// The level of messages on standard error: quiet, critical, error, warning, info, debug, trace, or filters
    #[arg(short = 'l', long, global = true, value_name = "LEVEL", help_heading = "Diagnostics")]
    pub log_level: Option<String>,

    /// Write messages to this file too
    #[arg(long, global = true, value_name = "FILE", help_heading = "Diagnostics")]
    pub log_file: Option<PathBuf>,

    /// The level of messages in the file; default: that of standard error if one is given, else warning
    #[arg(long, global = true, value_name = "LEVEL", help_heading = "Diagnostics")]
    pub log_file_level: Option<String>,
}

impl DiagnosticsOptions {
    /// The level that the command line or ROCKSALT_LOG requests.
    fn level(&self, environment: &ProcessEnvironment) -> Option<String> {
        let verbose = match self.verbose {
            0 => None,
            1 => Some("info".to_owned()),
            2 => Some("debug".to_owned()),
            _ => Some("trace".to_owned()),
        };
        let variable = environment.local_user.environment.get("ROCKSALT_LOG").filter(|level| !level.is_empty());
        self.log_level.clone().or(verbose).or_else(|| variable.cloned())
    }

    fn file(&self, config: &Config, environment: &ProcessEnvironment) -> (Option<PathBuf>, String) {
        let configured = config.text("log_file").map(|path| config.path(&path, environment));
        let level = match &self.log_file {
            Some(_) => self.log_file_level.clone().or_else(|| self.level(environment)),
            None => self.log_file_level.clone(),
        };
        let level = level.or_else(|| config.text("log_level_logfile")).unwrap_or_default();
        (self.log_file.clone().or(configured), level)
    }

    /// The log settings of the daemon: those of the configuration, unless the command line overrides them.
    pub fn of_daemon(&self, mut settings: Settings, config: &Config, environment: &ProcessEnvironment) -> Settings {
        if let Some(level) = self.level(environment) {
            settings.level = level;
        }
        (settings.file, settings.file_level) = self.file(config, environment);
        settings
    }

    /// Starts the diagnostics of a command. Without any option, variable or key it sets up nothing.
    pub fn start(&self, config: &Config, environment: &ProcessEnvironment) -> Result<(), Failure> {
        let level = self.level(environment);
        let (file, file_level) = self.file(config, environment);
        if level.is_none() && file.is_none() {
            return Ok(());
        }
        let level = level.unwrap_or_else(|| "quiet".into());
        let settings = Settings { format: LogFormat::Text, level, file, file_level };
        log::start_with(&settings, || EscapedLines(AboveTheLine)).map_err(Failure::usage)
    }
}

/// Writes to standard error, above the progress line.
struct AboveTheLine;

impl Write for AboveTheLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        progress_line::write_above(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
