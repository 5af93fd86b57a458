"""Undefined values in the three modes."""

EXPRESSIONS = [
    "{{ missing }}", "[{{ missing }}]", "{{ missing.attribute }}", "{{ missing['item'] }}", "{{ missing() }}", "{{ missing.a.b }}",
    "{{ d.nosuch }}", "{{ d['nosuch'] }}", "{{ d.nosuch.deeper }}", "{{ d.nosuch.deeper.still }}", "{{ l[7] }}", "{{ l.nosuch }}", "{{ n.nosuch }}", "{{ s.nosuch }}", "{{ s[50] }}", "{{ none.x }}",
    "{{ d.nosuch() }}", "{{ s.nosuch() }}", "{{ d[5] }}", "{{ d[none] }}", "{{ l['x'] }}", "{{ d.a.nosuch }}", "{{ d.a.b.nosuch }}",
    "{{ missing + 1 }}", "{{ 1 + missing }}", "{{ missing ~ 'x' }}", "{{ missing == 1 }}", "{{ missing == missing }}", "{{ missing != 1 }}", "{{ missing < 1 }}", "{{ -missing }}", "{{ missing * 2 }}", "{{ 'x' * missing }}",
    "{{ missing in [1] }}", "{{ 1 in missing }}", "{{ not missing }}", "{{ missing and 1 }}", "{{ missing or 1 }}", "{{ 1 if missing else 2 }}", "{% if missing %}a{% else %}b{% endif %}", "{% if not missing %}a{% endif %}",
    "{% for x in missing %}a{% else %}none{% endfor %}", "{{ missing|list }}", "{{ missing|length }}", "{{ missing|join(',') }}", "{{ missing|upper }}", "{{ missing|int }}", "{{ missing|string }}", "{{ missing|sort }}", "{{ missing|tojson }}", "{{ missing|first }}", "{{ missing|replace('a', 'b') }}", "{{ missing|map('upper')|list }}",
    "{{ missing is defined }}{{ missing is undefined }}{{ d.nosuch is defined }}{{ missing is not defined }}", "{{ missing is none }}{{ missing is string }}{{ missing is iterable }}", "{{ missing is sameas none }}", "{{ missing is mapping }}{{ missing is number }}", "{{ missing is eq 1 }}",
    "{{ missing|default('d') }}{{ d.nosuch|default('e') }}{{ missing|d }}", "{{ missing.x|default('d') }}", "{{ d.nosuch.x|default('d') }}", "{{ (missing.x).y is defined }}",
    "{% set x = missing %}ok", "{% set x = missing %}{{ x }}", "{% set x = missing.y %}", "{{ [missing] }}", "{{ {'a': missing} }}", "{{ (missing,) }}", "{{ [missing, 1]|length }}", "{{ [1, missing]|join(',') }}", "{{ {missing: 1} }}",
    "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m() }}", "{% macro m(a) %}[{{ a is defined }}]{% endmacro %}{{ m() }}{{ m(missing) }}", "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}",
    "{{ 'x' if false }}", "{{ ('x' if false) is defined }}", "{{ ('x' if false).y }}", "{{ ('x' if false) ~ 'z' }}", "{{ ['x' if false] }}",
    "{{ '%s' % missing }}", "{{ '{}'.format(missing) }}", "{{ 'a'.join(missing) }}", "{{ d.get(missing) }}", "{{ d.get('nosuch').x }}", "{{ d[missing] }}", "{{ l[missing] }}", "{{ range(missing) }}", "{{ missing[1:2] }}",
    "{{ loop.index }}", "{% for x in [1] %}{{ loop.nosuch }}{% endfor %}", "{% for x in [1] %}{{ loop.nextitem }}{% endfor %}", "{{ []|first }}", "{{ [] | max }}", "{{ []|last|upper }}",
    "{% do d.update({'z': missing}) %}{{ d.z is defined }}", "{% do missing.append(1) %}", "{% set ns = namespace() %}{{ ns.nosuch }}", "{{ d.items.nosuch }}", "{{ m.nosuch }}",
]

CONTEXT = {"d": {"a": {"b": 1}}, "l": [1], "n": 5, "s": "text"}
CASES = [
    {"template": template, "context": CONTEXT if any(name in template for name in ("d.", "d[", "l[", "l.", "n.", "s.", "s[")) else {}, "options": {"undefined": mode} if mode != "lenient" else {}}
    for template in EXPRESSIONS
    for mode in ("lenient", "strict")
] + [
    {"template": template, "context": CONTEXT, "options": {"undefined": "chainable"}}
    for template in ["{{ missing.a.b.c }}|{{ d.x.y.z }}|{{ missing['a']['b'] }}", "{{ missing.a|default('d') }}", "{{ missing.a() }}", "{{ missing.a + 1 }}", "{% for x in missing.a.b %}{% else %}none{% endfor %}", "{{ missing.a is defined }}{{ d.a.b.c.d is defined }}"]
]
