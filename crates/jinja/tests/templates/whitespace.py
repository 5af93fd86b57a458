"""Whitespace control: every mark at both ends of every construct, in every setting."""

MARKS = ["", "-", "+"]


def all_marks(start, body, end, around="  \n  "):
    """One template with the construct nine times, between letters."""
    text = []
    for left in MARKS:
        for right in MARKS:
            if start == "{{" and right == "+":
                right = ""
                body_here = body + " "
            else:
                body_here = body
            text.append(f"<{around}{start}{left} {body_here} {right}{end}{around}>")
    return "\n".join(text)


CASES = []
for trim in (False, True):
    for lstrip in (False, True):
        for keep in (False, True):
            options = {"trim_blocks": trim, "lstrip_blocks": lstrip, "keep_trailing_newline": keep}
            CASES.append({"template": all_marks("{%", "set x = 1", "%}") + "\n", "options": options})
            CASES.append({"template": all_marks("{#", "note", "#}", "\t\n\t") + "\n\n", "options": options})
        options = {"trim_blocks": trim, "lstrip_blocks": lstrip}
        CASES += [
            {"template": all_marks("{{", "1", "}}"), "options": options},
            {"template": "  {% if true %}  \n  yes\n  {% endif %}  \nend\n", "options": options},
            {"template": "a\n  {% for x in [1, 2] %}\n    - {{ x }}\n  {% endfor %}\nb", "options": options},
            {"template": "a {% if true %}\nb{% endif %} \n  {# c #}\n  {# d #} e\n", "options": options},
            {"template": "  {% raw %}  \n {{ raw }} \n  {% endraw %}  \nx", "options": options},
            {"template": "  {%- raw -%}  \n {{ raw }} \n  {%- endraw -%}  \nx", "options": options},
            {"template": "  {%+ raw %}  \n {{ raw }} \n  {%+ endraw +%}  \nx", "options": options},
            {"template": "a\r\n  {% set x = 1 %}\r\nb\rc\n{{ x }}\r\n", "options": options},
            {"template": "\n\n  {% if true -%}\n\n  x  \n\n  {%- endif %}\n\n", "options": options},
            {"template": "{% for i in range(3) -%}\n  {{ i }},\n{%- endfor %}|", "options": options},
            {"template": "text {% set a %}\n  body\n{% endset %} [{{ a }}]", "options": options},
            {"template": "{% macro m() %}\n  inner\n{{ caller() if caller }}{% endmacro %}\n[{{ m() }}]\n{% call m() %}\n x\n{% endcall %}", "options": options},
            {"template": "\t \t{% if 1 %}\t\n\tx\n\t\t{% endif %}\ty {% if 1 %} z{% endif %}\n", "options": options},
            {"template": "x\u00a0\n\u00a0{%- if 1 -%}\u00a0y\u2003\n{%- endif %}", "options": options,
             "note": "stripping takes all of Unicode's white space, lstrip_blocks only some"},
        ]
CASES += [
    "a\n", "a\n\n", "\n", "", " ", "a\r\n", "a\n \n",
    {"template": "a\nb\r\nc\rd\n", "options": {"newline_sequence": "\r\n"}},
    {"template": "a\nb\r\nc\rd\n", "options": {"newline_sequence": "\r", "keep_trailing_newline": True}},
    {"template": "{{ 'in\nside' }}\r\n{{ 'a\r\nb'|length }}", "options": {"newline_sequence": "\r\n"}},
    "a {{- ' b ' -}} c {{ 'd' -}}   \n\n  e",
    "a   {#- gone -#}   b",
    "{{-1}} {{ -1 }} {{- 1 }} {{ 1 -}} {{--1}}",
    "{%-if true-%} x {%-endif-%}",
    "{%if true%}{%set x=1%}{{x}}{%endif%}",
    "{%- for x in [1,2,3] %}\n{{ x }}\n{%- endfor %}",
    "{%\n  if\n  true\n%}x{%\nendif\n%}",
    "{{\n  1\n  +\n  2\n}}",
    "{% raw -%}   x   {%- endraw %}",
    "{% raw %}{{ a }}{% endraw %}{% raw %}{% b %}{% endraw %}{%raw%}{# c #}{%endraw%}",
    "- a\n{%- if false %}\n- b\n{%- endif %}\n- c\n{%- for x in ['d', 'e'] %}\n- {{ x }}\n{%- endfor %}\n- f\n",
    {"template": "# for x in [1, 2]\n  * {{ x }}\n# endfor\nend", "options": {"line_statement_prefix": "#"}},
    {"template": "% for x in [1, 2]:\n  {{ x }} ## note\n  % if x == 2:\n two\n  % endif\n% endfor\nend\n",
     "options": {"line_statement_prefix": "%", "line_comment_prefix": "##"}},
    {"template": "a ## comment\n## whole\nb\n", "options": {"line_comment_prefix": "##"}},
    {"template": "% set x = [1,\n  2,\n  3]\n{{ x }}", "options": {"line_statement_prefix": "%"}},
    {"template": "<% if true %>${ 1 + 1 }<# c #><% endif %>{{ raw }}",
     "options": {"block_start_string": "<%", "block_end_string": "%>", "variable_start_string": "${",
                 "variable_end_string": "}", "comment_start_string": "<#", "comment_end_string": "#>"}},
    {"template": "[[ 1 ]] [% if true %]x[% endif %] [# c #]",
     "options": {"block_start_string": "[%", "block_end_string": "%]", "variable_start_string": "[[",
                 "variable_end_string": "]]", "comment_start_string": "[#", "comment_end_string": "#]"}},
]
