//! Salt's default minion options, those that templates read.

use std::sync::LazyLock;

use crate::value::{Map, Value};

static DEFAULTS: LazyLock<Map> = LazyLock::new(|| match crate::yaml::parse(TEXT) {
    Ok(Value::Map(map)) => map,
    _ => Map::new(),
});

/// The values of unset options in `opts` and `config.get`.
pub fn option_defaults() -> &'static Map {
    &DEFAULTS
}

const TEXT: &str = "\
test: false
saltenv: null
pillarenv: null
renderer: jinja|yaml
failhard: false
default_top: base
state_top: top.sls
state_top_saltenv: null
state_auto_order: true
state_output: full
state_verbose: true
state_aggregate: false
top_file_merging_strategy: merge
env_order: []
file_client: remote
file_ignore_regex: []
file_ignore_glob: []
hash_type: sha256
pillar_source_merging_strategy: smart
pillar_merge_lists: false
pillar_includes_override_sls: false
decrypt_pillar: []
lock_saltenv: false
log_level: warning
master: salt
master_port: 4506
mine_enabled: true
mine_interval: 60
minion_id_caching: true
multiprocessing: true
ipv6: null
retry_dns: 30
startup_states: ''
sls_list: []
backup_mode: ''
";

#[cfg(test)]
mod tests {
    #[test]
    fn they_can_be_read() {
        assert_eq!(super::option_defaults().get("state_top").and_then(super::Value::as_str), Some("top.sls"));
    }
}
