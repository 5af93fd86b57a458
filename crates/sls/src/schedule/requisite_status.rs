//! Decides from a step's requisites whether and how it runs.

use super::StepOutcome;
use crate::low::Requisite;

/// The combined result of all requisites of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequisiteStatus {
    /// The step runs.
    Met,
    /// The step runs and then reacts to the changes.
    Change,
    /// The step runs without the watch function, because another state asks for that.
    SkipWatch,
    /// Another state asks that its dependents don't run.
    SkipRequisites,
    /// A requirement failed.
    Fail,
    /// The target of its `prereq` would change nothing.
    Quiet,
    /// None of its `onfail` states failed.
    Onfail,
    /// None of its `onchanges` states changed anything.
    Onchanges,
}

/// Combines the outcomes of a step's requisites, as Salt 3008 does.
pub fn combine<'o>(needs: impl Iterator<Item = (Requisite, &'o StepOutcome)>) -> RequisiteStatus {
    let mut kinds: [Option<RequisiteTally>; Requisite::ALL.len()] = Default::default();
    for (requisite, outcome) in needs {
        if let Some(position) = Requisite::ALL.iter().position(|one| *one == requisite) {
            kinds[position].get_or_insert_default().count(base(requisite), outcome);
        }
    }
    let mut all = RequisiteTally::default();
    for (requisite, found) in Requisite::ALL.into_iter().zip(kinds) {
        if let Some(found) = found {
            all.join(found.weighed(requisite));
        }
    }
    all.status()
}

/// A requisite without the suffix `_any` or `_all`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequisiteFamily {
    Onchanges,
    Onfail,
    Prereq,
    Require,
    Watch,
}

fn base(requisite: Requisite) -> RequisiteFamily {
    match requisite {
        Requisite::Onchanges | Requisite::OnchangesAny => RequisiteFamily::Onchanges,
        Requisite::Onfail | Requisite::OnfailAny | Requisite::OnfailAll => RequisiteFamily::Onfail,
        Requisite::Prereq => RequisiteFamily::Prereq,
        Requisite::Require | Requisite::RequireAny => RequisiteFamily::Require,
        Requisite::Watch | Requisite::WatchAny => RequisiteFamily::Watch,
    }
}

/// Notes which kinds of outcomes occurred.
#[derive(Default)]
struct RequisiteTally {
    changed: bool,
    failed: bool,
    met: bool,
    /// `pending`: a dry run would change something. `quiet`: it would not.
    pending: bool,
    quiet: bool,
    /// Whether a state of `onchanges` changed, and whether one did not.
    onchanges_met: bool,
    onchanges_unmet: bool,
    /// A state succeeded, which `onfail` doesn't want.
    succeeded: bool,
    skip: bool,
}

impl RequisiteTally {
    fn count(&mut self, base: RequisiteFamily, outcome: &StepOutcome) {
        self.skip |= outcome.skip_requisites;
        let failed = outcome.result == Some(false);
        match base {
            RequisiteFamily::Onfail if outcome.result == Some(true) => self.succeeded = true,
            // A failed state counts as unchanged.
            RequisiteFamily::Onchanges if failed || !outcome.changed => self.onchanges_unmet = true,
            RequisiteFamily::Onchanges => self.onchanges_met = true,
            RequisiteFamily::Prereq | RequisiteFamily::Require | RequisiteFamily::Watch if failed => self.failed = true,
            RequisiteFamily::Watch if outcome.changed => self.changed = true,
            RequisiteFamily::Prereq if outcome.result.is_none() => self.pending = true,
            RequisiteFamily::Prereq => self.quiet = true,
            RequisiteFamily::Onfail | RequisiteFamily::Require | RequisiteFamily::Watch => self.met |= outcome.ran,
        }
    }

    /// Weighs the outcomes of one requisite: for the `_any` forms and for `onfail`, one is enough.
    fn weighed(mut self, requisite: Requisite) -> RequisiteTally {
        let any = matches!(
            requisite,
            Requisite::RequireAny
                | Requisite::WatchAny
                | Requisite::OnchangesAny
                | Requisite::OnfailAny
                | Requisite::Onfail
        );
        if any {
            self.failed &= !(self.met || self.changed || self.onchanges_met);
            self.onchanges_unmet &= !self.onchanges_met;
            self.succeeded &= !self.met;
        }
        if requisite == Requisite::OnfailAll && self.succeeded {
            self.met = false;
        }
        self
    }

    fn join(&mut self, other: RequisiteTally) {
        self.changed |= other.changed;
        self.failed |= other.failed;
        self.met |= other.met;
        self.pending |= other.pending;
        self.quiet |= other.quiet;
        self.onchanges_met |= other.onchanges_met;
        self.onchanges_unmet |= other.onchanges_unmet;
        self.succeeded |= other.succeeded;
        self.skip |= other.skip;
    }

    fn status(&self) -> RequisiteStatus {
        match self {
            RequisiteTally { failed: true, .. } => RequisiteStatus::Fail,
            RequisiteTally { skip: true, .. } if self.onchanges_met || self.pending => RequisiteStatus::SkipRequisites,
            RequisiteTally { skip: true, changed: true, .. } => RequisiteStatus::SkipWatch,
            RequisiteTally { quiet: true, pending: true, .. } => RequisiteStatus::Met,
            RequisiteTally { quiet: true, .. } => RequisiteStatus::Quiet,
            RequisiteTally { succeeded: true, onchanges_met: false, .. } => RequisiteStatus::Onfail,
            RequisiteTally { onchanges_unmet: true, onchanges_met: false, .. } => RequisiteStatus::Onchanges,
            RequisiteTally { changed: true, .. } => RequisiteStatus::Change,
            RequisiteTally { succeeded: true, .. } => RequisiteStatus::Onfail,
            _ => RequisiteStatus::Met,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: StepOutcome = StepOutcome { result: Some(true), changed: false, ran: true, skip_requisites: false };
    const CHANGED: StepOutcome = StepOutcome { changed: true, ..GOOD };
    const BAD: StepOutcome = StepOutcome { result: Some(false), ..GOOD };
    const BAD_CHANGED: StepOutcome = StepOutcome { changed: true, ..BAD };
    const NOT_RUN: StepOutcome = StepOutcome { ran: false, ..GOOD };
    const WOULD: StepOutcome = StepOutcome { result: None, changed: true, ..GOOD };
    const SKIPS: StepOutcome = StepOutcome { skip_requisites: true, ..CHANGED };

    #[test]
    fn each_requisite_has_its_own_say() {
        use Requisite::*;
        let cases: &[(&[(Requisite, StepOutcome)], RequisiteStatus)] = &[
            (&[], RequisiteStatus::Met),
            (&[(Require, GOOD), (Require, BAD)], RequisiteStatus::Fail),
            (&[(Require, NOT_RUN)], RequisiteStatus::Met),
            (&[(Require, WOULD)], RequisiteStatus::Met),
            (&[(RequireAny, GOOD), (RequireAny, BAD)], RequisiteStatus::Met),
            (&[(RequireAny, BAD), (RequireAny, BAD)], RequisiteStatus::Fail),
            // A state that did not run doesn't make up for one that failed.
            (&[(RequireAny, NOT_RUN), (RequireAny, BAD)], RequisiteStatus::Fail),
            (&[(Watch, GOOD)], RequisiteStatus::Met),
            (&[(Watch, GOOD), (Watch, CHANGED)], RequisiteStatus::Change),
            (&[(Watch, BAD_CHANGED)], RequisiteStatus::Fail),
            (&[(WatchAny, BAD_CHANGED), (WatchAny, CHANGED)], RequisiteStatus::Change),
            (&[(Watch, SKIPS)], RequisiteStatus::SkipWatch),
            (&[(Onchanges, SKIPS)], RequisiteStatus::SkipRequisites),
            (&[(Prereq, WOULD)], RequisiteStatus::Met),
            (&[(Prereq, GOOD)], RequisiteStatus::Quiet),
            (&[(Prereq, GOOD), (Prereq, WOULD)], RequisiteStatus::Met),
            (&[(Prereq, BAD), (Prereq, WOULD)], RequisiteStatus::Fail),
            (&[(Onfail, GOOD)], RequisiteStatus::Onfail),
            (&[(Onfail, GOOD), (Onfail, BAD)], RequisiteStatus::Met),
            (&[(OnfailAll, GOOD), (OnfailAll, BAD)], RequisiteStatus::Onfail),
            (&[(OnfailAll, BAD), (OnfailAll, BAD)], RequisiteStatus::Met),
            (&[(OnfailAny, GOOD), (OnfailAny, BAD)], RequisiteStatus::Met),
            (&[(Onfail, BAD), (Require, BAD)], RequisiteStatus::Fail),
            (&[(Onchanges, GOOD), (Onchanges, CHANGED)], RequisiteStatus::Met),
            (&[(Onchanges, BAD_CHANGED)], RequisiteStatus::Onchanges),
            (&[(OnchangesAny, BAD_CHANGED), (OnchangesAny, CHANGED)], RequisiteStatus::Met),
            (&[(Onchanges, CHANGED), (Onfail, GOOD)], RequisiteStatus::Onfail),
            (&[(Onchanges, CHANGED), (Watch, CHANGED)], RequisiteStatus::Change),
        ];
        for (needs, expected) in cases {
            let status = combine(needs.iter().map(|(requisite, outcome)| (*requisite, outcome)));
            assert_eq!(status, *expected, "{needs:?}");
        }
    }
}
