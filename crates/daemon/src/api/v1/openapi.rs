//! The OpenAPI document, made from the same list as the router.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json, json};

use super::BASE;
use super::endpoint::{Endpoint, Shape};
use super::fault;
use super::reply::Described;
use super::who::{COOKIE, CSRF};
use crate::api::routes::Login;

const ABOUT: &str = "Rocksalt's own API. Log in by POST /v1/sessions and send the token as `Authorization: Bearer TOKEN`; \
on the daemon's unix socket no token is needed. Times are seconds since 1970. What is not done is answered by \
`{\"error\": {\"kind\", \"text\", \"hint\"}}`. Streams are server-sent events; after a broken connection send \
`Last-Event-ID`. Where it says so, `Accept: application/cbor` gives the records as they are stored, which lose nothing.";

pub fn document(endpoints: &[Endpoint]) -> Json {
    let place = |mut settings: SchemaSettings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings
    };
    let mut inputs = place(SchemaSettings::draft2020_12()).into_generator();
    let mut outputs = place(SchemaSettings::draft2020_12().for_serialize()).into_generator();
    let fault = outputs.subschema_for::<fault::Body<'static>>().to_value();
    let mut paths = Map::new();
    let mut definitions = Map::new();
    for endpoint in endpoints {
        let shape = (endpoint.shape)(&mut inputs, &mut outputs);
        let operation = operation(endpoint, shape, &fault, &mut definitions);
        let path = paths.entry(format!("{BASE}{}", endpoint.path)).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_ascii_lowercase()] = operation;
    }
    definitions.extend(inputs.take_definitions(true));
    definitions.extend(outputs.take_definitions(true));
    definitions.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Rocksalt", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
                "cookie": {
                    "type": "apiKey", "in": "cookie", "name": COOKIE,
                    "description": format!("Whatever changes something needs the login's `csrf` as {CSRF} too."),
                },
            },
        },
    })
}

fn operation(endpoint: &Endpoint, shape: Shape, fault: &Json, definitions: &mut Map<String, Json>) -> Json {
    let mut parameters = Vec::new();
    for (place, schema) in [("path", &shape.path), ("query", &shape.query)] {
        parameters.extend(described(place, schema.clone(), definitions));
    }
    let mut operation = json!({
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "tags": [endpoint.path.split('/').nth(1).unwrap_or_default()],
        "responses": responses(endpoint, &shape, !parameters.is_empty(), fault),
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(schema) = &shape.body {
        let mut content = json!({"schema": schema});
        if let Some(example) = &endpoint.example {
            content["example"] = example.clone();
        }
        operation["requestBody"] = json!({"required": shape.body_needed, "content": {"application/json": content}});
    }
    if endpoint.needs() == Login::Token {
        operation["security"] = json!([{"bearer": []}, {"token": []}, {"cookie": []}]);
    } else {
        operation["security"] = json!([]);
    }
    if endpoint.records {
        operation["description"] = "`Accept: application/cbor` gives records.".into();
    }
    operation
}

fn responses(endpoint: &Endpoint, shape: &Shape, parameters: bool, fault: &Json) -> Json {
    let Described { status, kind, schema } = &shape.answer;
    let body = shape.body.is_some();
    let mut all = Map::new();
    let mut success = json!({"description": if *status == 204 { "Done" } else { endpoint.about }});
    if let (Some(schema), Some(kind)) = (schema, kind) {
        success["content"] = json!({*kind: {"schema": schema}});
    }
    all.insert(status.to_string(), success);
    let token = endpoint.needs() != Login::Nobody;
    let faults: [(bool, &str, &str); 12] = [
        (body || parameters, "400", "It makes no sense as it is written"),
        (token, "401", "Nobody knows who asks"),
        (endpoint.needs() == Login::Token, "403", "They may not"),
        (true, "404", "There is no such thing"),
        (true, "405", "The path has no such method"),
        (endpoint.needs() == Login::Token, "409", "There is something of that name already, or it has ended"),
        (body, "413", "The body is too large"),
        (body, "415", "The body is of a type that is not read here"),
        (token, "429", "Too often"),
        (true, "500", "A fault of the daemon"),
        (true, "503", "Not now"),
        (true, "504", "It takes too long"),
    ];
    for (_, status, about) in faults.iter().filter(|(there, ..)| *there) {
        let content = json!({"application/json": {"schema": fault}});
        all.insert((*status).to_owned(), json!({"description": about, "content": content}));
    }
    all.into()
}

/// Each property is a parameter; what it refers to goes where the document has all schemas.
fn described(place: &str, mut schema: Json, definitions: &mut Map<String, Json>) -> Vec<Json> {
    refer(&mut schema);
    if let Some(Json::Object(defined)) = schema.get_mut("$defs").map(Json::take) {
        definitions.extend(defined);
    }
    let required = schema.get("required").cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").map(Json::take);
    let Some(Json::Object(properties)) = properties else { return Vec::new() };
    let parameter = |(name, mut schema): (String, Json)| {
        no_null(&mut schema);
        let needed = place == "path" || required.as_array().is_some_and(|all| all.iter().any(|one| *one == *name));
        let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({"name": name, "in": place, "required": needed, "schema": schema});
        if let Some(about) = about {
            parameter["description"] = about;
        }
        parameter
    };
    properties.into_iter().map(parameter).collect()
}

/// What is left out is not there; nobody can write `null` behind a `?`.
fn no_null(schema: &mut Json) {
    let Some(map) = schema.as_object_mut() else { return };
    if map.get("default") == Some(&Json::Null) {
        map.remove("default");
    }
    if let Some(Json::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            map.insert("type".into(), kind);
        }
    }
    if let Some(Json::Array(options)) = map.get_mut("anyOf") {
        options.retain(|option| option.get("type") != Some(&"null".into()));
        if let [option] = options.as_slice() {
            let option = option.clone();
            map.remove("anyOf");
            map.extend(option.as_object().cloned().unwrap_or_default());
        }
    }
}

/// `#/$defs/X` becomes what it is called in the document.
fn refer(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            for (key, value) in map {
                match value {
                    Json::String(text) if key == "$ref" => *text = text.replace("#/$defs/", "#/components/schemas/"),
                    other => refer(other),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(refer),
        _ => {}
    }
}
