//! Request bodies, in all formats that Salt's clients send.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use rocksalt_core::{Map, Value, json, yaml};

use super::reply::ErrorResponse;

/// The most fields of a form.
const MAX_FIELDS: usize = 1000;

/// Reads the whole body, up to the limit.
pub async fn read(body: Body, limit: usize) -> Result<Bytes, ErrorResponse> {
    to_bytes(body, limit).await.map_err(|_| {
        ErrorResponse::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the request is larger than the {limit} bytes allowed"),
        )
    })
}

/// Parses the body; an empty one is an empty list.
pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Value, ErrorResponse> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let text = || std::str::from_utf8(body).map_err(|_| ErrorResponse::bad_request("the request is not UTF-8"));
    if body.is_empty() && !matches!(&*kind, "" | "text/plain" | "application/json") {
        return Ok(Value::List(Vec::new()));
    }
    match kind.as_str() {
        // Browsers send text/plain if the page sets no type.
        "application/json" | "text/plain" | "" if body.iter().all(u8::is_ascii_whitespace) => {
            Ok(Value::List(Vec::new()))
        }
        "application/json" | "text/plain" | "" => {
            json::parse(text()?).map_err(|_| ErrorResponse::bad_request("Invalid JSON document"))
        }
        "application/x-www-form-urlencoded" => Ok(parse_form(text()?)?.into()),
        "application/x-yaml" | "application/yaml" | "text/yaml" => {
            yaml::parse(text()?).map_err(|_| ErrorResponse::bad_request("Invalid YAML document"))
        }
        other => {
            let shown: String = other.chars().take(60).collect();
            Err(ErrorResponse::new(StatusCode::NOT_ACCEPTABLE, format!("Content type not supported: {shown}")))
        }
    }
}

/// Low data: a list of maps; a single map is a list of one.
pub fn chunks(data: Value) -> Result<Vec<Map>, ErrorResponse> {
    let items = match data {
        Value::Map(chunk) => return Ok(vec![chunk]),
        Value::List(items) => items,
        _ => return Err(ErrorResponse::bad_request("Lowstates must be a list")),
    };
    let maps = items.into_iter().map(|item| match item {
        Value::Map(chunk) => Ok(chunk),
        other => Err(ErrorResponse::bad_request(format!("each of the lowstates must be a map, not {}", other.kind()))),
    });
    maps.collect()
}

/// Parses a form. A repeated key becomes a list; arguments are YAML.
fn parse_form(text: &str) -> Result<Map, ErrorResponse> {
    let mut fields = Map::new();
    for (number, pair) in text.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        if number == MAX_FIELDS {
            return Err(ErrorResponse::bad_request("the form has too many fields"));
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (percent_decode(key)?, percent_decode(value)?);
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

/// Percent-decodes: `%41+b` → `A b`.
fn percent_decode(text: &str) -> Result<String, ErrorResponse> {
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
    String::from_utf8(bytes).map_err(|_| ErrorResponse::bad_request("the request is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_one_command() {
        let fields =
            parse_form("client=local&tgt=*&fun=test.arg&arg=1&arg=%5B2%2C+3%5D&x=a%20b+c%zz").expect("it is a form");
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
