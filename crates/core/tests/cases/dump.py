"""Records how PyYAML with libyaml writes values: dump.json, a list of [value, options, text]."""
import json
import pathlib
import random

import yaml

WORDS = ["a", "it's", 'say "x"', "yes", "Yes", "yEs", "NO", "on", "null", "Null", "~", "", " x", "x ", "a\nb", "a\n", "\na", "a \nb",
         "a\n b", "tab\there", "é", "日本", "\U0001f600", "\x07", "\u00a0", "#x", "a #b", "a: b", "a:b", ":x", ": x", "-", "- x", "-x",
         "?", "? x", "?x", "a,b", "[a]", "{a}", "*a", "&a", "!a", "|a", ">a", "%a", "@a", "`a", "=", "<<", "---", "...", "--- x",
         "1", "01", "0755", "0888", "0o17", "0x1F", "0b11", "1_000", "1.0", "1.", ".5", "-.5", "+1", "1e3", "1.5e3", "1.0e+3", "1e+3",
         "12:30", "12:30:45", "12:61", "1:2.5", ".inf", "-.INF", ".nan", "2001-12-14", "2001-12-14 21:59:43", "2001-12-14t21:59:43.10-05:00",
         "2001-1-1", "2001-12-14T21:59", "a" * 130, "word " * 30, "it's " * 30, "é word " * 20, "a  b " * 25, "x" * 90 + " y z", "'", '"', "\\", "a\\b",
         "a\n\nb", "line one\nline two\n", "a\r\nb", "\ufeff", "x\u2028y", "key with spaces", "http://x/y?z=1", "a, b", "a]b", "a?b", "a?", "_1", "1_", "0_7", ".", "..", "-1", "--", "-a", "+", "+a", "0", "-0", "00"]
SCALARS = [None, True, False, 0, -5, 12345678901234567890, 1.5, 1e16, 1e-7, 100.0, 0.1]


def value(random_, depth):
    kind = random_.random()
    if depth == 0 or kind < 0.4:
        return random_.choice(WORDS) if random_.random() < 0.75 else random_.choice(SCALARS)
    if kind < 0.7:
        return [value(random_, depth - 1) for _ in range(random_.randrange(5))]
    return {random_.choice(WORDS): value(random_, depth - 1) for _ in range(random_.randrange(5))}


def cases():
    random_ = random.Random(7)
    for word in WORDS:
        yield word, {}
        yield {word: word, "z": [word]}, {"default_flow_style": False}
        yield {word: word, "z": [word]}, {"default_flow_style": True}
    for scalar in SCALARS:
        yield [scalar, {"a": scalar}], {}
    for index in range(400):
        options = [{}, {"default_flow_style": False}, {"default_flow_style": True}, {"allow_unicode": True}, {"sort_keys": False},
                   {"width": 30, "default_flow_style": False}, {"width": 20}, {"indent": 4, "default_flow_style": False}, {"explicit_start": True}]
        yield value(random_, 4), options[index % len(options)]


recorded = []
for data, options in cases():
    text = yaml.dump(data, Dumper=yaml.CSafeDumper, **{"default_flow_style": None, **options})
    # PyYAML writes an anchor for an object that occurs twice; our values are never shared.
    data = json.loads(json.dumps(data))
    text = yaml.dump(data, Dumper=yaml.CSafeDumper, **{"default_flow_style": None, **options})
    if "&id0" in text:
        continue
    if text.endswith("\n...\n"):
        text = text[:-4]
    recorded.append([data, options, text])
place = pathlib.Path(__file__).with_name("dump.json")
place.write_text("[\n" + ",\n".join(json.dumps(case) for case in recorded) + "\n]\n")
print(len(recorded))
