//! [`SkipReason`]: why a step did not run, with Salt's texts.

/// A step whose result is known without running it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedStep {
    pub item: usize,
    pub why: SkipReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// These requisites failed, named as `sls.id`.
    RequisitesFailed(Vec<String>),
    /// The target of its `prereq` would change nothing.
    NoChangesDetected,
    Onfail,
    Onchanges,
    RequisitesSkipped,
    /// A requisite failed after the dry run: the result is the dry run's, without its changes.
    DryRunStands,
}

impl SkipReason {
    /// The result; `None` means that of the dry run.
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
