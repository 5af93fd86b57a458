//! No template may overflow the stack, run forever or exhaust the memory.

use rocksalt_jinja::{Environment, ErrorKind, Options, RenderLimits, Value};

/// Renders in a thread with Rust's default stack, a quarter of a main thread's.
fn render(source: String) -> Result<String, (ErrorKind, String)> {
    std::thread::spawn(move || {
        // The step limit is lower than usual, since steps are slow without optimization.
        let limits = RenderLimits { steps: 3_000_000, ..RenderLimits::default() };
        Environment::new(Options { limits, ..Options::jinja() })
            .render_str(&source, "limits", &[("x", Value::from(1))])
            .map_err(|error| (error.kind, error.message.clone()))
    })
    .join()
    .expect("no template makes it panic")
}

fn refused(source: impl Into<String>) {
    let source = source.into();
    let shown: String = source.chars().take(60).collect();
    let (kind, message) = render(source).expect_err(&shown);
    assert!(matches!(kind, ErrorKind::Limit | ErrorKind::Syntax), "{shown}: {message}");
}

#[test]
fn deep_expressions_are_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{1:", "}"), ("-", ""), ("not ", ""), ("x if x else ", "")] {
        refused(format!("{{{{ {}1{} }}}}", open.repeat(100_000), close.repeat(100_000)));
    }
    for more in ["+1", "*1", "**1", ".a", "[0]", "()", "|abs", " is defined", " if x", "(x)"] {
        refused(format!("{{{{ x{} }}}}", more.repeat(100_000)));
    }
    for flat in ["~1", " or x", " and x", ",1", " < 2"] {
        render(format!("{{{{ (x{},) }}}}", flat.repeat(10_000))).expect(flat);
    }
}

#[test]
fn deep_statements_are_refused() {
    for (open, close) in [
        ("{% if x %}", "{% endif %}"),
        ("{% for a in [1] %}", "{% endfor %}"),
        ("{% with %}", "{% endwith %}"),
        ("{% set a %}", "{% endset %}"),
        ("{% macro m() %}", "{% endmacro %}"),
        ("{% call x() %}", "{% endcall %}"),
        ("{% filter upper %}", "{% endfilter %}"),
        ("{% autoescape x %}", "{% endautoescape %}"),
    ] {
        refused(format!("{}{}", open.repeat(20_000), close.repeat(20_000)));
    }
    render(format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(20_000))).expect("elif doesn't nest");
}

#[test]
fn as_deep_as_allowed_fits_the_stack() {
    let nested = 90;
    for (open, close) in [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("x if x else ", "")] {
        render(format!("{{{{ {}1{} }}}}", open.repeat(nested), close.repeat(nested))).expect(open);
    }
    for (open, close) in [
        ("{% if x %}", "{% endif %}"),
        ("{% for a in [1] %}", "{% endfor %}"),
        ("{% set a %}", "{% endset %}"),
        ("{% filter upper %}", "{% endfilter %}"),
    ] {
        render(format!("{}{}", open.repeat(nested), close.repeat(nested))).expect(open);
    }
}

#[test]
fn endless_recursion_is_refused() {
    for source in [
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m() %}{% if x %}{% for a in [1] %}{{ [m() ~ 'x']|join|upper }}{% endfor %}{% endif %}{% endmacro %}{{ m() }}",
        "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
        "{% macro m() %}{% call m() %}{% endcall %}{{ caller() }}{% endmacro %}{% call m() %}{% endcall %}",
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% block b %}{{ self.b() }}{% endblock %}",
        "{% macro m() %}{% set y %}{% filter upper %}{% with a = m() %}{% endwith %}{% endfilter %}{% endset %}{% endmacro %}{{ m() }}",
        "{% macro m() %}{{ [1]|map('string')|map(attribute=m())|list }}{% endmacro %}{{ m() }}",
    ] {
        refused(source);
    }
}

#[test]
fn values_may_nest_without_a_stack() {
    let source = "{% set ns = namespace(l=[], t=(), d={}, f=none) %}{% for i in range(200000) %}\
        {% set ns.l = [ns.l] %}{% set ns.t = (ns.t, 1) %}{% set ns.d = {'a': ns.d} %}\
        {% set ns.f = [ns.f].append %}{% endfor %}done";
    assert_eq!(render(source.to_owned()).expect("it is only deep"), "done");
    for use_it in ["{{ ns.l }}", "{{ ns.l == ns.m }}", "{{ ns.l|pprint }}", "{{ ns.t in [ns.u] }}"] {
        refused(format!(
            "{{% set ns = namespace(l=[], m=[], t=(), u=()) %}}{{% for i in range(5000) %}}{{% set ns.l = [ns.l] %}}\
             {{% set ns.m = [ns.m] %}}{{% set ns.t = (ns.t,) %}}{{% set ns.u = (ns.u,) %}}{{% endfor %}}{use_it}"
        ));
    }
    for use_it in ["{{ {ns.t: 1} }}", "{{ [ns.t]|unique|list }}", "{{ ns.t < ns.u }}"] {
        refused(format!(
            "{{% set ns = namespace(t=(), u=()) %}}{{% for i in range(100000) %}}{{% set ns.t = (ns.t,) %}}\
             {{% set ns.u = (ns.u,) %}}{{% endfor %}}{use_it}"
        ));
    }
    assert_eq!(render("{% set l = [] %}{% do l.append(l) %}{{ l }}".into()).expect("Python prints it"), "[[...]]");
}

#[test]
fn few_values_with_many_paths_are_refused() {
    for use_it in [
        "{{ ns.l }}",
        "{{ ns.l == ns.m }}",
        "{{ ns.l < ns.m }}",
        "{{ ns.l|pprint }}",
        "{{ ns.l|tojson }}",
        "{{ {ns.t: 1} }}",
        "{{ '%s' % (ns.t,) }}",
    ] {
        refused(format!(
            "{{% set ns = namespace(l=[1], m=[1], t=(1,)) %}}{{% for i in range(60) %}}{{% set ns.l = [ns.l, ns.l] %}}\
             {{% set ns.m = [ns.m, ns.m] %}}{{% set ns.t = (ns.t, ns.t) %}}{{% endfor %}}{use_it}"
        ));
    }
}

#[test]
fn large_values_are_refused() {
    for source in [
        "{{ 'a' * 10 ** 12 }}",
        "{{ [1] * 10 ** 12 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ (10 ** 100000) ** 100000 }}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set l = [1] %}{% for i in range(60) %}{% do l.extend(l) %}{% endfor %}",
        "{% set l = [1] %}{% for i in l %}{% do l.append(1) %}{% endfor %}",
        "{% set ns = namespace(n=7) %}{% for i in range(60) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(100000) %}{% for b in range(100000) %}aaaaaaaaaaaaaaaaaaaa{% endfor %}{% endfor %}",
        "{{ 'a'.center(10 ** 12) }}",
        "{{ 'a'.zfill(10 ** 12) }}",
        "{{ '%1000000000000d' % 1 }}",
        "{{ '%.*f' % (1000000000000, 1) }}",
        "{{ '{:1000000000000}'.format(1) }}",
        "{{ 'a'|center(10 ** 12) }}",
        "{{ 'a\nb'|indent(10 ** 12) }}",
        "{{ ('a' * 100000).replace('a', 'a' * 100000) }}",
        "{{ ('a' * 100000)|replace('', 'a' * 100000) }}",
        "{{ ('a' * 100000).join(range(100000)|map('string')) }}",
        "{{ range(10 ** 12)|list }}",
        "{{ [1]|batch(10 ** 12, 0)|list }}",
        "{{ [1]|slice(10 ** 12)|list }}",
        "{{ '\t'.expandtabs(10 ** 12) }}",
        "{{ lipsum(n=10 ** 9) }}",
    ] {
        let start = std::time::Instant::now();
        refused(source);
        assert!(start.elapsed().as_secs() < 20, "{source} took {:?}", start.elapsed());
    }
}

#[test]
fn limits_can_be_set() {
    let limits = RenderLimits { steps: 1000, ..RenderLimits::default() };
    let environment = Environment::new(Options { limits, ..Options::jinja() });
    let error = environment.render_str("{% for i in range(5000) %}{% endfor %}", "steps", &[]).expect_err("too long");
    assert_eq!(error.kind, ErrorKind::Limit);
}
