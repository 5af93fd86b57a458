#!/usr/bin/env python3
"""Writes random templates with what the real Jinja2 makes of them, to find differences nobody thought of.

    python3 random_templates.py SEED COUNT FOLDER
    JINJA_FOLDER=FOLDER cargo test -p rocksalt-jinja --test cases

What is found belongs into templates/, by hand.
"""

import json
import pathlib
import random
import signal
import sys

import generate

STRINGS = ["''", "'a'", "'hello world'", "'A,b;c'", "'  pad '", "'12'", "'3.5'", "'é日'", "'x\\ny'", "'%s-%d'", "'{}:{}'", "\"it's\""]
NUMBERS = ["0", "1", "-1", "2", "7", "10", "3.5", "-0.5", "1e3", "10 ** 20", "true", "255"]
NAMES = ["n", "s", "l", "d", "nested", "missing", "t", "none", "false"]
CONTEXT = {"n": 5, "s": "some Text here", "l": [3, 1, 2], "d": {"b": 1, "a": "x"}, "nested": {"k": [{"v": 1, "w": "z"}, {"v": 2, "w": "y"}], "m": {}}, "t": [[1, "a"], [2, "b"]]}
FILTERS = ["abs", "batch(2)|list", "capitalize", "center(9)", "default('d')", "default('d', true)", "dictsort", "escape", "first", "float", "int", "join('-')", "last", "length", "list", "lower", "map('string')|list", "map('upper')|list", "map(attribute='v')|list", "max", "min", "pprint", "reject('none')|list", "replace('a', 'bb')", "reverse", "reverse|list", "round(1)", "select('odd')|list", "select|list", "slice(2)|list", "sort", "sort(reverse=true)", "string", "striptags", "sum", "title", "tojson", "trim", "truncate(5, true)", "unique|list", "upper", "urlencode", "wordcount", "wordwrap(6)", "indent(2)", "format(1, 2)", "items|list", "filesizeformat", "xmlattr", "groupby('v')|list", "selectattr('v', 'gt', 1)|list"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "sequence", "iterable", "boolean", "true", "false", "odd", "even", "divisibleby 2", "in l", "eq 1", "sameas none", "lower", "upper", "callable", "gt 1", "escaped"]
METHODS = [".upper()", ".split()", ".split(',')", ".strip()", ".title()", ".replace('a', 'z')", ".startswith('a')", ".count('l')", ".find('l')", ".join(['q', 'r'])", ".items()|list", ".keys()|list", ".values()|list", ".get('a')", ".get('zz', 9)", ".copy()", ".index(1)", ".pop()", ".format(1, 2)", ".zfill(4)", ".partition('a')", ".encode()", ".splitlines()", ".isdigit()", ".rsplit(' ', 1)", ".k", ".a", "[0]", "[-1]", "[1:]", "[::-1]", "['a']", "[:2]", ".0", ".center(7, '*')", ".swapcase()", ".bit_length()", ".is_integer()"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">=", "in", "not in", "and", "or"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = list(NAMES)

    def one(self, choices):
        return self.random.choice(choices)

    def expression(self, depth):
        kind = self.random.randrange(14) if depth > 0 else self.random.randrange(3)
        if kind == 0:
            return self.one(STRINGS)
        if kind == 1:
            return self.one(NUMBERS)
        if kind == 2:
            return self.one(self.names)
        inner = self.expression(depth - 1)
        if kind in (3, 4, 5):
            return f"({inner})|{self.one(FILTERS)}"
        if kind in (6, 7):
            return f"({inner}){self.one(METHODS)}"
        if kind in (8, 9):
            return f"({inner}) {self.one(OPERATORS)} ({self.expression(depth - 1)})"
        if kind == 10:
            return f"({inner}) is {self.one(['', 'not '])}{self.one(TESTS)}"
        if kind == 11:
            return f"[{inner}, {self.expression(depth - 1)}]"
        if kind == 12:
            return f"{{{self.one(STRINGS)}: {inner}, 'q': {self.expression(depth - 1)}}}"
        return f"({inner} if {self.expression(depth - 1)} else {self.expression(depth - 1)})"

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
            return f"{{% for x in {self.expression(2)} {dash}%}}{space}{{{{ loop.index }}}}{{{{ x }}}}{inner}{{%{dash} else %}}none{{% endfor %}}"
        if kind == 6:
            name = self.one(["n", "s", "v"])
            self.names.append(name)
            return f"{{% set {name} = {self.expression(2)} {dash}%}}{space}"
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
