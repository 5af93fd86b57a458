"""Every filter of Jinja2, each with several arguments and odd inputs."""

USERS = [
    {"name": "bob", "age": 30, "admin": True, "address": {"city": "Oslo"}},
    {"name": "Alice", "age": 25, "admin": False, "address": {"city": "Bergen"}},
    {"name": "carol", "age": 30, "admin": True, "address": {"city": "oslo"}},
]

CASES = [
    # abs
    "{{ -5|abs }} {{ (-5)|abs }} {{ (-2.5)|abs }} {{ true|abs }} {{ (-(10 ** 30))|abs }}",
    "{{ 'x'|abs }}",
    # attr
    "{{ 'x'|attr('upper') is callable }} {{ {'a': 1}|attr('a') is defined }} {{ ('abc'|attr('upper'))() }}",
    # batch
    "{{ [1,2,3,4,5]|batch(2)|list }} {{ [1,2,3,4,5]|batch(2, 'x')|list }} {{ []|batch(3)|list }} {{ 'abcd'|batch(3)|list }} {{ [1,2]|batch(5, none)|list }} {{ [1]|batch(3, 0)|list }}",
    "{% for row in range(7)|batch(3, '-') %}{{ row|join(' ') }};{% endfor %}",
    # capitalize
    "{{ 'hello WORLD'|capitalize }} {{ 'éa'|capitalize }} {{ ''|capitalize }}|{{ 42|capitalize }} {{ none|capitalize }} {{ 'ǆx'|capitalize }}",
    # center
    "[{{ 'x'|center(5) }}] [{{ 'ab'|center(5) }}] [{{ 'abc'|center(4) }}] [{{ 'long'|center(2) }}] [{{ 1|center(3) }}] [{{ 'ab'|center }}]",
    # count, length
    "{{ 'abc'|count }} {{ [1,2]|length }} {{ {'a': 1}|length }} {{ ()|length }} {{ range(10)|length }} {{ ''|length }}",
    "{{ 5|length }}",
    "{{ none|length }}",
    "{{ nothing|length }}",
    # default
    "{{ x|default('d') }} {{ x|d('d') }} {{ ''|default('d') }}| {{ ''|default('d', true) }} {{ none|default('d') }} {{ none|default('d', boolean=true) }} {{ 0|d(1, true) }} {{ x|default }}| {{ false|default(1) }}",
    ("{{ a.b|default('d') }} {{ a.c|default([]) }} {{ a['z']|d(a.b) }}", {"a": {"b": 1}}),
    "{{ missing.attribute|default('x') }}",
    # dictsort
    ("{{ d|dictsort }} {{ d|dictsort(true) }} {{ d|dictsort(false, 'value') }} {{ d|dictsort(reverse=true) }} {{ d|dictsort(by='value', reverse=true) }}", {"d": {"b": 3, "A": 1, "c": 2, "B": 0}}),
    "{{ {2: 'x', 1: 'y'}|dictsort }} {% for k, v in {'z': 1, 'y': 2}|dictsort %}{{ k }}={{ v }} {% endfor %}",
    "{{ {'a': 1}|dictsort(by='size') }}",
    "{{ {'a': 1, 2: 3}|dictsort }}",
    # escape, forceescape, safe
    "{{ '<a href=\"x\">&\\'</a>'|escape }} {{ '<'|e }} {{ 5|e }} {{ none|e }} {{ ['<']|e }} {{ '<'|escape|escape }} {{ '<'|escape|forceescape }} {{ '<'|safe|e }}",
    "{{ '<b>'|safe ~ '<i>' }} {{ ('<b>'|safe) + '<i>' }} {{ '<i>' + ('<b>'|safe) }} {{ ('<%s>'|safe) % '<' }} {{ ('<'|safe).upper() }} {{ ('{}'|safe).format('<') }}",
    {"template": "{{ '<' }}{{ '<'|safe }}{{ ['<'] }}{{ x }}{{ x ~ '>'|safe }}{% set y %}<b>{% endset %}{{ y }}{% macro m() %}<m>{% endmacro %}{{ m() }}", "context": {"x": "a & b"}, "options": {"autoescape": True}},
    {"template": "{% autoescape true %}{{ '<' }}{% endautoescape %}{{ '<' }}{% autoescape false %}{{ '<' }}{% endautoescape %}"},
    {"template": "{{ ['<', '>']|join('&') }} {{ 'a<b'|replace('<', '>') }} {{ '<x>'|upper }} {{ ('<'|safe)|replace('<', '&') }} {{ '<p>a</p>'|striptags }} {{ 'a\n<b'|indent }} {{ '<'|string }} {{ {'a': '<'}|xmlattr }}", "options": {"autoescape": True}},
    {"template": "{{ '<' ~ '>'|safe }}", "options": {"autoescape": True}},
    # filesizeformat
    "{{ 0|filesizeformat }} {{ 1|filesizeformat }} {{ 999|filesizeformat }} {{ 1000|filesizeformat }} {{ 1500000|filesizeformat }} {{ 1024|filesizeformat(true) }} {{ 1048576|filesizeformat(binary=true) }} {{ '123456'|filesizeformat }} {{ (10 ** 28)|filesizeformat }} {{ -5|filesizeformat }}",
    "{{ 'big'|filesizeformat }}",
    # first, last
    "{{ [1,2]|first }} {{ 'abc'|first }} {{ {'k': 1}|first }} {{ []|first }}| {{ (9, 8)|last }} {{ 'abc'|last }} {{ []|last }}| {{ range(3)|last }} {{ range(3)|first }} {{ [[1], [2]]|first|first }}",
    "{{ []|first|default('none') }} {{ ''|last is undefined }}",
    # float
    "{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(2) }} {{ none|float }} {{ 3|float }} {{ '1e3'|float }} {{ ' 2 '|float }} {{ true|float }} {{ 'inf'|float }} {{ 'nan'|float }} {{ '-Infinity'|float }} {{ '1_000.5'|float }} {{ []|float }}",
    # format
    "{{ '%s-%s'|format(1, 'x') }} {{ '%05.2f'|format(3.14159) }} {{ '%(a)s'|format(a=1) }} {{ '%%'|format() }} {{ 'x%sy'|format([1]) }}",
    "{{ '%s'|format(1, a=2) }}",
    "{{ '%s %s'|format(1) }}",
    # groupby
    ("{% for g in users|groupby('age') %}{{ g.grouper }}:{{ g.list|map(attribute='name')|join(',') }} {% endfor %}", {"users": USERS}),
    ("{% for age, list in users|groupby('address.city') %}{{ age }}:{{ list|length }} {% endfor %}", {"users": USERS}),
    ("{% for c, list in users|groupby('address.city', case_sensitive=true) %}{{ c }}:{{ list|length }} {% endfor %}", {"users": USERS}),
    ("{% for c, list in users|groupby('team', default='none') %}{{ c }}:{{ list|length }} {% endfor %}", {"users": USERS}),
    ("{{ [[1, 'a'], [2, 'b'], [1, 'c']]|groupby(0) }} {{ [{'a': 1}]|groupby('a') }}", {}),
    ("{{ users|groupby('nosuch')|list }}", {"users": USERS}),
    # indent
    "{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb\n\nc'|indent(2) }}|{{ 'a\nb\n\nc'|indent(2, true) }}|{{ 'a\nb\n\nc'|indent(2, blank=true) }}|{{ 'a\nb'|indent('> ') }}|{{ 'a\nb'|indent(width='--', first=true) }}|{{ ''|indent }}|{{ 'a\n'|indent }}|{{ '\na'|indent(first=true) }}",
    "{{ 'a\r\nb\rc'|indent(1) }}|{{ 'x\u2028y\x0bz'|indent(1) }}",
    # int
    "{{ '42'|int }} {{ '42.9'|int }} {{ 'x'|int }} {{ 'x'|int(-1) }} {{ ''|int }} {{ none|int(5) }} {{ '0b11'|int(0, 2) }} {{ 'ff'|int(base=16) }} {{ '0o17'|int(base=8) }} {{ '0x1f'|int(base=0) }} {{ 3.9|int }} {{ -3.9|int }} {{ true|int }} {{ ' 7 '|int }} {{ '1_000'|int }} {{ '１２'|int }} {{ []|int }} {{ 1e20|int }}",
    "{{ '99999999999999999999999'|int }} {{ '99999999999999999999999.5'|int }} {{ '1e3'|int }} {{ 'inf'|int(3) }} {{ 'nan'|int(4) }} {{ '-5'|int }} {{ '+5'|int }} {{ '--5'|int }} {{ '5 5'|int }}",
    # items
    "{{ {'a': 1, 'b': 2}|items|list }} {{ x|items|list }} {% for k, v in {'q': 1}|items %}{{ k }}{{ v }}{% endfor %}",
    "{{ [1]|items|list }}",
    # join
    "{{ [1, 'a', none]|join }} {{ [1,2]|join(',') }} {{ 'abc'|join('-') }} {{ []|join(',') }}| {{ [1]|join(',') }} {{ {'a': 1, 'b': 2}|join('+') }} {{ (1,2)|join(3) }} {{ range(3)|join(' ') }}",
    ("{{ users|join(', ', attribute='name') }} {{ users|join('/', 'address.city') }} {{ [[1, 2], [3, 4]]|join('-', 1) }}", {"users": USERS}),
    "{{ 5|join(',') }}",
    # list
    "{{ 'abc'|list }} {{ {'a': 1}|list }} {{ range(3)|list }} {{ (1,)|list }} {{ []|list }} {{ x|list }}",
    "{{ 5|list }}",
    # lower, upper, title
    "{{ 'HeLLo Ä'|lower }} {{ 5|lower }} {{ none|lower }} {{ [1, 'A']|lower }} {{ 'x'|upper }} {{ 'straße'|upper }} {{ true|upper }}",
    "{{ \"hello wORLD it's o'neil-smith foo_bar 3rd (paren) [x] {y} <z>\"|title }} {{ ''|title }}|{{ 5|title }} {{ 'éa äb'|title }} {{ 'a\tb\nc'|title }} {{ 'x1y2'|title }}",
    # map
    ("{{ users|map(attribute='name')|list }} {{ users|map(attribute='address.city')|join(',') }} {{ users|map(attribute='nosuch', default='-')|list }} {{ users|map(attribute='nosuch')|list }}", {"users": USERS}),
    "{{ ['a', 'b']|map('upper')|list }} {{ [1, 2]|map('string')|join }} {{ ['a,b', 'c']|map('replace', ',', ';')|list }} {{ ['1', '2']|map('int')|sum }} {{ [[1, 2], [3]]|map('length')|list }} {{ [[3, 1]]|map('sort', reverse=true)|list }}",
    "{{ [[1, 2], [3, 4]]|map(attribute=0)|list }} {{ [[1, 2], [3, 4]]|map(attribute='1')|list }} {{ 'abc'|map('upper')|list }} {{ []|map('upper')|list }} {{ nothing|map('upper')|list }}",
    "{{ [1]|map|list }}",
    "{{ [1]|map('nosuch')|list }}",
    "{{ [1]|map('upper', wrong=1)|list }}",
    "{{ [{'a': 1}]|map(attribute='a', wrong=1)|list }}",
    # max, min
    "{{ [3, 1, 2]|max }} {{ ['b', 'A', 'c']|max }} {{ ['b', 'A', 'c']|min }} {{ ['b', 'A']|min(true) }} {{ []|max }}| {{ 'hello'|max }} {{ [1, 2.5]|max }} {{ {'a': 1, 'b': 0}|max }}",
    ("{{ (users|max(attribute='age')).name }} {{ (users|min(attribute='age')).name }} {{ users|map(attribute='age')|min }}", {"users": USERS}),
    "{{ [1, 'a']|max }}",
    # pprint
    "{{ {'b': 1, 'a': [1, 2, {'c': 'd'}]}|pprint }} {{ 'x'|pprint }} {{ [1]|pprint }} {{ none|pprint }} {{ 1.5|pprint }}",
    ("{{ data|pprint }}", {"data": {"alpha": ["a long string number one", "a long string number two", "a long string number three"], "beta": {"x": 1, "y": [1, 2, 3]}, "gamma": "g"}}),
    ("{{ data|pprint }}", {"data": [list(range(40)), {"k%02d" % i: i for i in range(12)}, "s" * 100]}),
    ("{{ data|pprint }}", {"data": ["word " * 30, {"key": "many words in a long text that has to be split over some lines because it is long"}]}),
    # random: only what is sure
    "{{ [5]|random }} {{ 'x'|random }} {{ []|random }}|{{ [1,2,3]|random in [1,2,3] }}",
    # reject, select, rejectattr, selectattr
    "{{ [1,2,3,4]|select('odd')|list }} {{ [1,2,3,4]|reject('odd')|list }} {{ [0, 1, '', 'a', none]|select|list }} {{ [0, 1, '', 'a', none]|reject|list }} {{ [1,2,3]|select('gt', 1)|list }} {{ [1,2,3]|select('in', [1, 3])|list }} {{ ['a', 1]|select('string')|list }} {{ [1,2,3]|select('divisibleby', 3)|list }}",
    "{{ [1,2,3,4,5]|reject('equalto', 3)|list }} {{ [1, 5, 3]|select('>=', 3)|list }} {{ [1, 5, 3]|select('==', 3)|list }} {{ ['a', 'b']|reject('in', ['a'])|list }} {{ [none, 1]|reject('none')|list }}",
    ("{{ users|selectattr('admin')|map(attribute='name')|list }} {{ users|rejectattr('admin')|map(attribute='name')|list }} {{ users|selectattr('age', 'equalto', 30)|list|length }} {{ users|selectattr('name', 'in', ['bob'])|map(attribute='age')|first }} {{ users|selectattr('address.city', 'eq', 'Oslo')|list|length }} {{ users|selectattr('nosuch', 'defined')|list }} {{ users|rejectattr('nosuch', 'undefined')|list }} {{ users|selectattr('age', '>', 26)|map(attribute='name')|join(' ') }}", {"users": USERS}),
    "{{ [1]|select('nosuch')|list }}",
    "{{ [1]|selectattr|list }}",
    # replace
    "{{ 'aaa'|replace('a', 'b') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ 'abc'|replace('', '-') }} {{ 'abc'|replace('x', 'y') }} {{ 123|replace(2, 'x') }} {{ 'a.b'|replace('.', '_') }} {{ 'aXbX'|replace('X', '', 1) }} {{ none|replace('N', 'n') }} {{ 'aa'|replace('a', 'b', count=1) }} {{ 'abc'|replace('', '-', 2) }}",
    "{{ 'a'|replace('a') }}",
    # reverse
    "{{ 'abc'|reverse }} {{ [1,2,3]|reverse|list }} {{ (1,2)|reverse|list }} {{ range(3)|reverse|list }} {{ {'a': 1, 'b': 2}|reverse|list }} {{ ''|reverse }}|{{ 'añ😀'|reverse }}",
    "{{ 5|reverse }}",
    # round
    "{{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(0, 'floor') }} {{ 2.561|round(2, 'ceil') }} {{ 1234|round(-2) }} {{ -2.5|round }} {{ (-2.5)|round }} {{ 2|round }} {{ 1.005|round(2) }} {{ 0.5|round|int }} {{ 2.675|round(2) }} {{ 42.55|round(1, method='floor') }} {{ 1e20|round }}",
    "{{ 1.5|round(0, 'up') }}",
    "{{ 'x'|round }}",
    # slice
    "{{ [1,2,3,4,5]|slice(2)|list }} {{ [1,2,3,4,5]|slice(3)|list }} {{ [1,2,3,4,5]|slice(3, 'x')|list }} {{ [1]|slice(3)|list }} {{ []|slice(2)|list }} {{ range(10)|slice(4, 0)|list }}",
    # sort
    "{{ [3,1,2]|sort }} {{ [3,1,2]|sort(true) }} {{ ['b','A','c','B']|sort }} {{ ['b','A','c','B']|sort(case_sensitive=true) }} {{ ['b','a']|sort(reverse=true) }} {{ 'hello'|sort }} {{ {'b': 1, 'a': 2}|sort }} {{ [1.5, 1, true]|sort }} {{ [(2, 'a'), (1, 'b')]|sort }} {{ [[2], [1, 5], [1]]|sort }}",
    ("{{ users|sort(attribute='name')|map(attribute='name')|list }} {{ users|sort(attribute='age,name')|map(attribute='name')|list }} {{ users|sort(true, attribute='age')|map(attribute='name')|list }} {{ users|sort(attribute='address.city', case_sensitive=true)|map(attribute='name')|list }} {{ [[1, 'b'], [0, 'c']]|sort(attribute=0) }}", {"users": USERS}),
    "{{ [1, 'a']|sort }}",
    "{{ [none, 1]|sort }}",
    "{{ [{'a': 1}, {'a': 0}]|sort }}",
    # string
    "{{ 1|string is string }} {{ none|string }} {{ ['a']|string|length }} {{ 'é'|string }} {{ 1.10|string }}",
    # striptags
    "{{ '<p>Hello  <b>World</b>\n again</p>'|striptags }} {{ 'a <!-- c <b> --> b'|striptags }} {{ '&lt;x&gt; &amp; &quot;'|striptags }} {{ 'a < b > c'|striptags }} {{ 5|striptags }} {{ '<a'|striptags }} {{ '&#65;&#x42;&nosuch;'|striptags }}",
    "{{ '&eacute;'|striptags }}",
    # sum
    "{{ [1,2,3]|sum }} {{ []|sum }} {{ [1.5, 2]|sum }} {{ [1]|sum(start=10) }} {{ range(101)|sum }} {{ [true, true]|sum }} {{ [[1], [2]]|sum(start=[]) }}",
    ("{{ users|sum(attribute='age') }} {{ users|sum('age', 5) }} {{ users|map(attribute='age')|sum }}", {"users": USERS}),
    "{{ ['a', 'b']|sum }}",
    "{{ ['a', 'b']|sum(start='') }}",
    # tojson
    "{{ {'b': [1, 2.5, none, true], 'a': 'x<y>&\\'\"'}|tojson }} {{ 'é😀\\n\\t\\x01'|tojson }} {{ []|tojson }} {{ {}|tojson }} {{ (1, 2)|tojson }} {{ 1e20|tojson }} {{ none|tojson }} {{ (10**25)|tojson }}",
    "{{ {'b': [1, {'c': []}], 'a': {}}|tojson(2) }}|{{ [1, 2]|tojson(indent=4) }}|{{ {1: 2.5, true: 4, 1.5: 3}|tojson }}",
    "{{ {(1, 2): 3}|tojson }}",
    "{{ {'a': nothing}|tojson }}",
    "{{ [1e400, 1e400 - 1e400]|tojson }}",
    # trim
    "[{{ '  x y  '|trim }}] [{{ 'xxaxx'|trim('x') }}] [{{ '\n\t x'|trim }}] [{{ 'abcba'|trim('ab') }}] [{{ 5|trim }}] [{{ '\u00a0x\u2003'|trim }}] [{{ 'x'|trim(chars='x') }}]",
    # truncate
    "{{ 'hello big wide world'|truncate(9) }} {{ 'hello big wide world'|truncate(9, true) }} {{ 'hello big wide world'|truncate(11, false, '…') }} {{ 'hello world'|truncate(10) }} {{ 'hello world'|truncate(10, leeway=0) }} {{ 'hello'|truncate(5) }} {{ 'abcdefgh'|truncate(3, true, '', 0) }} {{ 'foo bar baz qux'|truncate(11, False, '...', 0) }}",
    "{{ 'hello world, this is a long text'|truncate(2) }}",
    # unique
    "{{ ['a', 'b', 'A', 'a']|unique|list }} {{ ['a', 'A']|unique(true)|list }} {{ [1, 1.0, true, 2]|unique|list }} {{ 'hello'|unique|join }}",
    ("{{ users|unique(attribute='age')|map(attribute='name')|list }} {{ users|unique(attribute='address.city')|list|length }}", {"users": USERS}),
    # urlencode, urlize
    "{{ 'a b&c/d?e=é'|urlencode }} {{ {'a': 1, 'b c': 'd&e'}|urlencode }} {{ [('x', 'y z')]|urlencode }} {{ 5|urlencode }} {{ '~-_.!*()'|urlencode }} {{ '/path/x y'|urlencode }}",
    "{{ 'see http://example.com/x?y=1 and www.example.org, or mail me@example.com.'|urlize }} {{ 'https://example.com'|urlize(nofollow=true) }} {{ 'http://example.com/a/very/long/path'|urlize(20) }} {{ 'http://x.org'|urlize(target='_blank') }} {{ '(http://x.org)'|urlize(rel='me') }} {{ 'no link here'|urlize }}",
    "{{ 'mailto:a@b.cc tel:123 ftp:x example.com <http://x.org>'|urlize }} {{ 'tel:123'|urlize(extra_schemes=['tel:']) }}",
    "{{ 'foo.example.net:80'|urlize }}",
    # wordcount, wordwrap
    "{{ 'one two  three-four it\\'s'|wordcount }} {{ ''|wordcount }} {{ 5|wordcount }} {{ 'é ü_1'|wordcount }}",
    "{{ 'the quick brown fox jumps over the lazy dog'|wordwrap(15) }}|{{ 'averyveryverylongword short'|wordwrap(10) }}|{{ 'averyveryverylongword short'|wordwrap(10, false) }}|{{ 'a b c d'|wordwrap(3, wrapstring='/') }}|{{ 'keep\nlines here'|wordwrap(20) }}|{{ 'split-on-hyphens-here please'|wordwrap(12) }}|{{ 'split-on-hyphens-here please'|wordwrap(12, break_on_hyphens=false) }}",
    "{{ 'c-b-A-a x-y-z'|wordwrap(6) }}|{{ 'a1-b2-cc-dd'|wordwrap(5) }}|{{ 'well-known-thing here'|wordwrap(8) }}|{{ 'one--two three'|wordwrap(6) }}|{{ '  lead and trail  '|wordwrap(8) }}|{{ 'tab\there and there'|wordwrap(8) }}",
    # xmlattr
    "<ul{{ {'class': 'a b', 'id': none, 'data-x': 1, 'title': '\"<>\"', 'u': nothing}|xmlattr }}> <a{{ {'x': 1}|xmlattr(false) }}> <{{ {}|xmlattr }}>",
    "{{ {'a b': 1}|xmlattr }}",
    # no such filter, wrong arguments
    "{{ 1|nosuchfilter }}",
    "{% if false %}{{ 1|nosuchfilter }}{% endif %}ok",
    "{{ 1|nosuchfilter if false else 'x' }}",
    "{{ 'x'|upper(1) }}",
    "{{ 'x'|center('a') }}",
    "{{ 'x'|default(1, 2, 3) }}",
    "{{ 'x'|replace(old='x', new='y') }}",
    "{{ 'x'|trim(characters='x') }}",
    # chained and in statements
    "{% filter upper %}a {{ 'b' }} c{% endfilter %} {% filter replace('a', 'b')|upper %}banana{% endfilter %} {% filter indent(2, true) %}x\ny{% endfilter %}",
    "{% set x | upper | replace('A', '4') %}aba{% endset %}{{ x }}",
    "{% for x in [3, 1, 2]|sort|reverse %}{{ x }}{% endfor %} {% if [0, 0]|sum == 0 %}zero{% endif %}",
    ("{{ users|rejectattr('admin')|map(attribute='name')|map('lower')|sort|join(', ')|default('none', true) }} {{ (users|selectattr('age', 'lt', 10)|list) or 'nobody' }}", {"users": USERS}),
]
