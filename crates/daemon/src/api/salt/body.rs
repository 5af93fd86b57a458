//! What is asked: the body in any of the forms that clients send.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use rocksalt_core::{Map, Value, json, yaml};

use super::reply::Refused;

/// The fields of a form; more are nobody's.
const FIELDS: usize = 1000;

/// All of the body, up to the limit.
pub async fn read(body: Body, limit: usize) -> Result<Bytes, Refused> {
    to_bytes(body, limit).await.map_err(|_| {
        Refused::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the request is larger than the {limit} bytes allowed"))
    })
}

/// The body as data; nothing at all is an empty list.
pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Value, Refused> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let text = || std::str::from_utf8(body).map_err(|_| Refused::bad("the request is not UTF-8"));
    if body.is_empty() && !matches!(&*kind, "" | "text/plain" | "application/json") {
        return Ok(Value::List(Vec::new()));
    }
    match kind.as_str() {
        // What a browser calls a text that nobody has given a type.
        "application/json" | "text/plain" | "" if body.iter().all(u8::is_ascii_whitespace) => {
            Ok(Value::List(Vec::new()))
        }
        "application/json" | "text/plain" | "" => {
            json::parse(text()?).map_err(|_| Refused::bad("Invalid JSON document"))
        }
        "application/x-www-form-urlencoded" => Ok(form(text()?)?.into()),
        "application/x-yaml" | "application/yaml" | "text/yaml" => {
            yaml::parse(text()?).map_err(|_| Refused::bad("Invalid YAML document"))
        }
        other => {
            let shown: String = other.chars().take(60).collect();
            Err(Refused::new(StatusCode::NOT_ACCEPTABLE, format!("Content type not supported: {shown}")))
        }
    }
}

/// Low data: a list of maps; one map is a list of one.
pub fn chunks(data: Value) -> Result<Vec<Map>, Refused> {
    let items = match data {
        Value::Map(chunk) => return Ok(vec![chunk]),
        Value::List(items) => items,
        _ => return Err(Refused::bad("Lowstates must be a list")),
    };
    let maps = items.into_iter().map(|item| match item {
        Value::Map(chunk) => Ok(chunk),
        other => Err(Refused::bad(format!("each of the lowstates must be a map, not {}", other.kind()))),
    });
    maps.collect()
}

/// A form: a key that comes twice has a list; what is an argument is YAML.
fn form(text: &str) -> Result<Map, Refused> {
    let mut fields = Map::new();
    for (number, pair) in text.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        if number == FIELDS {
            return Err(Refused::bad("the form has too many fields"));
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decoded(key)?, decoded(value)?);
        let value = match key.as_str() {
            "arg" | "kwarg" => yaml::parse(&value).unwrap_or(Value::String(value)),
            _ => Value::String(value),
        };
        match fields.get_mut(&key) {
            None => {
                fields.insert(key, value);
            }
            Some(Value::List(items)) if key != "arg" => items.push(value),
            Some(Value::List(items)) => items.push(value),
            Some(first) => *first = Value::List(vec![std::mem::take(first), value]),
        }
    }
    Ok(fields)
}

/// `%41+b` → `A b`.
fn decoded(text: &str) -> Result<String, Refused> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                    bytes.push(b'%');
                    continue;
                };
                bytes.push((high * 16 + low) as u8);
                rest = after;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| Refused::bad("the request is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_one_command() {
        let fields = form("client=local&tgt=*&fun=test.arg&arg=1&arg=%5B2%2C+3%5D&x=a%20b+c%zz").expect("it is a form");
        assert_eq!(
            json::compact(&fields.into()),
            r#"{"client":"local","tgt":"*","fun":"test.arg","arg":[1,[2,3]],"x":"a b c%zz"}"#
        );
    }

    #[test]
    fn only_maps_are_chunks() {
        assert_eq!(chunks(json::parse(r#"{"a":1}"#).expect("JSON")).expect("a chunk").len(), 1);
        assert_eq!(chunks(json::parse("3").expect("JSON")).expect_err("no list").status, 400);
        assert_eq!(chunks(json::parse("[3]").expect("JSON")).expect_err("no map").status, 400);
    }
}
