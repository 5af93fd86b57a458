#!/usr/bin/env python3
"""Records real Salt's results for the target cases beside this file.

Needs Salt (`pip install salt`); run it after adding cases. A case whose "differs" says why we
do otherwise keeps its "matches"; Salt's answer goes to "salt".
"""
import json
import logging
import pathlib
import re

import salt.config
import salt.loader

logging.disable(logging.CRITICAL)
here = pathlib.Path(__file__).parent

def line(case):
    return "  " + json.dumps(case, ensure_ascii=False)

for path in sorted(here.glob("*.json")):
    group = json.loads(path.read_text())
    opts = salt.config.DEFAULT_MINION_OPTS.copy()
    opts.update(id=group["id"], grains=group["grains"], pillar=group["pillar"], nodegroups=group["nodegroups"])
    matchers = salt.loader.matchers(opts)
    for case in group["cases"]:
        match = matchers[case["kind"] + "_match.match"]
        args = [case["text"]]
        kwargs = {"opts": opts}
        if case["kind"] == "nodegroup":
            args.append(group["nodegroups"])
        if "delimiter" in case:
            kwargs["delimiter"] = case["delimiter"]
        try:
            answer = bool(match(*args, **kwargs))
        except Exception as error:
            answer = f"{type(error).__name__}"
        if "differs" in case:
            case["salt"] = answer
        else:
            if case.get("matches", answer) != answer:
                print(path.name, case, "now", answer)
            case["matches"] = answer
    cases = ",\n".join(line(case) for case in group.pop("cases"))
    head = json.dumps(group, ensure_ascii=False, indent=1)
    path.write_text(head[:-2] + ',\n "cases": [\n' + cases + "\n ]\n}\n")
