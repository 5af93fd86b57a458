//! Salt's additions to Jinja: tags, filters, tests and globals.
//!
//! Each filter is a function in the file of its noun, and a line in [`FILTERS`].

mod address;
mod combinations;
mod date_text;
mod dates;
mod dicts;
mod file_options;
mod globals;
mod hashes;
pub(crate) mod json_text;
mod lists;
mod machine;
mod network;
pub(crate) mod print;
mod query;
mod regex;
mod serialize;
mod tags;
mod text;
mod xml;
mod yaml_emit;

use crate::environment::{FilterFunction, TestFunction};
use crate::value::Value;

pub(crate) use machine::Nowhere;
pub use machine::TemplateMachine;
pub(crate) use tags::Tag;

/// The variables that name a template's place: `tplfile`, and its directory in two forms.
pub(crate) fn place_names(name: &str) -> [(&'static str, Value); 3] {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let shown = if folder.is_empty() { "." } else { folder };
    [("tpldir", shown.into()), ("tpldot", folder.replace('/', ".").into()), ("tplfile", name.into())]
}

/// The parser of one of Salt's tags, by the tag's name.
pub(crate) fn tag(name: &str) -> Option<Tag> {
    let found = TAGS.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(TAGS[found].1)
}

pub(crate) const TAGS: &[(&str, Tag)] = &[
    ("import_json", tags::import),
    ("import_text", tags::import),
    ("import_yaml", tags::import),
    ("load_json", tags::load),
    ("load_text", tags::load),
    ("load_yaml", tags::load),
    ("profile", tags::profile),
];

/// Salt's filters. They replace Jinja's filters of the same name.
pub(crate) const FILTERS: &[(&str, FilterFunction)] = &[
    ("append_dict_key_value", dicts::append_dict_key_value),
    ("avg", lists::avg),
    ("base64_decode", hashes::base64_decode),
    ("base64_encode", hashes::base64_encode),
    ("check_whitelist_blacklist", text::check_whitelist_blacklist),
    ("combinations", combinations::combinations),
    ("combinations_with_replacement", combinations::combinations_with_replacement),
    ("compare_dicts", dicts::compare_dicts),
    ("compare_lists", lists::compare_lists),
    ("compress", combinations::compress),
    ("contains_whitespace", text::contains_whitespace),
    ("date_format", dates::strftime),
    ("dict_to_sls_yaml_params", serialize::dict_to_sls_yaml_params),
    ("difference", lists::difference),
    ("dns_check", machine::dns_check),
    ("exactly_n_true", lists::exactly_n_true),
    ("exactly_one_true", lists::exactly_one_true),
    ("extend_dict_key_value", dicts::extend_dict_key_value),
    ("file_hashsum", machine::file_hashsum),
    ("filter_by_networks", network::filter_by_networks),
    ("flatten", lists::flatten),
    ("from_entries", dicts::from_entries),
    ("gen_mac", machine::gen_mac),
    ("get_uid", machine::get_uid),
    ("hmac", hashes::hmac),
    ("hmac_compute", hashes::hmac_compute),
    ("http_query", machine::http_query),
    ("human_to_bytes", text::human_to_bytes),
    ("intersect", lists::intersect),
    ("ip_host", network::ip_host),
    ("ipaddr", network::ipaddr),
    ("ipv4", network::ipv4),
    ("ipv6", network::ipv6),
    ("ipwrap", network::ipwrap),
    ("is_bin_file", machine::is_bin_file),
    ("is_empty", machine::is_empty),
    ("is_hex", text::is_hex),
    ("is_ip", network::is_ip),
    ("is_ipv4", network::is_ipv4),
    ("is_ipv6", network::is_ipv6),
    ("is_iter", lists::is_iter),
    ("is_list", lists::is_list),
    ("is_text_file", machine::is_text_file),
    ("json", serialize::json),
    ("json_decode_dict", dicts::encode),
    ("json_decode_list", dicts::encode),
    ("json_encode_dict", dicts::encode),
    ("json_encode_list", dicts::encode),
    ("json_query", query::json_query),
    ("list_files", machine::list_files),
    ("load_json", serialize::load_json),
    ("load_text", serialize::load_text),
    ("load_yaml", serialize::load_yaml),
    ("mac_str_to_bytes", network::mac_str_to_bytes),
    ("max", lists::max),
    ("md5", hashes::md5),
    ("method_call", text::method_call),
    ("min", lists::min),
    ("mysql_to_dict", dicts::mysql_to_dict),
    ("network_hosts", network::network_hosts),
    ("network_size", network::network_size),
    ("path_join", text::path_join),
    ("permutations", combinations::permutations),
    ("product", combinations::product),
    ("python", serialize::python),
    ("quote", text::quote),
    ("rand_str", machine::random_hash),
    ("random_hash", machine::random_hash),
    ("random_sample", machine::random_sample),
    ("random_shuffle", machine::random_shuffle),
    ("random_str", machine::random_str),
    ("regex_escape", regex::regex_escape),
    ("regex_match", regex::regex_match),
    ("regex_replace", regex::regex_replace),
    ("regex_search", regex::regex_search),
    ("sequence", text::sequence),
    ("set_dict_key_value", dicts::set_dict_key_value),
    ("sha1", hashes::sha1),
    ("sha256", hashes::sha256),
    ("sha512", hashes::sha512),
    ("skip", text::skip),
    ("sorted_ignorecase", lists::sorted_ignorecase),
    ("str_to_num", text::to_num),
    ("strftime", dates::strftime),
    ("substring_in_list", lists::substring_in_list),
    ("symmetric_difference", lists::symmetric_difference),
    ("to_bool", text::to_bool),
    ("to_bytes", text::to_bytes),
    ("to_camelcase", text::to_camelcase),
    ("to_entries", dicts::to_entries),
    ("to_num", text::to_num),
    ("to_snake_case", text::to_snake_case),
    ("tojson", serialize::tojson),
    ("traverse", dicts::traverse),
    ("union", lists::union),
    ("unique", lists::unique),
    ("update_dict_key_value", dicts::update_dict_key_value),
    ("uuid", hashes::uuid),
    ("which", machine::which),
    ("xml", serialize::xml),
    ("yaml", serialize::yaml),
    ("yaml_dquote", serialize::yaml_dquote),
    ("yaml_encode", serialize::yaml_encode),
    ("yaml_squote", serialize::yaml_squote),
    ("zip", combinations::zip),
    ("zip_longest", combinations::zip_longest),
];

pub(crate) const TESTS: &[(&str, TestFunction)] = &[
    ("equalto", |_, value, mut arguments| {
        let other = arguments.take("other")?;
        arguments.finish()?;
        value.equals(&other)
    }),
    ("list", |_, value, arguments| {
        arguments.finish()?;
        Ok(matches!(value, Value::List(_)))
    }),
    ("match", regex::is_match),
];

const GLOBALS: &[globals::SaltGlobal] = &[
    globals::SaltGlobal { name: "ifelse", call: globals::ifelse },
    globals::SaltGlobal { name: "odict", call: globals::odict },
    globals::SaltGlobal { name: "raise", call: globals::raise },
    globals::SaltGlobal { name: "show_full_context", call: globals::show_full_context },
];

/// Salt's global functions by name.
pub(crate) fn globals() -> impl Iterator<Item = (&'static str, Value)> {
    GLOBALS.iter().map(|function| {
        (function.name, Value::object(globals::SaltGlobal { name: function.name, call: function.call }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(TAGS.is_sorted_by_key(|(name, _)| name), "TAGS is searched by halves");
        assert!(FILTERS.is_sorted_by_key(|(name, _)| name), "FILTERS is in alphabetical order");
        assert!(TESTS.is_sorted_by_key(|(name, _)| name), "TESTS is in alphabetical order");
        assert!(GLOBALS.is_sorted_by_key(|function| function.name), "GLOBALS is in alphabetical order");
    }
}
