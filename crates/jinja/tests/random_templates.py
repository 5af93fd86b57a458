#!/usr/bin/env python3
"""Writes random templates with the output of the real Jinja2, to find unexpected differences.

    python3 random_templates.py SEED COUNT FOLDER
    JINJA_FOLDER=FOLDER cargo test -p rocksalt-jinja --test suite

Add the differences to templates/ by hand.
"""

import json
import pathlib
import random
import re
import signal
import sys

import generate

CONTEXT = {
    "n": 5,
    "s": "some Text here",
    "l": [3, 1, 2],
    "d": {"b": 1, "a": "x"},
    "nested": {"k": [{"v": 1, "w": "z"}, {"v": 2, "w": "y"}], "m": {}},
    "rows": [{"v": 1, "w": "z", "on": True}, {"v": 2, "w": "y"}, {"v": 1, "w": "Z"}],
    "words": ["b", "A", "c", "a"],
}

# The expressions for each kind of value; `STR`, `NUM`, `LIST`, `DICT` and `ANY` are placeholders for others.
GRAMMAR = {
    "STR": [
        "''", "'a'", "'hello world'", "'A,b;c'", "'  pad '", "'12'", "'é日'", "'x\\ny'", "\"it's\"", "s", "'%s' % (ANY,)", "'%r' % (ANY,)",
        "'%05.1f|%d' % (NUM, NUM)", "'{}:{!r}'.format(ANY, ANY)", "'{:>8}|{:<6}|{:^7}'.format(STR, NUM, STR)", "'{0:+} {0}'.format(NUM)",
        "STR ~ ANY", "STR + STR", "STR * 2", "STR[1:]", "STR[::-1]", "STR[:3]", "STR[-2:]", "STR|upper", "STR|lower", "STR|title", "STR|capitalize",
        "STR|trim", "STR|replace('a', STR)", "STR|center(9)", "STR|truncate(5, true)", "STR|indent(2)", "STR|wordwrap(6)", "STR|reverse", "STR|escape", "STR|urlencode",
        "STR|striptags", "STR.upper()", "STR.strip()", "STR.title()", "STR.swapcase()", "STR.replace(STR, 'z', 1)", "STR.zfill(4)", "STR.center(7, '*')", "STR.ljust(6, '.')", "STR.join(words)",
        "STR.partition('a')[0]", "STR.rpartition(' ')[2]", "STR.removeprefix('a')", "STR.capitalize()", "STR.expandtabs(3)", "LIST|join('-')", "LIST|join", "ANY|string", "ANY|tojson", "ANY|pprint", "NUM|filesizeformat",
        "DICT|xmlattr", "(STR if ANY else STR)", "STR|default('d', true)", "LIST|map('string')|join('+')", "words|first", "words|last", "STR.lstrip('ah')", "STR.casefold()", "STR|e|upper",
    ],
    "NUM": [
        "0", "1", "-1", "2", "7", "10", "3.5", "-0.5", "1e3", "10 ** 20", "255", "n", "NUM + NUM", "NUM - NUM", "NUM * NUM", "NUM // 3", "NUM % 7", "NUM / 4", "-(NUM)", "NUM|abs", "NUM|round", "NUM|round(1)", "NUM|round(0, 'ceil')", "NUM|int",
        "NUM|float", "STR|int", "STR|float", "STR|length", "LIST|length", "DICT|length", "STR.count('a')", "STR.find('l')", "STR.rfind(' ')", "l|sum", "l|max", "rows|sum(attribute='v')", "STR|wordcount", "(NUM if ANY else NUM)", "l.index(1)", "l.count(3)", "(NUM, NUM)|max",
    ],
    "LIST": [
        "[]", "[ANY]", "[ANY, ANY]", "[NUM, NUM, NUM]", "[STR, STR]", "(ANY, ANY)|list", "l", "words", "LIST + LIST", "LIST * 2", "LIST[1:]", "LIST[::-1]", "LIST[:2]", "LIST|list", "LIST|reverse|list", "words|sort", "words|sort(reverse=true)", "words|sort(case_sensitive=true)",
        "words|unique|list", "LIST|batch(2)|list", "LIST|batch(3, 'f')|list", "LIST|slice(2)|list", "LIST|select|list", "LIST|reject('none')|list", "LIST|select('string')|list", "LIST|select('number')|list", "words|map('upper')|list", "rows|map(attribute='v')|list", "rows|map(attribute='on', default='-')|list",
        "rows|selectattr('v', 'gt', 1)|map(attribute='w')|list", "rows|rejectattr('on', 'defined')|list", "rows|groupby('v')|map('first')|list", "rows|sort(attribute='w')|map(attribute='w')|list", "STR|list", "STR.split()", "STR.split(',')", "STR.rsplit(' ', 1)", "STR.splitlines()",
        "DICT.keys()|list", "DICT.values()|list", "DICT.items()|list", "DICT|dictsort", "DICT|items|list", "range(4)|list", "range(5, 0, -2)|list", "(LIST if ANY else LIST)", "l|sort", "LIST|map('string')|list", "words|map('lower')|unique|list",
    ],
    "DICT": ["{}", "{'a': ANY}", "{STR: ANY, 'q': ANY}", "{1: ANY, none: 2}", "d", "nested", "nested.m", "DICT.copy()", "dict(a=ANY)", "dict(d, z=NUM)", "dict([('k', ANY)])", "(DICT if ANY else DICT)"],
    "BOOL": [
        "true", "false", "none", "not ANY", "ANY == ANY", "NUM < NUM", "NUM >= NUM", "STR <= STR", "ANY in LIST", "STR in STR", "STR not in DICT", "ANY is string", "ANY is not none", "NUM is odd", "NUM is even", "ANY is mapping", "ANY is iterable", "ANY is sequence", "ANY is number", "missing is defined",
        "d.zz is undefined", "ANY is sameas ANY", "NUM is divisibleby 3", "STR is lower", "STR.startswith('a')", "STR.endswith(STR)", "STR.isdigit()", "STR.isalnum()", "ANY and ANY", "ANY or ANY", "ANY is eq ANY", "NUM is in l", "1 < NUM < 8", "ANY is boolean", "ANY is callable", "ANY is escaped",
    ],
}


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, choices):
        return self.random.choice(choices)

    def expression(self, depth, kind=None):
        kind = kind or self.one(list(GRAMMAR))
        forms = GRAMMAR[kind]
        if depth <= 0:
            forms = [form for form in forms if not re.search("[A-Z]{3,}", form)]

        def inner(match):
            wanted = None if match.group() == "ANY" else match.group()
            return "(" + self.expression(depth - 1, wanted) + ")"

        return re.sub("ANY|STR|NUM|LIST|DICT", inner, self.one(forms))

    def statement(self, depth):
        kind = self.random.randrange(10) if depth > 0 else self.random.randrange(2)
        space = self.one(["", " ", "\n", "  \n  "])
        dash = self.one(["", "", "-"])
        if kind == 0:
            return self.one(["text", "a b", "\n", "x\n  y", "- item: "]) + space
        if kind in (1, 2, 3):
            return f"{{{{ {self.expression(3)} {dash}}}}}" + space
        inner = self.statements(depth - 1)
        if kind == 4:
            return f"{{%{dash} if {self.expression(2)} %}}{inner}{{% else %}}{self.statements(depth - 1)}{{% endif {dash}%}}{space}"
        if kind == 5:
            return f"{{% for x in {self.expression(2, 'LIST')} {dash}%}}{space}{{{{ loop.index }}}}{{{{ x }}}}{inner}{{%{dash} else %}}none{{% endfor %}}"
        if kind == 6:
            name, kind = self.one([("n", "NUM"), ("s", "STR"), ("l", "LIST"), ("d", "DICT")])
            return f"{{% set {name} = {self.expression(2, kind)} {dash}%}}{space}"
        if kind == 7:
            return f"{{% set v %}}{inner}{{% endset %}}{{{{ v|{self.one(['upper', 'trim', 'length', 'list', 'indent'])} }}}}"
        if kind == 8:
            return f"{{% macro m(p, q={self.expression(1)}) %}}{{{{ p }}}}{inner}{{% endmacro %}}{{{{ m({self.expression(1)}) }}}}"
        return f"{{% with w = {self.expression(2)} %}}{{{{ w }}}}{inner}{{% endwith %}}"

    def statements(self, depth):
        return "".join(self.statement(depth) for _ in range(self.random.randrange(1, 4)))


def main(seed, count, folder):
    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    lines = []
    number = 0
    while len(lines) < count:
        number += 1
        maker = Maker(f"{seed}/{number}")
        template = maker.statements(2) if number % 2 else f"{{{{ {maker.expression(4)} }}}}"
        options = {"undefined": "strict"} if number % 3 == 0 else {}
        if number % 5 == 0:
            options.update(trim_blocks=True, lstrip_blocks=True)
        case = {"name": f"random:{number}", "template": template, "context": CONTEXT, "options": options}
        signal.alarm(2)
        try:
            case["output"] = generate.jinja_render(template, json.loads(json.dumps(CONTEXT)), {}, dict(options))
        except TimeoutError:
            continue
        except Exception as error:
            case["error"] = generate.described(error)
        finally:
            signal.alarm(0)
        if " at 0x" not in case.get("output", ""):
            lines.append(json.dumps(case))
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    pathlib.Path(folder, f"random-{seed}.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
