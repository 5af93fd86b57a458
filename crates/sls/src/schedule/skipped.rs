//! [`Skipped`]: why a step did not run, in Salt's words.

/// A step that is decided without being run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    pub item: usize,
    pub why: Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// These failed, as `sls.id`.
    RequisitesFailed(Vec<String>),
    /// What it is a `prereq` for has nothing to change.
    NoChangesDetected,
    Onfail,
    Onchanges,
    RequisitesSkipped,
    /// Its dry run's result without the changes: what should have gone before it failed.
    DryRunStands,
}

impl Skipped {
    /// `None`: the result is that of its dry run.
    pub fn result(&self) -> Option<bool> {
        match self {
            Skipped::RequisitesFailed(_) => Some(false),
            Skipped::DryRunStands => None,
            _ => Some(true),
        }
    }

    pub fn comment(&self) -> String {
        match self {
            Skipped::RequisitesFailed(failed) => format!("One or more requisite failed: {}", failed.join(", ")),
            Skipped::NoChangesDetected => "No changes detected".into(),
            Skipped::Onfail => "State was not run because onfail req did not change".into(),
            Skipped::Onchanges => "State was not run because none of the onchanges reqs changed".into(),
            Skipped::RequisitesSkipped => "State was not run because requisites were skipped by another state".into(),
            Skipped::DryRunStands => String::new(),
        }
    }
}
