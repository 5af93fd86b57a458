//! The states of `mysql_database`, `mysql_grants`, `mysql_query` and `mysql_user`.

mod database;
mod grants;
mod query;
mod user;

pub use database::{OWN, find, sound};
pub use grants::{lines, list, required, revokes};
pub use user::native;

use super::super::state;
use super::client::MysqlServer;
use super::sql::{SqlPlan, SqlServer};
use super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict};
use crate::Result;

pub const DATABASE_STATES: &[StateEntry] = &[state::<database::Absent>(), state::<database::Present>()];
pub const GRANTS_STATES: &[StateEntry] = &[state::<grants::Absent>(), state::<grants::Present>()];
pub const QUERY_STATES: &[StateEntry] = &[state::<query::Run>(), state::<query::RunFile>()];
pub const USER_STATES: &[StateEntry] = &[state::<user::Absent>(), state::<user::Present>()];

/// A state's decision, with warnings about its arguments.
fn decided(server: &MysqlServer, decision: Decision<SqlPlan>, secrets: &[&str]) -> Result<Decision> {
    let warned = |mut verdict: Verdict| {
        verdict.warnings.extend(server.strange.iter().cloned());
        verdict
    };
    Ok(match decision {
        Decision::Settled(verdict) => Decision::Settled(warned(verdict)),
        Decision::Change(mut plan, verdict) => {
            plan.done = warned(plan.done);
            let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
            Decision::Change(plan.on(&SqlServer::Mysql(server.clone()), &secrets), warned(verdict))
        }
    })
}

/// All of them write to the server, whichever it is, and need it to run as it is configured.
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
