"""Whole files in the manner of state trees and configuration templates."""

MAP = """{%- set defaults = {
  'Debian': {'pkg': 'nginx', 'service': 'nginx', 'conf': '/etc/nginx/nginx.conf', 'opts': {'workers': 2, 'log': true}},
  'RedHat': {'pkg': 'nginx', 'service': 'nginx', 'conf': '/etc/nginx.conf', 'opts': {'workers': 4}},
} %}
{%- set found = defaults.get(grains.os_family, defaults['Debian']) %}
{%- do found.opts.update(pillar.get('nginx', {}).get('opts', {})) %}
{%- set nginx = found %}
"""
GRAINS = {"os_family": "RedHat", "id": "web1.example.com", "ip4_interfaces": {"lo": ["127.0.0.1"], "eth0": ["10.0.0.5", "10.0.0.6"]}, "mem_total": 16000, "num_cpus": 4, "osmajorrelease": 9, "roles": ["web", "db"]}
PILLAR = {"nginx": {"opts": {"workers": 8, "user": "www"}}, "users": {"bob": {"uid": 1001, "keys": ["k1", "k2"], "sudo": True}, "al": {"uid": 1002}}}


def case(template, files=None, note=None, **context):
    return {"template": template, "files": files or {}, "context": {"grains": GRAINS, "pillar": PILLAR, **context}, "note": note, "options": {"undefined": "strict", "keep_trailing_newline": True}}


CASES = [
    case("{% from 'map.jinja' import nginx with context %}\n{{ nginx.pkg }}:\n  pkg.installed: []\n  service.running:\n    - name: {{ nginx.service }}\n    - watch:\n      - file: {{ nginx.conf }}\n{% for k, v in nginx.opts|dictsort %}\n# {{ k }}={{ v }}\n{%- endfor %}\n", {"map.jinja": MAP}),
    case("{%- from 'map.jinja' import nginx with context -%}\n{%- for key, value in nginx.items() if value is string %}\n{{ key.ljust(10) }}= {{ value }}\n{%- endfor %}\n", {"map.jinja": MAP}),
    case("{% for name, user in pillar.get('users', {})|dictsort %}\n{{ name }}:\n  user.present:\n    - uid: {{ user.uid }}\n    {%- if user.get('sudo') %}\n    - groups: [sudo]\n    {%- endif %}\n  {%- for key in user.get('keys', []) %}\n  ssh_auth.present:\n    - name: {{ key }}\n  {%- endfor %}\n{% endfor %}"),
    case("{% set ips = [] %}{% for iface, addrs in grains['ip4_interfaces'].items() %}{% if iface != 'lo' %}{% do ips.extend(addrs) %}{% endif %}{% endfor %}listen {{ ips|join(':80, ') }}:80;\n"),
    case("{% set ns = namespace(found=false) %}{% for r in grains.roles %}{% if r == 'db' %}{% set ns.found = true %}{% endif %}{% endfor %}{{ 'database' if ns.found else 'none' }}\n"),
    case("{%- set heap = (grains.mem_total * 0.5)|int %}\n-Xmx{{ heap }}m -Xms{{ [heap, 1024]|min }}m threads={{ grains['num_cpus'] * 2 }}\n"),
    case("{% macro vhost(name, port=80, aliases=[]) -%}\nserver {\n  listen {{ port }};\n  server_name {{ name }}{% for a in aliases %} {{ a }}{% endfor %};\n  {{ caller() if caller else '' }}\n}\n{%- endmacro %}\n{{ vhost('a.example') }}\n{% call vhost('b.example', 443, ['c', 'd']) %}ssl on;{% endcall %}\n", note="caller is looked at, so it must be there"),
    case("{{ grains.id.split('.')[0] }} {{ grains.id.split('.', 1)[1] }} {{ grains.id|replace('.', '-') }} {{ grains.id.endswith('.com') }} {{ 'web' in grains.id }} {{ grains.id[:4]|upper }}\n"),
    case("{%- set os = {'RedHat': 'yum', 'Debian': 'apt'}[grains.os_family] -%}\n{{ os }}{% if grains.osmajorrelease|int >= 8 and os == 'yum' %}/dnf{% endif %}\n"),
    case("{{ grains.get('nosuch', 'fallback') }} {{ grains['nosuch']|default('other') }} {{ pillar.get('nginx:opts') }} {{ pillar.nginx.opts.user }}\n"),
    case("{{ grains['nosuch'] }}\n"),
    case("a\nb\n{{ pillar.nginx.port }}\n"),
    case("{% for host in ['a', 'b', 'c'] -%}\nserver {{ host }}:{{ 8000 + loop.index }}{{ ' backup' if loop.last }}\n{% endfor -%}\nend\n"),
    case("{% if grains.os_family == 'Debian' %}\napt:\n{% elif grains.os_family in ('RedHat', 'Suse') %}\nrpm:\n{% else %}\nother:\n{% endif %}  test.nop\n"),
    case("{% set tplroot = tpldir.split('/')[0] %}{% from tplroot ~ '/map.jinja' import nginx with context %}{{ nginx.conf }}\n", {"web/map.jinja": MAP}, tpldir="web/config"),
    case("{%- macro section(name, values) %}\n[{{ name }}]\n{%- for k, v in values.items() %}\n{{ k }} = {% if v is sameas true %}yes{% elif v is sameas false %}no{% elif v is iterable and v is not string %}{{ v|join(', ') }}{% else %}{{ v }}{% endif %}\n{%- endfor %}\n{% endmacro -%}\n{{ section('main', {'a': true, 'b': false, 'c': [1, 2], 'd': 'x', 'e': 5}) }}{{ section('other', {}) }}"),
    case("{%- macro dump(d, level=0) -%}\n{%- for k, v in d|dictsort %}\n{{ '  ' * level }}{{ k }}:{% if v is mapping %}{{ dump(v, level + 1) }}{% else %} {{ v }}{% endif %}\n{%- endfor -%}\n{%- endmacro -%}\n{{ dump({'b': {'x': {'deep': 1}}, 'a': 2}) }}\n"),
    case("{% set config = {'a': {'b': 1}} %}{% set over = {'a': {'c': 2}, 'd': 3} %}{% for k, v in over.items() %}{% if v is mapping and k in config %}{% do config[k].update(v) %}{% else %}{% do config.update({k: v}) %}{% endif %}{% endfor %}{{ config }}\n"),
    case("{% set packages = ['vim', 'git'] + (['httpd'] if grains.os_family == 'RedHat' else ['apache2']) %}\n{% for p in packages|sort %}- {{ p }}\n{% endfor %}{{ packages|length }} packages, {{ packages|map('length')|max }} wide\n"),
    case("{%- set cron = '*/5 * * * *'.split() %}\n{%- set names = ['minute', 'hour', 'daymonth', 'month', 'dayweek'] %}\n{%- for i in range(5) %}\n- {{ names[i] }}: '{{ cron[i] }}'\n{%- endfor %}\n"),
    case("# {{ 'managed by salt'|upper }}\n{# not shown #}\n{% raw %}{{ template }} {% stays %}{% endraw %}\nport={{ pillar.get('port', 22) }}\n"),
    case("{% set x = pillar.get('nothing', {}) %}{{ x.get('y', {}).get('z', 'deep') }}{{ (x.y|default({})).z|default('d') }}\n"),
    case("{% for i in range(3) %}{% for j in range(3) %}{{ '%2d' % (i * j) }}{% endfor %}\n{% endfor %}"),
    case("{%- set l = pillar.users.keys()|list %}{% set d = dict(l|map('upper')|list|map('list')|map('first')|list|batch(2)|list) if false else {} %}{{ l|sort|join(' ') }} {{ d }}\n"),
    case("{% set parts = '1.22.3'.split('.')|map('int')|list %}{% if parts >= [1, 20] %}new{% else %}old{% endif %} {{ parts }} {{ (parts[0], parts[1]) > (1, 3) }}\n"),
    case("{% set hosts = {'a': {'ip': '10.0.0.1', 'tags': ['x']}, 'b': {'ip': '10.0.0.2'}} %}{% for n, h in hosts.items() %}{{ '%-15s %s' % (h.ip, n) }}{% if h.tags is defined %} # {{ h.tags|join(',') }}{% endif %}\n{% endfor %}"),
    case("{% set id = 'x' ~ loop_count|default(1) %}{{ id }}:\n  cmd.run:\n    - name: echo \"{{ id }}\" && test -n '{{ grains.id }}'\n    - env: {{ {'A': '1', 'B': grains.osmajorrelease} }}\n    - unless: {{ ['test -f /x', 'true'] }}\n"),
]
