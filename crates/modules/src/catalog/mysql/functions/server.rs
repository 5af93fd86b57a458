//! The state of the server.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::client::{MysqlConnection, MysqlServer};
use super::super::sql::text;
use super::super::{Function, account, quote};
use crate::Result;
use crate::machine::{Probe, System};

/// The state of a server that others replicate; an empty map if none do.
///
/// ```text
/// rocksalt '*' mysql.get_master_status
/// ```
#[function("mysql.get_master_status", reads)]
pub struct GetMasterStatus {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for GetMasterStatus {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.strict(machine)?;
        Ok(server.tell(machine, "SHOW MASTER STATUS", &[])?.into_iter().next().unwrap_or_default())
    }
}

/// The state of a server that replicates another; an empty map if it does not.
///
/// ```text
/// rocksalt '*' mysql.get_slave_status
/// ```
#[function("mysql.get_slave_status", reads)]
pub struct GetSlaveStatus {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for GetSlaveStatus {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.strict(machine)?;
        Ok(server.tell(machine, "SHOW SLAVE STATUS", &[])?.into_iter().next().unwrap_or_default())
    }
}

/// Installs a plugin of the server.
///
/// ```text
/// rocksalt '*' mysql.plugin_add auth_socket
/// ```
#[function("mysql.plugin_add", changes)]
pub struct PluginAdd {
    /// The plugin's name.
    name: String,
    /// The file of it; its name with `.so` unless given.
    soname: Option<String>,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for PluginAdd {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        if plugin(machine, &server, &self.name)?.is_some() {
            return Ok(true);
        }
        let file = self.soname.unwrap_or_else(|| format!("{}.so", self.name));
        let (name, file) = (quote::identifier(&self.name), quote::literal(&file));
        server.tell(machine, &format!("INSTALL PLUGIN {name} SONAME {file}"), &[])?;
        Ok(true)
    }
}

/// Removes a plugin of the server.
///
/// ```text
/// rocksalt '*' mysql.plugin_remove auth_socket
/// ```
#[function("mysql.plugin_remove", changes)]
pub struct PluginRemove {
    /// The plugin's name.
    name: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for PluginRemove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let server = self.connection.strict(machine)?;
        if plugin(machine, &server, &self.name)?.is_some() {
            server.tell(machine, &format!("UNINSTALL PLUGIN {}", quote::identifier(&self.name)), &[])?;
        }
        Ok(true)
    }
}

/// The state of a plugin: `ACTIVE`, or an empty text if there is no such plugin.
///
/// ```text
/// rocksalt '*' mysql.plugin_status auth_socket
/// ```
#[function("mysql.plugin_status", reads)]
pub struct PluginStatus {
    /// The plugin's name.
    name: String,
    #[flatten]
    connection: MysqlConnection,
}

impl Function for PluginStatus {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let server = self.connection.strict(machine)?;
        Ok(plugin(machine, &server, &self.name)?.unwrap_or_default())
    }
}

/// The plugins of the server, each with its state.
///
/// ```text
/// rocksalt '*' mysql.plugins_list
/// ```
#[function("mysql.plugins_list", reads)]
pub struct PluginsList {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for PluginsList {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let server = self.connection.strict(machine)?;
        let rows = server.tell(
            machine,
            "SELECT PLUGIN_NAME AS name, PLUGIN_STATUS AS status FROM information_schema.ALL_PLUGINS",
            &[],
        );
        // MySQL only has the table of loaded plugins.
        let rows = rows.or_else(|_| {
            server.tell(
                machine,
                "SELECT PLUGIN_NAME AS name, PLUGIN_STATUS AS status FROM information_schema.PLUGINS",
                &[],
            )
        });
        Ok(rows?)
    }
}

/// The threads of the server.
///
/// ```text
/// rocksalt '*' mysql.processlist
/// ```
#[function("mysql.processlist", reads)]
pub struct Processlist {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for Processlist {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let server = self.connection.strict(machine)?;
        Ok(server.tell(machine, "SHOW FULL PROCESSLIST", &[])?)
    }
}

/// The global variables of the server.
///
/// ```text
/// rocksalt '*' mysql.showglobal
/// ```
#[function("mysql.showglobal", reads)]
pub struct Showglobal {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for Showglobal {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let server = self.connection.strict(machine)?;
        Ok(server.tell(machine, "SHOW GLOBAL VARIABLES", &[])?)
    }
}

/// The variables of the server.
///
/// ```text
/// rocksalt '*' mysql.showvariables
/// ```
#[function("mysql.showvariables", reads)]
pub struct Showvariables {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for Showvariables {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let server = self.connection.strict(machine)?;
        Ok(server.tell(machine, "SHOW VARIABLES", &[])?)
    }
}

/// How many seconds a server is behind the one that it replicates: -1 if it replicates none, -2 if it has stopped.
///
/// ```text
/// rocksalt '*' mysql.slave_lag
/// ```
#[function("mysql.slave_lag", reads)]
pub struct SlaveLag {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for SlaveLag {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let server = self.connection.strict(machine)?;
        let rows = server.tell(machine, "SHOW SLAVE STATUS", &[])?;
        let Some(row) = rows.first() else { return Ok((-1).into()) };
        if text(row, "Slave_IO_Running") != "Yes" {
            return Ok((-2).into());
        }
        let lag = row.get("Seconds_Behind_Master").cloned().unwrap_or_default();
        Ok(lag.as_str().and_then(Value::integer).unwrap_or(lag))
    }
}

/// The counters of the server.
///
/// ```text
/// rocksalt '*' mysql.status
/// ```
#[function("mysql.status", reads)]
pub struct Status {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for Status {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let server = self.connection.strict(machine)?;
        let rows = server.tell(machine, "SHOW STATUS", &[])?;
        let pair = |row: &Map| (text(row, "Variable_name").into(), text(row, "Value").into());
        Ok(rows.iter().map(pair).collect())
    }
}

/// The version of the server.
///
/// ```text
/// rocksalt '*' mysql.version
/// ```
#[function("mysql.version", reads)]
pub struct Version {
    #[flatten]
    connection: MysqlConnection,
}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let server = self.connection.strict(machine)?;
        Ok(account::ServerVersion::ask(machine, &server)?.text)
    }
}

/// The status of a plugin, if the server has it.
fn plugin(machine: &dyn Probe, server: &MysqlServer, name: &str) -> Result<Option<String>> {
    let name = quote::literal(name);
    let rows = server.ask(
        machine,
        &format!("SELECT PLUGIN_STATUS AS status FROM information_schema.PLUGINS WHERE PLUGIN_NAME = {name}"),
    )?;
    Ok(rows.first().map(|row| text(row, "status").to_owned()))
}
