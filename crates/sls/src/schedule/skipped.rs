//! [`SkipReason`]: why a step did not run, with Salt's texts.

/// A step that is decided without being run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedStep {
    pub item: usize,
    pub why: SkipReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// These failed, as `sls.id`.
    RequisitesFailed(Vec<String>),
    /// The state that it is a `prereq` for would change nothing.
    NoChangesDetected,
    Onfail,
    Onchanges,
    RequisitesSkipped,
    /// Its dry run's result without the changes: what should have gone before it failed.
    DryRunStands,
}

impl SkipReason {
    /// `None`: the result is that of its dry run.
    pub fn result(&self) -> Option<bool> {
        match self {
            SkipReason::RequisitesFailed(_) => Some(false),
            SkipReason::DryRunStands => None,
            _ => Some(true),
        }
    }

    pub fn comment(&self) -> String {
        match self {
            SkipReason::RequisitesFailed(failed) => format!("One or more requisite failed: {}", failed.join(", ")),
            SkipReason::NoChangesDetected => "No changes detected".into(),
            SkipReason::Onfail => "State was not run because onfail req did not change".into(),
            SkipReason::Onchanges => "State was not run because none of the onchanges reqs changed".into(),
            SkipReason::RequisitesSkipped => {
                "State was not run because requisites were skipped by another state".into()
            }
            SkipReason::DryRunStands => String::new(),
        }
    }
}
