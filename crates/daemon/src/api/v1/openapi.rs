//! The OpenAPI document, made from the same list as the router.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json, json};

use super::BASE;
use super::endpoint::{Endpoint, EndpointSchema};
use super::error;
use super::identity::{COOKIE, CSRF};
use super::reply::ResponseSchema;
use crate::api::routes::RouteAuth;

const ABOUT: &str = "Rocksalt's own API. Log in by POST /v1/sessions and send the token as `Authorization: Bearer TOKEN`; \
on the daemon's unix socket no token is needed. Times are seconds since the Unix epoch. Errors are \
`{\"error\": {\"kind\", \"text\", \"hint\"}}`. Streams are server-sent events; after a broken connection send \
`Last-Event-ID`. Where documented, `Accept: application/cbor` returns the stored records without loss.";

pub fn document(endpoints: &[Endpoint]) -> Json {
    let place = |mut settings: SchemaSettings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings
    };
    let mut inputs = place(SchemaSettings::draft2020_12()).into_generator();
    let mut outputs = place(SchemaSettings::draft2020_12().for_serialize()).into_generator();
    let error = outputs.subschema_for::<error::ErrorBody<'static>>().to_value();
    let mut paths = Map::new();
    let mut definitions = Map::new();
    for endpoint in endpoints {
        let schemas = (endpoint.schemas)(&mut inputs, &mut outputs);
        let operation = operation(endpoint, schemas, &error, &mut definitions);
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
                    "description": format!("Requests that change something also need the login's `csrf` as {CSRF}."),
                },
            },
        },
    })
}

fn operation(endpoint: &Endpoint, schemas: EndpointSchema, error: &Json, definitions: &mut Map<String, Json>) -> Json {
    let mut parameters = Vec::new();
    for (place, schema) in [("path", &schemas.path), ("query", &schemas.query)] {
        parameters.extend(parameters_of(place, schema.clone(), definitions));
    }
    let mut operation = json!({
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "tags": [endpoint.path.split('/').nth(1).unwrap_or_default()],
        "responses": responses(endpoint, &schemas, !parameters.is_empty(), error),
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(schema) = &schemas.body {
        let mut content = json!({"schema": schema});
        if let Some(example) = &endpoint.example {
            content["example"] = example.clone();
        }
        operation["requestBody"] = json!({"required": schemas.body_required, "content": {"application/json": content}});
    }
    if endpoint.needs() == RouteAuth::Token {
        operation["security"] = json!([{"bearer": []}, {"token": []}, {"cookie": []}]);
    } else {
        operation["security"] = json!([]);
    }
    if endpoint.records {
        operation["description"] = "`Accept: application/cbor` returns records.".into();
    }
    operation
}

fn responses(endpoint: &Endpoint, schemas: &EndpointSchema, parameters: bool, error: &Json) -> Json {
    let ResponseSchema { status, kind, schema } = &schemas.answer;
    let body = schemas.body.is_some();
    let mut all = Map::new();
    let mut success = json!({"description": if *status == 204 { "Done" } else { endpoint.about }});
    if let (Some(schema), Some(kind)) = (schema, kind) {
        success["content"] = json!({*kind: {"schema": schema}});
    }
    all.insert(status.to_string(), success);
    let token = endpoint.needs() != RouteAuth::None;
    let errors: [(bool, &str, &str); 12] = [
        (body || parameters, "400", "The request is malformed"),
        (token, "401", "Not authenticated"),
        (endpoint.needs() == RouteAuth::Token, "403", "Not allowed"),
        (true, "404", "Not found"),
        (true, "405", "Method not allowed"),
        (endpoint.needs() == RouteAuth::Token, "409", "The name is in use, or the job has ended"),
        (body, "413", "The body is too large"),
        (body, "415", "The body's type is not supported"),
        (token, "429", "Too many requests"),
        (true, "500", "Internal error"),
        (true, "503", "Unavailable"),
        (true, "504", "Timeout"),
    ];
    for (_, status, about) in errors.iter().filter(|(there, ..)| *there) {
        let content = json!({"application/json": {"schema": error}});
        all.insert((*status).to_owned(), json!({"description": about, "content": content}));
    }
    // The HTTP library refuses these before any handler sees them: there is no body.
    if parameters {
        all.insert("414".to_owned(), json!({"description": "The address is too long"}));
        all.insert("431".to_owned(), json!({"description": "The address and the headers are too long"}));
    }
    all.into()
}

/// Turns each property into a parameter; referenced schemas move to the document's definitions.
fn parameters_of(place: &str, mut schema: Json, definitions: &mut Map<String, Json>) -> Vec<Json> {
    rewrite_references(&mut schema);
    if let Some(Json::Object(defined)) = schema.get_mut("$defs").map(Json::take) {
        definitions.extend(defined);
    }
    let required = schema.get("required").cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").map(Json::take);
    let Some(Json::Object(properties)) = properties else { return Vec::new() };
    let parameter = |(name, mut schema): (String, Json)| {
        remove_null(&mut schema);
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

/// A parameter can be left out but can't be `null`.
fn remove_null(schema: &mut Json) {
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

/// Replaces `#/$defs/X` by its path in the document.
fn rewrite_references(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            for (key, value) in map {
                match value {
                    Json::String(text) if key == "$ref" => *text = text.replace("#/$defs/", "#/components/schemas/"),
                    other => rewrite_references(other),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(rewrite_references),
        _ => {}
    }
}
