//! [`Desk`]: the one place where a request is checked, noted and done.

mod answer;
mod caller;
mod refusal;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rocksalt_controller::Controller;
use rocksalt_controller::ledger::Ledger;
use rocksalt_controller::runs::Runs;
use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::Request;

pub use answer::{Answer, Ran};
pub use caller::Caller;
pub use refusal::{Kind, Refusal};

use crate::access::{Access, Grant};
use crate::audit::Audit;
use crate::auth::Auth;

/// Reads the configuration and the roster, at the start and at each reload.
pub type Load = dyn Fn() -> Result<Loaded, String> + Send + Sync;

/// What the configuration says; replaced as a whole by a reload.
pub struct Loaded {
    pub controller: Arc<Controller>,
    pub access: Access,
}

pub struct Desk {
    load: Box<Load>,
    loaded: RwLock<Arc<Loaded>>,
    pub runs: Arc<Runs>,
    pub auth: Auth,
    pub audit: Audit,
}

impl Desk {
    pub fn new(load: Box<Load>, runs: Arc<Runs>, auth: Auth, audit: Audit) -> Result<Desk, String> {
        let loaded = RwLock::new(Arc::new(load()?));
        Ok(Desk { load, loaded, runs, auth, audit })
    }

    pub fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.runs.ledger
    }

    /// Whether they may, said and noted; then it is done.
    pub async fn answer(self: &Arc<Desk>, caller: &Caller, request: Request) -> Result<Answer, Refusal> {
        let loaded = self.loaded();
        let verdict = loaded.access.check(caller, &request.needs(), &loaded.controller, self.ledger()).await;
        let noted = self.audit.note(caller, &request, verdict.as_ref().err()).await?;
        let grant = verdict?;
        let answer = self.perform(&loaded, caller, request, &grant).await;
        if let Ok(Answer::Started(job)) = &answer {
            self.audit.started(&noted, job);
        }
        answer
    }

    /// What a job that somebody started has returned when it has ended, or when the time is over.
    pub async fn wait(&self, job: &JobRecord, limit: Option<Duration>) -> Result<Vec<ReturnRecord>, Refusal> {
        self.runs.wait(job.id, limit).await.map_err(Refusal::from)
    }

    /// Everything anew; what was stays if the new is no good.
    pub fn reload(&self) -> Result<(), String> {
        let fresh = Arc::new((self.load)()?);
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    async fn perform(
        self: &Arc<Desk>,
        loaded: &Loaded,
        caller: &Caller,
        request: Request,
        grant: &Grant,
    ) -> Result<Answer, Refusal> {
        match request {
            Request::Run(run) => {
                let job = self.runs.start(&loaded.controller, *run, &caller.user, grant.only.as_ref()).await?;
                Ok(job.map_or(Answer::Nobody, |job| Answer::Started(Box::new(job))))
            }
            Request::Runner(local) => crate::runners::run(self, caller, local).await.map(Answer::Ran),
            Request::Wheel(local) => crate::wheels::run(self, caller, local).await.map(Answer::Ran),
            Request::ShowJob(id) => match self.ledger().job(id).await? {
                Some(job) => Ok(Answer::Job { returns: self.ledger().returns(id).await?, job: Box::new(job) }),
                None => Err(Refusal::new(Kind::NotFound, format!("there is no job {id}"))),
            },
            Request::ListJobs(filter) => Ok(Answer::Jobs(self.ledger().jobs(&filter).await?)),
            Request::Events { after, tags } => {
                Ok(Answer::Events { follower: Box::new(self.ledger().follow(after)), tags })
            }
            Request::Fire(event) => Ok(Answer::Logged(self.ledger().fire(event).await?)),
            Request::Reload => {
                self.reload().map_err(|why| Refusal::new(Kind::Invalid, why))?;
                Ok(Answer::Done)
            }
            // TODO(DAEMON): the rest.
            Request::CancelJob { .. }
            | Request::Hook { .. }
            | Request::Targets
            | Request::Stats
            | Request::Explain { .. } => Err(Refusal::new(Kind::Unavailable, "not yet")),
        }
    }
}
