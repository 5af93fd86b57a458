//! Runs apt: waits for other holders of its locks, and repairs interrupted installations.

use rocksalt_core::Value;

use super::super::{TransactionReport, failure};
use crate::machine::{Command, Output, System};
use crate::{Error, Result};

/// How many seconds to wait for a lock, unless `pkg.lock_timeout` says otherwise.
const PATIENCE: f64 = 300.0;

const PAUSE: f64 = 1.0;

pub fn execute(machine: &dyn System, argv: &[String], env: &[(String, String)]) -> Result<TransactionReport> {
    Ok(run(machine, argv, env)?.0)
}

/// The report, and the output if it succeeded.
pub fn run(machine: &dyn System, argv: &[String], env: &[(String, String)]) -> Result<(TransactionReport, String)> {
    let transaction = quiet(argv, env);
    let limit = match machine.options().get("pkg.lock_timeout") {
        Some(Value::Int(seconds)) => *seconds as f64,
        Some(Value::Float(seconds)) => *seconds,
        _ => PATIENCE,
    };
    let mut report = TransactionReport::default();
    let mut waited = Waited::default();
    let mut repaired = false;
    loop {
        let output = machine.run(&transaction)?;
        let said = output.text();
        if output.success() {
            report.warnings.extend(waited.told());
            return Ok((report, said));
        }
        if let Some(lock) = locked(&said) {
            waited.by = Some(lock);
            if waited.seconds < limit {
                machine.sleep(PAUSE)?;
                waited.seconds += PAUSE;
                continue;
            }
            let text = waited.told().unwrap_or_default();
            report.errors.push(format!("gave up: {text} (pkg.lock_timeout)\n{}", failure(&transaction, &output)));
            return Ok((report, said));
        }
        if interrupted(&said) && !repaired {
            repaired = true;
            let mend = quiet(&repair(), env);
            let output = machine.run(&mend)?;
            report.warnings.push("dpkg had been interrupted: 'dpkg --configure -a' was run first".into());
            if !output.success() {
                report.errors.push(failure(&mend, &output));
                return Ok((report, said));
            }
            continue;
        }
        report.warnings.extend(waited.told());
        report.errors.push(failure(&transaction, &output));
        return Ok((report, said));
    }
}

/// Without prompts, and with both outputs in one stream, so that errors are in context.
fn quiet(argv: &[String], env: &[(String, String)]) -> Command {
    let mut transaction = super::super::transaction(argv.iter().cloned());
    let fixed = [
        ("APT_LISTBUGS_FRONTEND", "none"),
        ("APT_LISTCHANGES_FRONTEND", "none"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("UCF_FORCE_CONFFOLD", "1"),
        ("NEEDRESTART_SUSPEND", "1"),
    ];
    transaction.env.extend(fixed.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))));
    transaction.env.extend(env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
    transaction.merge_stderr = true;
    transaction
}

fn repair() -> Vec<String> {
    ["dpkg", "--force-confold", "--force-confdef", "--configure", "-a"].map(str::to_owned).to_vec()
}

#[derive(Default)]
struct Waited {
    seconds: f64,
    by: Option<String>,
}

impl Waited {
    fn told(&self) -> Option<String> {
        self.by.as_ref().map(|by| format!("waited {} s for a lock of apt: {by}", self.seconds))
    }
}

/// The holder of a lock, in apt's wording.
fn locked(said: &str) -> Option<String> {
    let line = said.lines().find(|line| {
        line.contains("Could not get lock") || line.contains("frontend lock was locked by another process")
    })?;
    Some(line.trim_start_matches("E: ").trim_start_matches("dpkg: error: ").trim().to_owned())
}

fn interrupted(said: &str) -> bool {
    said.contains("dpkg was interrupted") || said.contains("dpkg --configure -a")
}

/// Runs a command that changes the database; its output is the error.
pub fn checked(machine: &dyn System, transaction: &Command) -> Result<Output> {
    let output = machine.run(transaction)?;
    match output.success() {
        true => Ok(output),
        false => Err(Error::failed(failure(transaction, &output))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_the_lock_is_told() {
        let said = "Reading package lists...\nE: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 42 (apt-get)\nN: Be aware\n";
        assert_eq!(
            locked(said).as_deref(),
            Some("Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 42 (apt-get)")
        );
        assert_eq!(locked("E: Unable to locate package x"), None);
        assert!(interrupted(
            "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem. "
        ));
    }
}
