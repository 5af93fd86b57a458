//! The states of `mysql_database`, `mysql_grants`, `mysql_query` and `mysql_user`.

mod database;
mod grants;
mod query;
mod user;

pub use database::{OWN, find, sound};
pub use grants::{lines, list, required, revokes};
pub use user::native;

use serde::{Deserialize, Serialize};

use super::super::state;
use super::client::MysqlServer;
use super::sql::SqlPlan;
use super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict};
use crate::Result;
use crate::machine::System;

pub const DATABASE_STATES: &[StateEntry] = &[state::<database::Absent>(), state::<database::Present>()];
pub const GRANTS_STATES: &[StateEntry] = &[state::<grants::Absent>(), state::<grants::Present>()];
pub const QUERY_STATES: &[StateEntry] = &[state::<query::Run>(), state::<query::RunFile>()];
pub const USER_STATES: &[StateEntry] = &[state::<user::Absent>(), state::<user::Present>()];

/// A plan, and the server that it is for.
#[derive(Serialize, Deserialize)]
pub struct MysqlPlan {
    server: MysqlServer,
    plan: SqlPlan,
    secrets: Vec<String>,
}

impl MysqlPlan {
    fn carry_out(self, machine: &dyn System) -> Result<Verdict> {
        let secrets: Vec<&str> = self.secrets.iter().map(String::as_str).collect();
        let tell = |statement: &str| match self.server.tell(machine, statement, &secrets) {
            Ok(_) => Ok(Ok(())),
            Err(failure) => Ok(Err(failure.reason()?)),
        };
        self.plan.carry_out(machine, &tell)
    }
}

/// A state's decision, with warnings about its arguments.
fn decided(server: &MysqlServer, decision: Decision<SqlPlan>, secrets: &[&str]) -> Result<Decision<MysqlPlan>> {
    let warned = |mut verdict: Verdict| {
        verdict.warnings.extend(server.strange.iter().cloned());
        verdict
    };
    Ok(match decision {
        Decision::Settled(verdict) => Decision::Settled(warned(verdict)),
        Decision::Change(mut plan, verdict) => {
            plan.done = warned(plan.done);
            let secrets = secrets.iter().map(|secret| (*secret).to_owned()).collect();
            Decision::Change(MysqlPlan { server: server.clone(), plan, secrets }, warned(verdict))
        }
    })
}

/// All of them write to the server, and need it to run with its configuration.
fn touches() -> Touches {
    let mut touches = Touches::nothing().reads(Thing::Packages).writes(Thing::Path("/var/lib/mysql".into()));
    for service in ["mariadb", "mysql", "mysqld"] {
        touches = touches.reads(Thing::Service(service.into()));
    }
    for path in ["/etc/mysql", "/etc/my.cnf", "/etc/my.cnf.d", "/root/.my.cnf"] {
        touches = touches.reads(Thing::Path(path.into()));
    }
    touches
}
