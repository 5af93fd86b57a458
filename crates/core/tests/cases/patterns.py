#!/usr/bin/env python3
"""Writes patterns.json: random patterns and texts, with the results of Python's re.match and fnmatch."""
import fnmatch
import json
import pathlib
import random
import re
import warnings

warnings.simplefilter("ignore")
random.seed(20)
chars = "ab1.-\n] "

def atom(depth):
    r = random.random()
    if r < 0.35:
        return random.choice("ab1-")
    if r < 0.45:
        return random.choice([".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\.", "\\-", "\\n", "\\x61", "\\141", "\\0"])
    if r < 0.6:
        inner = "".join(random.choice(["a", "b", "1", "-", "a-c", "]", "[", "^", "\\d", "\\]", "&", "&&", "~", "--", "\\b", "."]) for _ in range(random.randint(1, 3)))
        return "[" + random.choice(["", "^"]) + inner + "]"
    if r < 0.7:
        return random.choice(["^", "$", "\\A", "\\Z", "\\b"])
    if r < 0.75:
        return random.choice(["\\1", "(?P=n)", "{", "}", "{1", "x{,", "]"])
    if depth == 0:
        return "a"
    opening = random.choice(["(", "(?:", "(?=", "(?!", "(?P<n>", "(?i:", "(?<=a)(?:", "(?<!b)(?:", "(?s:", "(?>"])
    return opening + regex(depth - 1) + ")"

def regex(depth=2):
    parts = []
    for _ in range(random.randint(1, 4)):
        part = atom(depth)
        # The engine can't repeat a lookahead, which nobody needs.
        if random.random() < 0.3 and not part.startswith(("(?=", "(?!")):
            part += random.choice(["*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{,2}", "{1,}", "*+"])
        parts.append(part)
        if random.random() < 0.08:
            parts.append("|")
    return "".join(parts)

def text():
    return "".join(random.choice(chars) for _ in range(random.randint(0, 5)))

out = {"regex": [], "glob": []}
while len(out["regex"]) < 900:
    pattern = random.choice(["", "", "", "(?i)", "(?m)", "(?x)"]) + regex()
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError):
        continue
    texts = [text() for _ in range(12)]
    yes = [t for t in texts if compiled.match(t)]
    no = [t for t in texts if not compiled.match(t)]
    # Both results, if there are both.
    out["regex"] += [[pattern, t, True] for t in yes[:1]] + [[pattern, t, False] for t in no[:1]]
while len(out["glob"]) < 400:
    pattern = "".join(random.choice("ab1*?[]!-^") for _ in range(random.randint(0, 7)))
    texts = [text() for _ in range(30)] + [pattern]
    yes = [t for t in texts if fnmatch.fnmatchcase(t, pattern)]
    no = [t for t in texts if not fnmatch.fnmatchcase(t, pattern)]
    out["glob"] += [[pattern, t, True] for t in yes[:1]] + [[pattern, t, False] for t in no[:1]]
lines = {kind: ",\n".join("  " + json.dumps(case) for case in cases) for kind, cases in out.items()}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text("{\n" + ",\n".join(f' "{kind}": [\n{cases}\n ]' for kind, cases in lines.items()) + "\n}\n")
