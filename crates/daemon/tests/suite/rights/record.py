"""Asks real Salt all of cases/*.yml, and says where it answers otherwise than they say.

Run by hand with a Python that has Salt and PyYAML: python3 crates/daemon/tests/rights/record.py
"""

import fnmatch
import pathlib
import sys

import salt.utils.minions
import yaml

MINIONS = {
    "web1": {"os": "Debian", "role": "web"},
    "web2": {"os": "Debian", "role": "web"},
    "db1": {"os": "Debian", "role": "db"},
    "win1": {"os": "Windows", "role": "desk"},
}


def one(word, name):
    if word.startswith("G@"):
        key, value = word[2:].split(":")
        return fnmatch.fnmatch(MINIONS[name][key], value)
    return fnmatch.fnmatch(name, word)


class Minions(salt.utils.minions.CkMinions):
    """As Salt's own, but for where it knows its minions from."""

    def __init__(self, opts):
        self.opts = opts

    def check_minions(self, expr, tgt_type="glob", delimiter=":", greedy=True):
        if tgt_type == "list":
            names = expr if isinstance(expr, list) else expr.split(",")
            found = [name for name in MINIONS if name in names]
        else:
            found = [name for name in MINIONS if any(one(word, name) for word in expr.split(" or "))]
        return {"minions": found, "missing": []}


def answer(case, ask):
    checker = Minions({"permissive_acl": False, **case.get("options", {})})
    rules = {name: rule for name, rule in case["rules"].items() if not name.startswith("^")}
    allowed = checker.fill_auth_list(rules, ask.get("user", "fred"), ask.get("groups", []))
    args, kwargs = ask.get("arg", []), ask.get("kwarg")
    if ask.get("client") in ("runner", "wheel"):
        asked = {"arg": args, "kwarg": kwargs}
        return checker.spec_check(allowed, ask["fun"], asked, ask["client"]) is True
    if kwargs:
        args = [*args, {"__kwarg__": True, **kwargs}]
    free = ["saltutil.find_job"]
    return bool(
        checker.auth_check(allowed, ask["fun"], args, ask["tgt"], ask.get("tgt_type", "glob"), whitelist=free)
    )


def main():
    wrong = count = 0
    for file in sorted((pathlib.Path(__file__).parent / "cases").glob("*.yml")):
        for case in yaml.safe_load(file.read_text()):
            if "ours" in case:
                continue
            for ask in case["asks"]:
                count += 1
                said = ask.get("salt", ask["allowed"])
                if (found := answer(case, ask)) is not said:
                    wrong += 1
                    print(f"{file.name}: {case['what']}: {ask}: Salt says {found}")
    print(f"{count} asked, {wrong} answered otherwise")
    sys.exit(wrong > 0)


main()
