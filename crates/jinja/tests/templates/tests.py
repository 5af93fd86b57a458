"""Every test (`is …`), with values of all kinds."""

VALUES = ["1", "0", "-3", "2.5", "true", "none", "''", "'text'", "'TEXT'", "[]", "[1]", "()", "{}", "{'a': 1}", "range(2)", "missing", "10 ** 20", "'x'.encode()", "'x'|safe"]
PLAIN = ["boolean", "callable", "defined", "escaped", "false", "float", "integer", "iterable", "lower", "mapping", "none", "number", "sequence", "string", "true", "undefined", "upper"]

CASES = [" ".join(f"{{{{ ({value}) is {test} }}}}" for value in VALUES) for test in PLAIN] + [
    "{{ 4 is even }} {{ 3 is even }} {{ 3 is odd }} {{ 0 is odd }} {{ -1 is odd }} {{ 2.0 is even }} {{ true is odd }} {{ 10 is divisibleby 3 }} {{ 9 is divisibleby(3) }} {{ (10 ** 30) is divisibleby 10 }}",
    "{{ 'a' is odd }}",
    "{{ 'abc%s' is even }}",
    "{{ 1 is divisibleby 0 }}",
    "{{ 1 is eq 1 }} {{ 1 is equalto 1.0 }} {{ 1 is == 1 }}",
    "{{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is lessthan 2 }} {{ 1 is le 1 }} {{ 2 is gt 1 }} {{ 2 is greaterthan(3) }} {{ 2 is ge 2 }}",
    "{{ 1 is sameas 1 }} {{ true is sameas true }} {{ 1 is sameas true }} {{ none is sameas none }} {{ [] is sameas [] }} {{ 1 is sameas 1.0 }}",
    "{% set a = [1] %}{% set b = a %}{{ a is sameas b }} {{ a is sameas [1] }} {{ a is sameas(a) }}",
    "{{ 'a' is in 'cat' }} {{ 1 is in [1] }} {{ 1 is not in [1] }} {{ 'k' is in {'k': 1} }} {{ 1 is in((1, 2)) }}",
    "{{ 'upper' is filter }} {{ 'nosuch' is filter }} {{ 'defined' is test }} {{ 'nosuch' is test }} {{ 5 is filter }}",
    "{{ 'upper' is filter and 'x'|upper }}{{ 'x'|nosuch if 'nosuch' is filter else 'fallback' }}",
    "{% if 'nosuch' is test %}{{ 1 is nosuch }}{% else %}no{% endif %}",
    "{{ 1 is nosuch }}",
    "{{ 1 is nosuch if false else 'x' }}",
    "{{ 1 is number is true }}",
    "{{ 1 is lt }}",
    "{{ 1 is lt('a') }}",
    "{{ 5 is in 5 }}",
    "{{ a.b is defined }}",
    ("{{ a.b is defined }} {{ a['c'] is undefined }} {{ a.b.c is undefined }}", {"a": {"b": 1}}),
    "{{ not 1 is string }} {{ 1 is not string }} {{ (1 is not string) }} {{ 1 is not defined }} {{ x is not defined or 1 }}",
    "{{ 'x' is string and 'y' is string }} {{ 'x' is string or missing.y }} {{ 1 is string == false }}",
    "{{ 3 is divisibleby 3 and 4 is divisibleby 2 }} {{ 'yes' if 3 is gt 2 else 'no' }} {{ [1 is odd, 2 is odd] }} {{ 1 is odd ~ 'x' }}",
    "{% macro m() %}{% endmacro %}{{ m is callable }} {{ m is defined }} {{ m is string }} {{ range is callable }} {{ 'x'.upper is callable }} {{ namespace() is mapping }}",
    "{{ [1, 'a', none, 2.5]|select('number')|list }} {{ [[], 'a', {}]|select('mapping')|list }} {{ [1, 2]|select('sameas', 1)|list }}",
    "{% if x is defined %}a{% elif y is not defined %}b{% endif %} {% for i in [1, 2, 3] if i is odd %}{{ i }}{% endfor %}",
    "{{ {'a': 1}.items() is iterable }} {{ {'a': 1}.keys() is sequence }} {{ [1]|map('upper') is iterable }} {{ [1]|map('upper') is sequence }} {{ loop is defined }}",
    "{{ 'a' is lower }} {{ 'a1' is lower }} {{ '1' is lower }} {{ 'É' is upper }} {{ 5 is upper }}",
    "{{ 1 is integer }} {{ true is integer }} {{ 1.0 is integer }} {{ true is number }} {{ 1 is float }} {{ true is boolean }} {{ 1 is boolean }} {{ 1 is true }} {{ 'true' is true }}",
]
