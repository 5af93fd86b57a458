#!/usr/bin/env python3
"""Records real Salt's answers to the cases in e2e/cases, in the files themselves.

    record.py --salt VENV --testbed PROGRAM [--jobs N] [NOUN | NOUN/NAME ...]      all if none is named

Every case (except those with `as_salt: no ...`) runs on its own throw-away host, with `python3` added to its
packages, and Salt's virtual environment mounted read-only. There `salt-call --local state.apply` runs as a
dry run, for real, and again; the answers become `test`, `apply` and `again`. Everything else in the file stays
unchanged: comments, order, other keys. A value `<any>` or `{matches: ...}` in the file stays if it matches.

If Salt's dry run reports other changes than its run, `changes` is left out of `test` (the runner then expects
those of the run), unless the case is `unpredictable`.

Needs PyYAML, and Salt for the Python of Debian's python3.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ANY = "<any>"
RECORDED = ("test", "apply", "again")
PLACE = "/opt/record"
MINION = """\
id: h1
file_client: local
file_roots: {base: [%(place)s/states]}
pillar_roots: {base: [%(place)s/pillar]}
root_dir: %(place)s/root
log_level_logfile: quiet
""" % {"place": PLACE}
CALL = (
    "cd / && PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 PYTHONPATH=/opt/salt/lib/python%(python)s/site-packages "
    "python3 -W ignore -c 'import sys; sys.argv[0] = \"salt-call\"; from salt.scripts import salt_call; salt_call()' "
    "--local --config-dir=%(place)s/etc --log-level=quiet --out=json --out-indent=-1 "
    "state.apply case%(test)s || true"
)


class Failed(Exception):
    pass


class Host:
    """A throw-away host, up while the block runs."""

    def __init__(self, options, name, case):
        self.testbed, self.name = options.testbed, name
        packages = sorted({*(case.get("packages") or []), "python3"})
        self.up = ["up", "1", "--kind", case.get("host", "debian"), "--mount", options.salt + ":/opt/salt"]
        for package in packages:
            self.up += ["--package", package]

    def command(self, *arguments, **more):
        process = subprocess.run([self.testbed, "--bed", self.name, *arguments], capture_output=True, text=True, **more)
        if process.returncode:
            raise Failed("%s: %s" % (" ".join(arguments)[:200], process.stdout + process.stderr))
        return process.stdout

    def __enter__(self):
        self.command("down")
        self.command(*self.up)
        self.root = self.command("root", "1").strip()
        return self

    def __exit__(self, *_):
        self.command("down")

    def sh(self, lines):
        return self.command("sh", "1", input=lines)

    def write(self, path, text):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def answers(options, name, case):
    """What Salt says in the three runs."""
    with Host(options, name, case) as host:
        if case.get("host") == "systemd":
            host.sh("systemctl is-system-running --wait || true")
        for path, text in (case.get("tree") or {}).items():
            host.write("%s/states/%s" % (PLACE, path), text)
        if "sls" in case:
            host.write(PLACE + "/states/case.sls", case["sls"])
        if case.get("pillar"):
            host.write(PLACE + "/pillar/top.sls", "base: {'*': [case]}\n")
            host.write(PLACE + "/pillar/case.sls", json.dumps(case["pillar"]))
        host.write(PLACE + "/etc/minion", MINION)
        if case.get("before"):
            host.sh("set -e\n" + case["before"])
        recorded = {}
        for key in RECORDED:
            said = host.sh(CALL % {"place": PLACE, "python": options.python, "test": " test=True" if key == "test" else ""})
            recorded[key] = steps(said)
        if case.get("after"):
            try:
                host.sh("set -e\n" + case["after"])
            except Failed as problem:
                sys.stderr.write("NOTE %s: `after` fails on Salt's host: %s\n" % (name, problem))
        return recorded


def steps(said):
    # Some modules print to stdout before the answer.
    start = said.find('{"local"')
    if start < 0:
        raise Failed("Salt gave no answer: " + said[-3000:])
    answer = json.loads(said[start:])["local"]
    if not isinstance(answer, dict):
        return {"errors": answer if isinstance(answer, list) else [str(answer)]}
    if not answer:
        raise Failed("Salt ran no step at all")
    found = []
    for state in sorted(answer.values(), key=lambda state: state["__run_num__"]):
        if "An exception occurred in this state" in str(state.get("comment")):
            sys.stderr.write("NOTE Salt crashed: %s\n" % state["comment"].strip().splitlines()[-1])
        step = {key: state.get(key) for key in ("result", "comment", "changes")}
        if isinstance(step["changes"], dict) and isinstance(step["changes"].get("pid"), int):
            step["changes"]["pid"] = ANY
        if state.get("warnings"):
            step["warnings"] = state["warnings"]
        found.append(step)
    return found


def kept(old, new):
    """The new value, with what the file leaves open left open."""
    if old == ANY:
        return ANY
    if isinstance(old, dict) and list(old) == ["matches"] and isinstance(new, str):
        return old if re.search(old["matches"], new) else new
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: kept(old.get(key), value) for key, value in new.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [kept(one, other) for one, other in zip(old, new)]
    return new


def settle(case, recorded):
    tried, applied = recorded["test"], recorded["apply"]
    recorded = {key: kept(case.get(key), recorded[key]) for key in RECORDED}
    if isinstance(tried, list) and isinstance(applied, list) and not case.get("unpredictable"):
        for step, before, after in zip(recorded["test"], tried, applied):
            if before["changes"] != after["changes"] and after["result"] is not False:
                step.pop("changes", None)
    return recorded


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def text(dumper, data):
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style='"' if "\n" in data else None)


Dumper.add_representer(str, text)


def dumped(key, value):
    lines = yaml.dump({key: value}, Dumper=Dumper, sort_keys=False, width=10**6, allow_unicode=True)
    return ["  " + line + "\n" for line in lines.splitlines()]


def written(lines, recorded):
    """A case's lines with the recorded keys in them, where they were or before `after`."""
    out, place, inside = [], None, None
    for line in lines:
        key = re.match(r"(?:- |  )([A-Za-z_]+):", line)
        if key:
            inside = key.group(1)
        elif line.strip() and not line.startswith("   ") and not line.startswith("  -"):
            inside = None if not line.startswith("  #") else inside
        if inside in RECORDED:
            if line.startswith("- "):
                raise Failed("`%s` can't be the first key of a case" % inside)
            place = len(out) if place is None else place
            continue
        if inside == "after" and key and place is None:
            place = len(out)
        out.append(line)
    if place is None:
        place = len(out)
        while place and not out[place - 1].strip():
            place -= 1
        if place and not out[place - 1].endswith("\n"):
            out[place - 1] += "\n"
    fresh = [line for key in RECORDED for line in dumped(key, recorded[key])]
    return out[:place] + fresh + out[place:]


def split(source):
    """The head of a file, and the lines of each of its cases."""
    head, cases = [], []
    for line in source.splitlines(True):
        if line.startswith("- "):
            cases.append([line])
        elif cases:
            cases[-1].append(line)
        else:
            head.append(line)
    return head, cases



def record(options, path):
    with open(path, encoding="utf-8") as file:
        head, parts = split(file.read())
    cases = yaml.safe_load("".join(head) + "".join("".join(part) for part in parts))
    if len(cases) != len(parts):
        raise Failed("%s: every case must begin with '- ' at the start of a line" % path)
    bad = 0
    for number, case in enumerate(cases):
        if options.only and options.only not in case.get("what", ""):
            continue
        why = case.get("as_salt")
        if why is False or str(why or "").startswith("no"):
            continue
        name = "r%d-%s-%d" % (os.getpid(), re.sub("[^a-z0-9]", "", os.path.relpath(path, HERE)[5:-4]), number)
        shown = "%s: %s" % (os.path.relpath(path, HERE), case.get("what"))
        try:
            parts[number] = written(parts[number], settle(case, answers(options, name, case)))
            sys.stderr.write("recorded %s\n" % shown)
        except (Failed, OSError, ValueError, KeyError) as problem:
            bad += 1
            sys.stderr.write("FAILED %s: %s\n" % (shown, problem))
            continue
        text = "".join(head) + "".join("".join(part) for part in parts)
        yaml.safe_load(text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return bad


def complete(parser, options):
    """Finds out which Python the virtual environment is for."""
    found = glob.glob(os.path.join(options.salt or "", "lib", "python3*", "site-packages", "salt"))
    if not options.salt or not found:
        parser.error("name a virtual environment that has Salt: --salt VENV, or SALT_VENV")
    options.salt = os.path.abspath(options.salt)
    options.python = re.search(r"python(3\.\d+)", os.path.basename(os.path.dirname(os.path.dirname(found[0])))).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--salt", default=os.environ.get("SALT_VENV"), help="Salt's virtual environment (SALT_VENV)")
    parser.add_argument("--testbed", default="target/debug/rocksalt-testbed")
    parser.add_argument("--jobs", type=int, default=2, help="how many files at once")
    parser.add_argument("--only", help="only cases with this text in `what`")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    complete(parser, options)
    options.testbed = os.path.abspath(options.testbed)
    paths = []
    for name in options.cases or ["*"]:
        name = name.removesuffix(".yml")
        pattern = name + ".yml" if "/" in name else name + "/*.yml"
        matching = sorted(glob.glob(os.path.join(HERE, "cases", pattern)))
        if not matching:
            parser.error("there are no cases %s" % name)
        paths += matching
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        bad = sum(pool.map(lambda path: record(options, path), paths))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
