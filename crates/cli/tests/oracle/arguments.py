"""Records how Salt reads the words of a command line, for the runner in src/arguments.rs.

A developer's tool: run it with the Python of a virtual environment that has salt==3008.3.
It rewrites tests/cases/arguments/salt.json.
"""

import json
import logging
import pathlib

import salt.utils.args

OUT = pathlib.Path(__file__).resolve().parent.parent / "cases" / "arguments" / "salt.json"
logging.disable(logging.CRITICAL)

SINGLE = r"""
hello|hello world|5|-5|+5|0|007|0755|0888|09|-0755|+0755|0_755|1_000|_1|1_|_|__|1_000.5|1_a|0x1F|0xZZ|0b101|0o17|12:30|12:30:45|1:99|1.5|1.|.5|-.5|1e3|1e5|1.0e+3|1.5e3|1.2.3|10.0.0.1
true|True|TRUE|tRUE|yes|Yes|no|on|off|y|n|~|null|Null|NULL|nULL|None|none|NONE
2024-01-02|2024-01-02 03:04:05|2024-01-02T03:04:05Z|20240102030405123456|20240102030405123456_1|123456789012345678901234567890|99999999999999999999|9223372036854775807|9223372036854775808
a: b|a:b|a:|a: |{a: b}|{a: 1, b: [1, 2]}|{"a":1}|{"a": "b"}|{a|{a: b|{{ x }}|{% if %}|{}|{ }| {a: b}|{a}|{a: {b: {c: d}}}|{1: 2}|{a: b, a: c}
- a|-a|-|--|---|...|- |-- x|[a, b]|[1, "2", three, null, yes]|[a|a]|[]|[[1], [2]]| [1]|[a, b] c|[a: b]|[a,]|[,]
# x|a # b|a#b|#|##|1 # one|[1, 2] # list|{a: b} # map|a: b # c|- a # b|"a # b"|'#'|true # yes|null # nothing|http://x/#y|# |  # x
|!|\||>|&|*|&a|*a|&a b|!x|!!str 5|!!int "5"|!!binary aGk=|!!set {a}|!foo bar|%|%x|@|@x|`|`x`|?|? a|=|<<|<
"quoted"|'quoted'|"5"|'5'|"a|'a|a"b|it's|"it's"|'say "hi"'|"a\nb"|'a\nb'|"\x41"|''|""|"a" b|'it''s'
a, b|a,b|a b  c|  padded  | 5 |C:\dir|\d+|^a.*$|*|web*|/etc/passwd|~/x|$HOME|$(id)|user@host|50%|naïve|世界|🧂
a>b|a|b&c|a;b|x:y:z|::1|fe80::1|::|http://example.com|ssh://a:b@c|key:value|: a|:a|,|,a|]|}|)|(1, 2)
.inf|-.inf?|.|..|+|1,000|1 000|0.0|-0|-0.0|00|0000|000_1|1e|e1|0x|0b|1:2:3|01:02|1:00|-1:30
"""
KEYWORDS = r"""
name=value|a=1|a=|a= |a==b|a===b|=b|==|a=b=c|a =b|a= b|1a=b|_a=b|__x=1|a1=b|a-b=c|a.b=c|a.b-c_d=e|-a=b|--a=b|.a=b|a b=c|a/b=c|a:b=c|ä=1|名=x|é-1=x
a=None|a=null|a=~|a=yes|a=0755|a=1_000|a={b: c}|a=[1, 2]|a=b: c|a=- b|a=# x|a=x # y|a=1 # y|a="5"|a='b=c'|"a=b"|'a=b'|a=20240102030405123456|a=...|a=---|a=!|a=|b|{a=b}|[a=b]|a={"b": "c=d"}|a=2024-01-02
pillar={"x": {"y": [1, 2]}}|test=True|name='nginx'|url=http://x/?a=b&c=d|cmd=echo "a=b"|saltenv=base|a={|a=[x|A=B|a=b c=d
"""
MORE = [
    [],
    [""],
    [" "],
    ["a=b\nc"],
    ["a=b\n"],
    ["a\nb"],
    ["a: b\nc: d"],
    ["a\tb"],
    ["5\n"],
    ["\t"],
    ["[1,\n2]"],
    ["a=\n"],
    ["a=\tb"],
    ["a=1", "a=2"],
    ["x", "a=1", "y", "b=[1]", "z"],
    ["b=1", "a=2", "b=3"],
    ["a|b"],
    ["|"],
    ["a=|"],
    ["20240102030405123456", "a=20240102030405123456", "[20240102030405123456]"],
    ["{" * 20],
    ["[" * 40 + "]" * 40],
    ["9" * 200],
]


def words():
    for text in (SINGLE, KEYWORDS):
        for line in text.strip("\n").split("\n"):
            for word in line.replace("\\|", "\0").split("|"):
                yield [word.replace("\0", "|")]
    yield from MORE


def main():
    seen = []
    cases = []
    for case in words():
        if case in seen:
            continue
        seen.append(case)
        args = salt.utils.args.parse_input(list(case))
        kwargs = args.pop() if args and isinstance(args[-1], dict) and args[-1].get("__kwarg__") else {}
        kwargs.pop("__kwarg__", None)
        try:
            text = json.dumps({"words": case, "args": args, "kwargs": kwargs}, ensure_ascii=False, allow_nan=False)
        except ValueError:  # Infinity has no JSON; the unit tests have it.
            continue
        # A key that isn't a text would be recorded as one.
        if "{1: 2}" not in case:
            cases.append(text)
    OUT.write_text("[\n" + ",\n".join(cases) + "\n]\n")


if __name__ == "__main__":
    main()
