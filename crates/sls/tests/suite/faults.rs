//! The ten worst mistakes: each is reported with its file, line and caret, and with a hint.

use rocksalt_sls::SlsFault;
use rocksalt_sls::sources::MemorySources;

use crate::trees::try_compile_tree;

fn faults(files: &[(&str, &str)]) -> Vec<SlsFault> {
    let mut sources = MemorySources::new();
    for (path, text) in files {
        sources.add("base", path, text.as_bytes());
    }
    try_compile_tree(sources).expect_err("it is a mistake")
}

/// Checks the position, a part of the hint, and the text above the caret.
fn check(files: &[(&str, &str)], place: &str, hint: &str, under: Option<&str>) {
    let all = faults(files);
    let fault = &all[0];
    let shown = fault.place.as_ref().map(ToString::to_string).unwrap_or_default();
    // A position that is only a line accepts any column.
    let line_only = place.matches(':').count() < 3;
    assert!(shown == place || line_only && shown.starts_with(&format!("{place}:")), "{}", fault.report());
    assert!(fault.hint.as_deref().unwrap_or_default().contains(hint), "{}", fault.report());
    if let Some(under) = under {
        let excerpt = fault.excerpt.as_deref().unwrap_or_default();
        let lines: Vec<&str> = excerpt.lines().collect();
        let caret = lines.last().and_then(|line| line.find('^')).unwrap_or_else(|| panic!("{}", fault.report()));
        assert!(lines[lines.len() - 2][caret..].starts_with(under), "{}", fault.report());
    }
}

#[test]
fn mistakes_show_their_place_and_a_way_out() {
    let main = |text| [("main.sls", text)];
    check(&main("a:\n\ttest.nop: []\n"), "salt://main.sls:2:1", "spaces", None);
    check(&main("a:\n  test.nop\n    - x: 1\n"), "salt://main.sls:3:8", "colon missing", None);
    check(&main("a: test.nop\n{% if x %}\n"), "salt://main.sls:2", "", None);
    check(
        &main("{% set port = 1 %}\na:\n  test.nop:\n    - x: {{ prot }}\n"),
        "salt://main.sls:4:13",
        "'port'",
        Some("prot"),
    );
    check(
        &main("a:\n  test.nop:\n    - require:\n      - test: bb\nbbb: test.nop\n"),
        "salt://main.sls:3:7",
        "test: bbb",
        None,
    );
    check(
        &main("a:\n  test.nop:\n    - require:\n      - test.nop: b\nb: test.nop\n"),
        "salt://main.sls:4:9",
        "test: b",
        Some("test.nop"),
    );
    check(
        &main("a:\n  test.nop:\n    - require:\n      - test: b\nb:\n  test.nop:\n    - require:\n      - test: a\n"),
        "salt://main.sls:7:7",
        "take one of these away",
        None,
    );
    check(&main("a: test.nop\nb: test.nop\na: test.nop\n"), "salt://main.sls:3:1", "must differ", Some("a: test.nop"));
    check(&main("include:\n  - other.thng\na: test.nop\n"), "salt://main.sls:2:5", "", Some("other.thng"));
    check(
        &[("main.sls", "include:\n  - other.thng\n"), ("other/thing.sls", "b: test.nop\n")],
        "salt://main.sls:2:5",
        "'other.thing'",
        Some("other.thng"),
    );
    check(&main("a:\n  test.nop:\n    x: 1\n"), "salt://main.sls:2:3", "dash", Some("test.nop"));
    check(&main("a:\n  test.nop:\n"), "salt://main.sls:2:3", "[]", Some("test.nop"));
    check(
        &[("main.sls", "include: [b]\nx: test.nop\n"), ("b.sls", "y: test.nop\n\nx: test.nop\n")],
        "salt://b.sls:3:1",
        "salt://main.sls:2:1",
        Some("x"),
    );
    check(
        &[
            ("main.sls", "{% from 'lib.jinja' import m %}\na:\n  test.nop:\n    - x: {{ m() }}\n"),
            ("lib.jinja", "{% macro m() %}\n\n{{ nothing }}\n{% endmacro %}\n"),
        ],
        "salt://lib.jinja:3:4",
        "",
        Some("nothing"),
    );
    check(&main("#!jinja|py\na: test.nop\n"), "salt://main.sls:1:1", "jinja|yaml", None);
}

#[test]
fn a_mistake_behind_a_template_is_shown_in_the_file() {
    let text = "{% set many = [1, 2, 3, 4, 5] %}\n{% for n in many %}\ns{{ n }}:\n  test.nop: []\n{% endfor %}\nlast:\n  test.nop:\n    - require:\n      - test: s6\n";
    check(&[("main.sls", text)], "salt://main.sls:8:7", "test: s", Some("require"));
    let broken = "{% for n in range(9) %}\ns{{ n }}: test.nop\n{% endfor %}\nlast: [1\nnext: test.nop\n";
    let fault = &faults(&[("main.sls", broken)])[0];
    assert_eq!(fault.place.as_ref().map(|place| place.line), Some(5), "{}", fault.report());
}

#[test]
fn all_mistakes_of_a_stage_come_at_once() {
    let text = "include:\n  - nope\n  - ..x\n  - {nowhere: y}\na: 5\nb:\n  test.nop: []\n  test.fail: []\n";
    assert_eq!(faults(&[("main.sls", text)]).len(), 5);
    let text = "a:\n  test.nop:\n    - require:\n      - test: x\nb:\n  test.nop:\n    - watch:\n      - test: y\n";
    assert_eq!(faults(&[("main.sls", text)]).len(), 2);
}

#[test]
fn an_unknown_renderer_is_an_empty_file_with_a_warning() {
    let mut sources = MemorySources::new();
    sources.add("base", "main.sls", &b"#!jinja|ymal\na: test.nop\n"[..]);
    let high = crate::trees::high(sources).expect("Salt takes it");
    assert!(high.is_empty());
    assert_eq!(high.warnings[0].hint.as_deref(), Some("did you mean 'yaml'?"));
}

#[test]
fn limits_hold() {
    let mut sources = MemorySources::new();
    for number in 0..400 {
        sources.add(
            "base",
            &format!("s{number}.sls"),
            format!("include: [s{}]\na{number}: test.nop\n", number + 1).into_bytes(),
        );
    }
    sources.add("base", "main.sls", &b"include: [s0]\n"[..]);
    let faults = try_compile_tree(sources).expect_err("that is too deep");
    assert!(faults[0].text.contains("through more than 200 others"), "{}", faults[0]);

    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "));
    }
    let mut sources = MemorySources::new();
    sources.add("base", "main.sls", bomb.into_bytes());
    assert!(try_compile_tree(sources).expect_err("that is too much")[0].text.contains("too many nodes"));
}
