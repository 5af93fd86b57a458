#!/usr/bin/env python3
"""Applies a project with real Salt and with Rocksalt on two equal machines, and prints every difference.

    side_by_side.py --salt VENV --target DIR [--project examples/webserver] [--mode ansible]

It starts two hosts with systemd (and Python, for Salt), and a repository in their network with the packages that the
project installs. `salt-call --local state.apply` runs on the first host, `rocksalt apply` on the second: a dry run, a
run, a second run. It compares the order, result, comment and changes of all steps, and at the end the machines: files
with mode, owner and hash, accounts, packages, services, crontab, firewall rules. The exit code is 1 if a run or a
machine differs; differences of dry runs are only printed (ours predicts changes where Salt's reports none).

DIR is cargo's target directory with `debug/rocksalt` and `debug/rocksalt-testbed`. Agents: ROCKSALT_AGENTS.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import record

PACKAGES = ["cron", "logrotate", "nftables", "nginx", "procps"]
UNITS = "cron nginx nftables status"
# Left out is what is random, contains the time, or depends on the host's own name and keys.
APART = r"\( -path /etc/machine-id -o -path /etc/ssh -o -path /etc/hosts -o -name '*-' -o -path '/etc/*shadow' \) -prune -o"
PLACES = "/etc /home /usr/local /var/www /var/backups /usr/share/keyrings"
LOOK = """
for file in passwd group subuid subgid; do sed "s/^/$file /" /etc/$file; done
dpkg-query --show
crontab -l | sed 's/^/crontab /'
nft --stateless list ruleset 2>/dev/null | sed 's/^/rule /'
for unit in %(units)s; do echo unit $unit $(systemctl is-enabled $unit) $(systemctl is-active $unit); done
find %(places)s -xdev %(apart)s -printf '%%p %%y %%m %%u:%%g %%l\\n'
find %(places)s -xdev %(apart)s -type f -exec sha256sum {} +
""" % {"units": UNITS, "places": PLACES, "apart": APART}


class Pair(record.Host):
    """Host 1 is Salt's, host 2 ours; both are called h2."""

    def __init__(self, options):
        super().__init__(options, "side-%d" % os.getpid(), {"host": "systemd"})
        self.up[1] = "2"
        self.options = options

    def __enter__(self):
        super().__enter__()
        self.repository = self.command("repository", *PACKAGES).strip()
        self.inside = ["nsenter", "--net=/run/netns/rocksalt-%s-lab" % self.name, "--"]
        serve = ["busybox", "httpd", "-f", "-p", "10.77.0.1:80", "-h", self.repository]
        self.server = subprocess.Popen(self.inside + serve, stdin=subprocess.DEVNULL)
        self.folder = tempfile.mkdtemp(prefix="side-by-side-")
        self.config = os.path.join(self.folder, "project")
        shutil.copytree(self.options.project, self.config)
        with open(os.path.join(self.config, "roster"), "w", encoding="utf-8") as roster:
            roster.write(self.command("roster"))
        with open(os.path.join(self.repository, "key.asc"), encoding="utf-8") as file:
            source = {"url": "http://10.77.0.1/", "keyring": "/usr/share/keyrings/testbed.asc", "key": file.read()}
        self.pillar = json.dumps({"repository": source})
        for tree in ("states", "pillar"):
            shutil.copytree(os.path.join(self.config, tree), "%s%s/%s" % (self.root, record.PLACE, tree))
        self.write(record.PLACE + "/etc/minion", record.MINION.replace("id: h1", "id: h2"))
        self.write(record.PLACE + "/override", self.pillar)
        self.sh("systemctl is-system-running --wait || true; hostname h2; echo h2 >/etc/hostname")
        return self

    def __exit__(self, *reason):
        self.ours("links", "close")
        self.server.kill()
        self.server.wait()
        shutil.rmtree(self.folder)
        super().__exit__(*reason)

    def salt(self, test):
        more = " pillar=\"$(cat %s/override)\"%s" % (record.PLACE, " test=True" if test else "")
        call = record.CALL % {"place": record.PLACE, "python": self.options.python, "test": more}
        return self.steps(self.sh(call.replace("state.apply case", "state.apply")), "local")

    def rocksalt(self, test):
        words = ["apply", "h2", "--mode", self.options.mode, "--pillar", self.pillar, "--out", "json", "--static"]
        return self.steps(self.ours(*words, *(["--test"] if test else [])), "h2")

    def ours(self, *words):
        program = os.path.join(self.options.target, "debug", "rocksalt")
        environment = {**os.environ, "HOME": self.folder, "XDG_RUNTIME_DIR": self.folder, "XDG_CACHE_HOME": self.folder}
        command = self.inside + [program, "--config-dir", self.config, *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout

    def steps(self, said, who):
        answer = json.loads(said[said.find("{"):])[who]
        if not isinstance(answer, dict):
            raise record.Failed("%s refuses: %s" % (who, answer))
        return dict(sorted(answer.items(), key=lambda step: step[1]["__run_num__"]))

    def machine(self, number):
        return set(self.command("sh", str(number), LOOK).splitlines())


def compare(salt, ours):
    """How many differences there are; each is printed."""
    found = 0
    if list(salt) != list(ours):
        found += 1
        print("  other steps, or another order:\n    Salt: %s\n    ours: %s" % (list(salt), list(ours)))
    for name in (name for name in salt if name in ours):
        for key in ("result", "comment", "changes"):
            theirs, own = salt[name].get(key), ours[name].get(key)
            # The process id always differs.
            if isinstance(theirs, dict) and isinstance(own, dict) and "pid" in theirs and "pid" in own:
                theirs, own = {**theirs, "pid": 0}, {**own, "pid": 0}
            if theirs != own:
                found += 1
                print("  %s: %s\n    Salt: %s\n    ours: %s" % (name, key, json.dumps(theirs), json.dumps(own)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(record.HERE)
    parser.add_argument("--salt", default=os.environ.get("SALT_VENV"), help="Salt's virtual environment (SALT_VENV)")
    parser.add_argument("--target", default=os.environ.get("CARGO_TARGET_DIR") or os.path.join(here, "target"))
    parser.add_argument("--project", default=os.path.join(here, "examples", "webserver"))
    parser.add_argument("--mode", default="ansible")
    options = parser.parse_args()
    record.complete(parser, options)
    options.testbed = os.path.join(options.target, "debug", "rocksalt-testbed")
    bad = 0
    with Pair(options) as pair:
        for run in ("dry run", "run", "second run"):
            salt, ours = pair.salt(run == "dry run"), pair.rocksalt(run == "dry run")
            print("%s: %d steps" % (run, len(salt)))
            found = compare(salt, ours)
            bad += 0 if run == "dry run" else found
        one, other = pair.machine(1), pair.machine(2)
        print("machines: %d facts" % len(one))
        for line in sorted(one ^ other):
            bad += 1
            print("  only %s: %s" % ("Salt's" if line in one else "ours", line))
    print("%d differences" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
