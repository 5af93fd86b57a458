//! The parts of Salt's environment that can't be recorded: the machine, targets, a template's own options.

use std::rc::Rc;

use rocksalt_jinja::{Environment, ErrorKind, Options, RenderLimits, TemplateMachine, Value};

/// A machine with one program, two files and one user, at a known time.
struct Known;

impl TemplateMachine for Known {
    fn now(&self) -> Result<f64, String> {
        Ok(1_700_000_000.0)
    }

    fn utc_offset(&self, _at: i64) -> i64 {
        3600
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), String> {
        bytes.fill(0xa5);
        Ok(())
    }

    fn which(&self, name: &str) -> Result<Option<String>, String> {
        Ok((name == "sh").then(|| "/bin/sh".to_owned()))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "/text" => Ok(b"some text\n".to_vec()),
            "/binary" => Ok(vec![0, 1, 2, 0xff]),
            "/empty" => Ok(Vec::new()),
            _ => Err(format!("there is no file {path}")),
        }
    }

    fn list_files(&self, path: &str) -> Result<Vec<String>, String> {
        Ok(vec![path.to_owned(), format!("{path}/a")])
    }

    fn user_id(&self, name: Option<&str>) -> Result<Option<i64>, String> {
        Ok(match name {
            None => Some(0),
            Some("bob") => Some(1000),
            Some(_) => None,
        })
    }

    fn dns_check(&self, name: &str, port: i64, ipv6: Option<bool>) -> Result<String, String> {
        match (name, port, ipv6) {
            ("here", 22, None) => Ok("192.0.2.1".into()),
            ("here", 22, Some(true)) => Ok("[2001:db8::1]".into()),
            _ => Err(format!("'{name}' has no address")),
        }
    }

    fn http_query(&self, url: &str, arguments: &[(String, Value)]) -> Result<Value, String> {
        let shown: Vec<String> =
            arguments.iter().map(|(name, value)| format!("{name}={}", value.to_text().unwrap_or_default())).collect();
        Ok(format!("{url} {}", shown.join(" ")).into())
    }
}

fn salt() -> Environment {
    Environment::new(Options::salt())
}

fn render(environment: &Environment, template: &str) -> Result<String, String> {
    let data = r#"{"grains": {"id": "web1", "os": "Debian", "roles": ["web"]}, "pillar": {"env": "prod"}, "opts": {}}"#;
    let data = rocksalt_core::json::parse(data).expect("it is JSON");
    let context: Vec<(&str, Value)> = data
        .as_map()
        .expect("a map")
        .iter()
        .map(|(name, value)| (name.as_str().expect("a name"), Value::from(value)))
        .collect();
    environment.render_str(template, "test", &context).map_err(|error| error.to_string())
}

#[test]
fn filters_ask_the_machine() {
    let cases = [
        ("{{ 'sh'|which }} {{ 'nosuch'|which }}", "/bin/sh None"),
        (
            "{{ '/text'|file_hashsum('md5') == 'some text\\n'|md5 }} {{ '/text'|file_hashsum == 'some text\\n'|sha256 }}",
            "True True",
        ),
        ("{{ '/text'|is_text_file }} {{ '/text'|is_bin_file }} {{ '/text'|is_empty }}", "True False False"),
        ("{{ '/binary'|is_text_file }} {{ '/binary'|is_bin_file }}", "False True"),
        ("{{ '/empty'|is_empty }} {{ '/nosuch'|is_empty }} {{ '/nosuch'|is_text_file }}", "True False False"),
        ("{{ '/x'|list_files }}", "['/x', '/x/a']"),
        ("{{ 'bob'|get_uid }} {{ 'eve'|get_uid }} {{ none|get_uid }}", "1000 None 0"),
        ("{{ 'here'|dns_check(22) }} {{ 'here'|dns_check(22, ipv6=true) }}", "192.0.2.1 [2001:db8::1]"),
        ("{{ 'http://x'|http_query('POST', data='d') }}", "http://x method=POST data=d"),
        ("{{ none|strftime('%Y-%m-%d %H:%M:%S') }}", "2023-11-14 23:13:20"),
        ("{{ 0|strftime('%F %T') }}", "1970-01-01 01:00:00"),
        (
            "{{ 'tomorrow'|strftime }} {{ 'yesterday'|strftime('%F %T') }} {{ 'now'|strftime('%T') }}",
            "2023-11-15 2023-11-13 00:00:00 23:13:20",
        ),
        ("{{ 'AC:DE:48'|gen_mac }} {{ 8|random_str }}", "AC:DE:48:A5:A5:A5 paWlpaWl"),
    ];
    let mut environment = salt();
    environment.set_machine(Rc::new(Known));
    for (template, expected) in cases {
        assert_eq!(render(&environment, template).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn a_seed_gives_the_same_order_every_time() {
    let environment = salt();
    let template = "{{ range(20)|list|random_shuffle(seed='x') }}";
    let first = render(&environment, template).expect("a seed needs no machine");
    assert_eq!(render(&environment, template), Ok(first.clone()));
    assert_ne!(first, format!("{:?}", (0..20).collect::<Vec<_>>()));
    let sample = render(&environment, "{{ [1, 2, 3]|random_sample(2, seed=5)|length }}");
    assert_eq!(sample.as_deref(), Ok("2"));
}

#[test]
fn without_a_machine_the_filter_is_named() {
    for (template, named) in [
        ("{{ 'sh'|which }}", "which: this template is rendered where the machine can't be looked at; line 1"),
        ("{{ 5|random_str }}", "random_str: there are no random numbers here; line 1"),
        ("{{ none|strftime }}", "strftime: the time is not known here; line 1"),
    ] {
        assert_eq!(render(&salt(), template), Err(named.to_owned()), "{template}");
    }
}

#[test]
fn ifelse_takes_targets() {
    let cases = [
        ("{{ ifelse('web*', 'W', 'db*', 'D', 'none') }}", "W"),
        ("{{ ifelse('db*', 'D', 'none') }}", "none"),
        ("{{ ifelse('G@os:Debian and web1', 'yes', 'no') }}", "yes"),
        ("{{ ifelse('I@env:prod', 'live', 'test') }} {{ ifelse('I@env:dev', 'live', 'test') }}", "live test"),
        ("{{ ifelse(false, 'f', true, 't', 'd') }}", "t"),
        ("{{ ifelse('os:Debian', 'yes', 'no', tgt_type='grain') }}", "yes"),
        ("{{ ifelse('db*', 'D', 'no', minion_id='db7') }}", "D"),
        ("{{ ifelse('web*', {'a': {'b': 1}}, {}, merge={'a': {'c': 2}}) }}", "{'a': {'b': 1, 'c': 2}}"),
    ];
    for (template, expected) in cases {
        assert_eq!(render(&salt(), template).as_deref(), Ok(expected), "{template}");
    }
    let error = render(&salt(), "{{ ifelse('x', 1, 2, tgt_type='grian') }}").expect_err("no such kind");
    assert!(error.contains("grain"), "{error}");
}

/// A list holds another one twice, which holds another one twice, and so on: few bytes in memory, huge as text.
#[test]
fn what_is_small_in_memory_and_huge_as_text_is_refused() {
    let grow = "{% set ns = namespace(l=['x']) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}";
    let filters = [
        "ns.l|json",
        "ns.l|json(indent=1000)",
        "ns.l|tojson",
        "ns.l",
        "{'a': ns.l}",
        "ns.l|flatten",
        "ns.l|json_encode_list",
        "{'r': {'a': ns.l}}|xml",
        "ns.l|json_query('to_string(@)')",
        "['a']|product(repeat=1000000000)",
        "[]|product(repeat=1000000000000)",
        "range(3000)|list|permutations",
        "['a']|combinations_with_replacement(1000000000)",
        "'10.0.0.0/1'|network_hosts",
        "'::/1'|network_hosts",
        "100000000000|random_str",
    ];
    let mut options = Options::salt();
    options.limits = RenderLimits { steps: 200_000, output_bytes: 1 << 20, ..RenderLimits::default() };
    let mut environment = Environment::new(options);
    environment.set_machine(Rc::new(Known));
    for filter in filters {
        let template = format!("{grow}{{{{ {filter} }}}}");
        let error = environment.render_str(&template, "test", &[]).expect_err(filter);
        assert_eq!(error.kind, ErrorKind::Limit, "{filter}: {error}");
    }
    // With anchors the text is small.
    let yaml = environment.render_str(&format!("{grow}{{{{ ns.l|yaml }}}}"), "test", &[]).expect("it is short");
    assert!(yaml.starts_with("[&id") && yaml.len() < 10_000, "{yaml}");
}

#[test]
fn a_template_sets_its_own_options() {
    let options = Options::salt();
    let (own, rest) =
        options.of_file("#!jinja|yaml\n#jinja2: {\"trim_blocks\": true, \"odd\": 1}\na\n").expect("a header");
    assert!(own.trim_blocks && !own.lstrip_blocks);
    assert_eq!(rest, "#!jinja|yaml\na\n");
    for other in ["a\n#jinja2: {}\n", "#!/bin/sh\n#jinja2: {}\n", "#jinja2: [1]\n", "#jinja2:\n", "", "#jinja2: {"] {
        assert!(options.of_file(other).is_none(), "{other:?}");
    }
}

#[test]
fn lines_are_mapped_up_to_the_newline_that_salt_adds() {
    let environment = salt();
    let template = "a\n{% if true %}\nb\n{% endif %}\n{% for x in [1, 2] %}\n- {{ x }}\n{%- endfor %}\nend\n\n";
    let (output, lines) = environment.render_str_mapped(template, "test", &[]).expect("it renders");
    assert_eq!(output, "a\n\nb\n\n\n- 1\n- 2\nend\n\n");
    assert_eq!(output.lines().count(), lines.len(), "{lines:?}");
    assert_eq!(lines[2], 3, "b is on the third line: {lines:?}");
    assert_eq!(lines[5..8], [6, 6, 8], "the items and the end: {lines:?}");
}
