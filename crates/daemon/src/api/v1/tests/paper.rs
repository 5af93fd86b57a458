//! The OpenAPI document and the router have the same endpoints.

use std::collections::HashSet;

use serde_json::Value as Json;

use crate::api::v1::{ENDPOINTS, document, routes, schema};

#[test]
fn every_route_is_in_the_document_and_nothing_else() {
    let documented: HashSet<(String, String)> = document()["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            methods.map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
        })
        .collect();
    let routed: HashSet<(String, String)> =
        routes().iter().map(|route| (route.method.to_owned(), format!("/v1{}", route.path))).collect();
    assert_eq!(documented, routed);
    assert_eq!(routed.len(), ENDPOINTS.len(), "two of the same");
}

#[test]
fn operations_have_names_of_their_own_and_words() {
    let mut names = HashSet::new();
    for endpoint in ENDPOINTS.iter() {
        assert!(names.insert(&endpoint.name), "{} is there twice", endpoint.name);
        assert!(!endpoint.about.is_empty());
    }
}

#[test]
fn every_body_has_an_example_and_it_fits() {
    for endpoint in ENDPOINTS.iter() {
        let method = endpoint.method.as_str().to_lowercase();
        let operation = &document()["paths"][format!("/v1{}", endpoint.path)][method];
        let Some(content) = operation.pointer("/requestBody/content/application~1json") else { continue };
        let mut example = content.get("example").unwrap_or_else(|| panic!("{} has no example", endpoint.name)).clone();
        assert_eq!(schema::check(document(), &content["schema"], &mut example, ""), Ok(()), "{}", endpoint.name);
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(json: &Json, found: &mut usize) {
        match json {
            Json::Object(map) => {
                if let Some(Json::String(path)) = map.get("$ref") {
                    let pointer = path.strip_prefix('#').expect("inside the document");
                    assert!(document().pointer(pointer).is_some(), "{path}");
                    *found += 1;
                }
                map.values().for_each(|value| walk(value, found));
            }
            Json::Array(items) => items.iter().for_each(|item| walk(item, found)),
            _ => {}
        }
    }
    let mut found = 0;
    walk(document(), &mut found);
    assert!(found > 20, "only {found}");
}

#[test]
fn parameters_of_a_path_are_those_in_it() {
    for endpoint in ENDPOINTS.iter() {
        let method = endpoint.method.as_str().to_lowercase();
        let operation = &document()["paths"][format!("/v1{}", endpoint.path)][method];
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let described: HashSet<&str> =
            parameters.iter().filter(|one| one["in"] == "path").filter_map(|one| one["name"].as_str()).collect();
        let parts = endpoint.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        assert_eq!(described, parts.collect::<HashSet<_>>(), "{}", endpoint.path);
    }
}
