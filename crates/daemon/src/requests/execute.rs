//! Executes an authorised request.

use std::sync::Arc;

use rocksalt_controller::job_events;
use rocksalt_core::request::{Request, RunRequest};
use rocksalt_core::{Event, JobId, Map, Value};

use super::{Caller, Loaded, Refusal, RefusalKind, RequestResult, RequestService, StandingRight, targets};
use crate::access::AccessGrant;

/// The longest tag. For a hook it contains the path.
const LONGEST_HOOK: usize = 512;

impl RequestService {
    pub(super) async fn execute(
        self: &Arc<RequestService>,
        loaded: &Arc<Loaded>,
        caller: &Caller,
        grant: AccessGrant,
        request: Request,
    ) -> Result<RequestResult, Refusal> {
        match request {
            Request::Run(run) => {
                let job = self.jobs.start(&loaded.controller, *run, &caller.account(), grant.only.as_ref()).await?;
                Ok(job.map_or(RequestResult::Nobody, |job| RequestResult::Started(Box::new(job))))
            }
            Request::Runner(local) => {
                crate::runners::run(self, caller, local).await.map(RequestResult::ControllerResult)
            }
            Request::Wheel(local) => crate::wheels::run(self, caller, local).await.map(RequestResult::ControllerResult),
            Request::ShowJob(id) => match self.ledger().job(id).await? {
                Some(job) => Ok(RequestResult::Job { returns: self.ledger().returns(id).await?, job: Box::new(job) }),
                None => Err(no_job(id)),
            },
            Request::WatchJob(id) => match self.jobs.watch(id).await? {
                Some(watcher) => Ok(RequestResult::Watching(Box::new(watcher))),
                None => Err(no_job(id)),
            },
            Request::ListJobs(filter) => Ok(RequestResult::Jobs(self.ledger().jobs(&filter).await?)),
            Request::CancelJob { job, kill } => self.cancel(job, kill).await,
            Request::Events { after, tags } => {
                let follower = self.ledger().follow(after);
                let follower = if grant.own_events { follower.only(caller.account()) } else { follower };
                let right = Box::new(StandingRight::new(self, loaded, caller, grant));
                Ok(RequestResult::Events { follower: Box::new(follower), tags, right })
            }
            Request::Fire(event) => {
                Ok(RequestResult::Logged(self.ledger().fire(own(event)?, Some(&caller.account())).await?))
            }
            Request::Hook { path, data } => {
                Ok(RequestResult::Logged(self.ledger().fire(hook(&path, data)?, Some(&caller.account())).await?))
            }
            Request::Targets => {
                let all = targets::targets(self, loaded, caller).await;
                Ok(RequestResult::Value(Value::List(all.into_iter().map(targets::TargetInfo::value).collect())))
            }
            Request::Stats => Ok(RequestResult::Value(self.stats.value(self, loaded).await)),
            Request::Explain { user, function, target } => {
                let run = RunRequest { function, target, ..RunRequest::default() };
                let told = loaded.access.explain(&user, None, &[], &run, &loaded.controller).await?;
                Ok(RequestResult::Value(told.to_value()))
            }
            Request::Reload => {
                self.reload().await.map_err(|why| Refusal::new(RefusalKind::Invalid, why))?;
                Ok(RequestResult::Done)
            }
        }
    }

    async fn cancel(&self, job: JobId, kill: bool) -> Result<RequestResult, Refusal> {
        if self.jobs.cancel(job, kill) {
            return Ok(RequestResult::Done);
        }
        match self.ledger().job(job).await? {
            None => Err(no_job(job)),
            Some(record) if record.state.ended() => {
                Err(Refusal::new(RefusalKind::Taken, format!("job {job} has ended: it is {}", record.state.name())))
            }
            Some(record) => {
                Err(Refusal::new(RefusalKind::Unavailable, format!("job {job} is run by {}", record.owner))
                    .hint("ask that controller"))
            }
        }
    }
}

fn no_job(id: JobId) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("there is no job {id}"))
        .hint("`rocksalt jobs list` shows those that are kept")
}

/// Checks that a user's event has a tag of its own, not that of a target, a job or the controller
/// (docs/security-rules.md#r4).
fn own(event: Event) -> Result<Event, Refusal> {
    tag(&event.tag)?;
    if job_events::is_reserved(&event.tag) {
        return Err(Refusal::new(
            RefusalKind::Invalid,
            format!("events like '{}' are the controller's own", event.tag),
        )
        .hint("take a tag of your own, as in my/event"));
    }
    Ok(event)
}

fn hook(path: &str, data: Map) -> Result<Event, Refusal> {
    let path = path.trim_matches('/');
    let tag_of = match path {
        "" => "salt/netapi/hook".to_owned(),
        path => format!("salt/netapi/hook/{path}"),
    };
    tag(&tag_of)?;
    Ok(Event { tag: tag_of, data })
}

fn tag(text: &str) -> Result<(), Refusal> {
    if text.is_empty() || text.len() > LONGEST_HOOK || text.chars().any(char::is_control) {
        return Err(Refusal::new(RefusalKind::Invalid, "a tag is a text of 1 to 512 bytes without control characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tag: &str) -> Event {
        Event { tag: tag.into(), data: Map::new() }
    }

    #[test]
    fn nobody_speaks_as_the_controller() {
        for tag in ["salt/job/20260101000000000000/ret/a", "salt", "20260101000000000000", "minion_start", "", "a\nb"] {
            assert!(own(event(tag)).is_err(), "{tag:?}");
        }
        assert!(own(event(&"x".repeat(600))).is_err());
        assert!(own(event("my/event")).is_ok());
        assert!(own(event("salty/event")).is_ok());
    }

    #[test]
    fn a_hook_is_below_its_place() {
        assert_eq!(hook("/a/b/", Map::new()).expect("it is fine").tag, "salt/netapi/hook/a/b");
        assert_eq!(hook("", Map::new()).expect("it is fine").tag, "salt/netapi/hook");
        assert!(hook("a\r\nb", Map::new()).is_err());
    }
}
