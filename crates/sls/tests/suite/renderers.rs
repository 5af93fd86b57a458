//! Properties that every renderer must have.

use rocksalt_core::Map;
use rocksalt_sls::render::{RENDERERS, RenderRequest, open, render_file};

use crate::trees::with_setting;

#[test]
fn renderers_are_listed_by_their_names() {
    let names = RENDERERS.map(|renderer| renderer.name());
    assert!(names.is_sorted(), "{names:?}");
    for name in names {
        assert_eq!(open(name).map(|renderer| renderer.name()), Some(name));
    }
    assert!(open("nosuch").is_none());
}

/// No renderer panics, whatever its input is, and an empty text renders to an empty map.
#[test]
fn every_renderer_takes_anything() {
    let texts =
        ["", " \n", "a", "{", "a: [", "{{", "{% if", "-----BEGIN PGP MESSAGE-----\nx", "\u{0}", "a = 1", "{\"a\": 1}"];
    for renderer in RENDERERS {
        for text in texts {
            for pipe in
                [renderer.name().to_owned(), format!("jinja|{}", renderer.name()), format!("yaml|{}", renderer.name())]
            {
                with_setting(|inputs| {
                    let rendering = RenderRequest {
                        contents: text.as_bytes().into(),
                        path: "x.sls",
                        saltenv: "base",
                        sls: Some(""),
                        pipe: Some(&pipe),
                        shebang: true,
                        context: &Map::new(),
                    };
                    let result = render_file(inputs, &rendering);
                    if text.trim().is_empty() {
                        assert_eq!(result.expect("nothing is fine"), Map::new().into(), "{pipe}");
                    }
                });
            }
        }
    }
}
