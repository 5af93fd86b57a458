//! Masks secrets in a call's arguments before anything is stored or shown (`docs/security-rules.md#r13`).
//!
//! A secret is recognised by its name: an argument called `password`, one that ends in `_token`, the pillar of a call.
//! A secret within a command line can't be recognised; pass it by `env`, `stdin` or pillar.

use crate::value::{Map, Value};

/// The text that replaces a secret.
pub const MASK: &str = "(secret)";

/// Names of secrets.
const NAMES: [&str; 24] = [
    "access_key",
    "api_key",
    "apikey",
    "auth_token",
    "authorization",
    "bindpw",
    "community",
    "connection_pass",
    "credential",
    "credentials",
    "key_contents",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pillar",
    "pillar_override",
    "private_key",
    "privkey",
    "pw",
    "pwd",
    "secret",
    "stdin",
    "token",
];

/// Suffixes of names of secrets.
const ENDS: [&str; 9] =
    ["_api_key", "_pass", "_passphrase", "_passwd", "_password", "_private_key", "_secret", "_secret_key", "_token"];

/// Names that look like a secret's but aren't: they tell whether there is a password, or how it is made.
const FREE: [&str; 3] = ["enforce_password", "hash_password", "empty_password"];

/// Functions that take a secret by position, counting from 0.
const PLACES: [(&str, usize); 13] = [
    ("htpasswd.useradd", 2),
    ("mysql.user_chpass", 2),
    ("mysql.user_create", 2),
    ("nspawn.set_pass", 1),
    ("pdbedit.create", 1),
    ("postgres.user_create", 1),
    ("rabbitmq.add_user", 1),
    ("rabbitmq.change_password", 1),
    ("shadow.gen_password", 0),
    ("shadow.set_password", 1),
    ("user.set_password", 1),
    ("win_shadow.set_password", 1),
    ("win_useradd.add", 1),
];

/// The arguments with their secrets replaced.
pub fn mask(function: &str, args: &[Value], kwargs: &Map) -> (Vec<Value>, Map) {
    let place = PLACES.iter().find(|(name, _)| *name == function).map(|(_, place)| *place);
    let args = args.iter().enumerate().map(|(index, value)| match Some(index) == place {
        true => MASK.into(),
        false => masked(value),
    });
    (args.collect(), masked_map(kwargs))
}

/// A value with the secrets in its maps replaced.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Map(map) => Value::Map(masked_map(map)),
        Value::List(items) => Value::List(items.iter().map(masked).collect()),
        // The form `password=x` of the command line.
        Value::String(text) => match text.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret(name.trim()) => format!("{name}={MASK}").into(),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

fn masked_map(map: &Map) -> Map {
    let masked = map.iter().map(|(name, value)| {
        let secret = name.as_str().is_some_and(is_secret) && holds_something(value);
        (name.clone(), if secret { Value::from(MASK) } else { masked(value) })
    });
    masked.collect()
}

/// Whether the name is a secret's. Case doesn't matter, and `-` equals `_`.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    !FREE.contains(&name.as_str()) && (NAMES.contains(&name.as_str()) || ENDS.iter().any(|end| name.ends_with(end)))
}

/// Whether a value can be a secret: an empty value or a flag can't.
pub fn holds_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(map) => !map.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn shown(function: &str, args: &str, kwargs: &str) -> String {
        let value = |text: &str| yaml::parse(text).expect("it is YAML");
        let args = value(args);
        let Value::Map(kwargs) = value(kwargs) else { panic!("a map") };
        let (args, kwargs) = mask(function, args.as_list().expect("a list"), &kwargs);
        format!("{} {}", Value::List(args), Value::Map(kwargs))
    }

    #[test]
    fn secrets_are_replaced_wherever_they_are() {
        let cases = [
            ("state.single", "[user.present, x]", "{password: canary}"),
            ("state.single", "[user.present, password=canary]", "{}"),
            ("state.apply", "[web]", "{pillar: {a: {b: canary}}}"),
            ("state.high", "[{x: {user.present: [{name: a}, {password: canary}]}}]", "{}"),
            ("cmd.run", "[x]", "{env: {DB_PASSWORD: canary}, stdin: canary}"),
            ("cmd.run", "[x]", "{env: [{API-KEY: canary}]}"),
            ("shadow.set_password", "[root, canary]", "{}"),
            ("http.query", "[x]", "{header_dict: {Authorization: Bearer canary}}"),
            ("x.y", "[]", "{Connection_Pass: canary, oauth_token: canary, pwd: [canary]}"),
        ];
        for (function, args, kwargs) in cases {
            let shown = shown(function, args, kwargs);
            assert!(!shown.contains("canary") && shown.contains(MASK), "{function}: {shown}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        let kwargs = "{key: os, enforce_password: true, password: '', token: null, a: {tokens: 3}}";
        let whole = shown("grains.get", "['a=b', 'x == y', 7]", kwargs);
        assert!(!whole.contains(MASK), "{whole}");
    }
}
