//! What a step's requisites say: run, and how, or not.

use super::Outcome;
use crate::low::Requisite;

/// What all requisites of a step come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Run.
    Met,
    /// Run, and then act on what changed.
    Change,
    /// Run, but don't act on what changed: another state said so.
    SkipWatch,
    /// Another state said that its dependents shall not run.
    SkipRequisites,
    /// A requirement failed.
    Fail,
    /// What it is a `prereq` for has nothing to change.
    Quiet,
    /// Nothing failed that it is there for.
    Onfail,
    /// Nothing changed that it is there for.
    Onchanges,
}

/// Weighs the outcomes of everything that a step needs, as Salt 3008 does.
pub fn judge<'o>(needs: impl Iterator<Item = (Requisite, &'o Outcome)>) -> Status {
    let mut kinds: [Option<Found>; Requisite::ALL.len()] = Default::default();
    for (requisite, outcome) in needs {
        if let Some(position) = Requisite::ALL.iter().position(|one| *one == requisite) {
            kinds[position].get_or_insert_default().look(base(requisite), outcome);
        }
    }
    let mut all = Found::default();
    for (requisite, found) in Requisite::ALL.into_iter().zip(kinds) {
        if let Some(found) = found {
            all.join(found.weighed(requisite));
        }
    }
    all.status()
}

/// A requisite without its `_any` or `_all`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Onchanges,
    Onfail,
    Prereq,
    Require,
    Watch,
}

fn base(requisite: Requisite) -> Base {
    match requisite {
        Requisite::Onchanges | Requisite::OnchangesAny => Base::Onchanges,
        Requisite::Onfail | Requisite::OnfailAny | Requisite::OnfailAll => Base::Onfail,
        Requisite::Prereq => Base::Prereq,
        Requisite::Require | Requisite::RequireAny => Base::Require,
        Requisite::Watch | Requisite::WatchAny => Base::Watch,
    }
}

/// What was met with among the outcomes.
#[derive(Default)]
struct Found {
    changed: bool,
    failed: bool,
    met: bool,
    /// A dry run that would change something, and one that would not.
    pending: bool,
    quiet: bool,
    /// A change for `onchanges`, and none.
    onchanges_met: bool,
    onchanges_unmet: bool,
    /// A success, which `onfail` doesn't want.
    succeeded: bool,
    skip: bool,
}

impl Found {
    fn look(&mut self, base: Base, outcome: &Outcome) {
        self.skip |= outcome.skip_requisites;
        let failed = outcome.result == Some(false);
        match base {
            Base::Onfail if outcome.result == Some(true) => self.succeeded = true,
            // A failed target counts as an unchanged one.
            Base::Onchanges if failed || !outcome.changed => self.onchanges_unmet = true,
            Base::Onchanges => self.onchanges_met = true,
            Base::Prereq | Base::Require | Base::Watch if failed => self.failed = true,
            Base::Watch if outcome.changed => self.changed = true,
            Base::Prereq if outcome.result.is_none() => self.pending = true,
            Base::Prereq => self.quiet = true,
            Base::Onfail | Base::Require | Base::Watch => self.met |= outcome.ran,
        }
    }

    /// With one being enough for the `_any` forms and for `onfail`.
    fn weighed(mut self, requisite: Requisite) -> Found {
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

    fn join(&mut self, other: Found) {
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

    fn status(&self) -> Status {
        match self {
            Found { failed: true, .. } => Status::Fail,
            Found { skip: true, .. } if self.onchanges_met || self.pending => Status::SkipRequisites,
            Found { skip: true, changed: true, .. } => Status::SkipWatch,
            Found { quiet: true, pending: true, .. } => Status::Met,
            Found { quiet: true, .. } => Status::Quiet,
            Found { succeeded: true, onchanges_met: false, .. } => Status::Onfail,
            Found { onchanges_unmet: true, onchanges_met: false, .. } => Status::Onchanges,
            Found { changed: true, .. } => Status::Change,
            Found { succeeded: true, .. } => Status::Onfail,
            _ => Status::Met,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Outcome = Outcome { result: Some(true), changed: false, ran: true, skip_requisites: false };
    const CHANGED: Outcome = Outcome { changed: true, ..GOOD };
    const BAD: Outcome = Outcome { result: Some(false), ..GOOD };
    const BAD_CHANGED: Outcome = Outcome { changed: true, ..BAD };
    const NOT_RUN: Outcome = Outcome { ran: false, ..GOOD };
    const WOULD: Outcome = Outcome { result: None, changed: true, ..GOOD };
    const SKIPS: Outcome = Outcome { skip_requisites: true, ..CHANGED };

    #[test]
    fn each_requisite_has_its_own_say() {
        use Requisite::*;
        let cases: &[(&[(Requisite, Outcome)], Status)] = &[
            (&[], Status::Met),
            (&[(Require, GOOD), (Require, BAD)], Status::Fail),
            (&[(Require, NOT_RUN)], Status::Met),
            (&[(Require, WOULD)], Status::Met),
            (&[(RequireAny, GOOD), (RequireAny, BAD)], Status::Met),
            (&[(RequireAny, BAD), (RequireAny, BAD)], Status::Fail),
            // One that did not run does not make up for one that failed.
            (&[(RequireAny, NOT_RUN), (RequireAny, BAD)], Status::Fail),
            (&[(Watch, GOOD)], Status::Met),
            (&[(Watch, GOOD), (Watch, CHANGED)], Status::Change),
            (&[(Watch, BAD_CHANGED)], Status::Fail),
            (&[(WatchAny, BAD_CHANGED), (WatchAny, CHANGED)], Status::Change),
            (&[(Watch, SKIPS)], Status::SkipWatch),
            (&[(Onchanges, SKIPS)], Status::SkipRequisites),
            (&[(Prereq, WOULD)], Status::Met),
            (&[(Prereq, GOOD)], Status::Quiet),
            (&[(Prereq, GOOD), (Prereq, WOULD)], Status::Met),
            (&[(Prereq, BAD), (Prereq, WOULD)], Status::Fail),
            (&[(Onfail, GOOD)], Status::Onfail),
            (&[(Onfail, GOOD), (Onfail, BAD)], Status::Met),
            (&[(OnfailAll, GOOD), (OnfailAll, BAD)], Status::Onfail),
            (&[(OnfailAll, BAD), (OnfailAll, BAD)], Status::Met),
            (&[(OnfailAny, GOOD), (OnfailAny, BAD)], Status::Met),
            (&[(Onfail, BAD), (Require, BAD)], Status::Fail),
            (&[(Onchanges, GOOD), (Onchanges, CHANGED)], Status::Met),
            (&[(Onchanges, BAD_CHANGED)], Status::Onchanges),
            (&[(OnchangesAny, BAD_CHANGED), (OnchangesAny, CHANGED)], Status::Met),
            (&[(Onchanges, CHANGED), (Onfail, GOOD)], Status::Onfail),
            (&[(Onchanges, CHANGED), (Watch, CHANGED)], Status::Change),
        ];
        for (needs, expected) in cases {
            let status = judge(needs.iter().map(|(requisite, outcome)| (*requisite, outcome)));
            assert_eq!(status, *expected, "{needs:?}");
        }
    }
}
