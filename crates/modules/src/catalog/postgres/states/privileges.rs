//! `postgres_privileges`: privileges of roles.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::client::StateConnection;
use super::super::privileges::{self, PostgresObject, PostgresObjectKind};
use super::super::sql::{SqlPlan, or_bad, settled};
use super::{Decision, State, Step, Touches, Verdict, decided, touches};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that a role has privileges on something, or is in a group.
///
/// ```yaml
/// frank_reads:
///   postgres_privileges.present:
///     - name: frank
///     - object_name: orders
///     - object_type: table
///     - privileges: [SELECT, INSERT]
///     - maintenance_db: shop
/// ```
#[state("postgres_privileges.present", required("object_name", "object_type"))]
pub struct Present {
    /// The role's name; `public` is everybody.
    name: String,
    /// The object; `ALL` for all tables, sequences or functions of a schema.
    #[default]
    object_name: String,
    /// `table`, `sequence`, `schema`, `tablespace`, `language`, `database`, `group` or `function`.
    #[default]
    object_type: String,
    /// The privileges: a list.
    privileges: Value,
    /// With the grant option.
    grant_option: Option<bool>,
    /// The schema that tables, sequences and functions are in.
    #[default("public")]
    prepend: String,
    #[flatten]
    connection: StateConnection,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        or_bad(self.look(machine))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Present {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let server = self.connection.server(machine)?;
        let name = &self.name;
        let object = PostgresObject::new(&self.object_name, &self.object_type, &self.prepend)?;
        let wanted = privileges::wanted(&self.privileges, object.kind)?;
        let told = told(&self.object_name, object.kind, &self.privileges);

        let passed = self.grant_option.unwrap_or_default();
        if object.allows(machine, &server, name, &wanted, passed)? {
            return settled(Verdict::good("The requested privilege(s) are already set"));
        }
        let plan = SqlPlan {
            statements: vec![object.grant(name, &wanted, passed)?],
            done: Verdict::good(format!("The privilege(s): {told} have been granted to {name}"))
                .change(name.as_str(), "Present"),
            failed: format!("Failed to grant privilege(s): {told} to {name}"),
        };
        decided(&server, plan.decide(format!("The privilege(s): {told} are set to be granted to {name}"))?, Vec::new())
    }
}

/// Makes sure that a role does not have privileges on something, or is not in a group.
///
/// ```yaml
/// frank_writes:
///   postgres_privileges.absent:
///     - name: frank
///     - object_name: orders
///     - object_type: table
///     - privileges: [INSERT]
///     - maintenance_db: shop
/// ```
#[state("postgres_privileges.absent", required("object_name", "object_type"))]
pub struct Absent {
    /// The role's name; `public` is everybody.
    name: String,
    /// The object; `ALL` for all tables, sequences or functions of a schema.
    #[default]
    object_name: String,
    /// `table`, `sequence`, `schema`, `tablespace`, `language`, `database`, `group` or `function`.
    #[default]
    object_type: String,
    /// The privileges: a list.
    privileges: Value,
    /// The schema that tables, sequences and functions are in.
    #[default("public")]
    prepend: String,
    #[flatten]
    connection: StateConnection,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        or_bad(self.look(machine))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Absent {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let server = self.connection.server(machine)?;
        let name = &self.name;
        let object = PostgresObject::new(&self.object_name, &self.object_type, &self.prepend)?;
        let wanted = privileges::wanted(&self.privileges, object.kind)?;
        let told = told(&self.object_name, object.kind, &self.privileges);

        if !object.allows_some(machine, &server, name, &wanted)? {
            return settled(Verdict::good("The requested privilege(s) are not set so cannot be revoked"));
        }
        let plan = SqlPlan {
            statements: vec![object.revoke(name, &wanted)?],
            done: Verdict::good(format!("The privilege(s): {told} have been revoked from {name}"))
                .change(name.as_str(), "Absent"),
            failed: format!("Failed to revoke privilege(s): {told} from {name}"),
        };
        decided(
            &server,
            plan.decide(format!("The privilege(s): {told} are set to be revoked from {name}"))?,
            Vec::new(),
        )
    }
}

/// The text of the comment about the object.
fn told(object: &str, kind: PostgresObjectKind, privileges: &Value) -> String {
    match (kind, privileges) {
        (PostgresObjectKind::Group, _) => object.to_owned(),
        (_, Value::List(names)) => names.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        (_, other) => other.to_string(),
    }
}
