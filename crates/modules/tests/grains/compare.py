#!/usr/bin/env python3
"""Compares our grains with those of a real Salt on this machine, and says what differs.

    cargo build -p rocksalt-modules --example grains
    compare.py --salt-call /path/to/salt-call --ours target/debug/examples/grains

Ends with 1 if anything differs that `EXPECTED` doesn't explain.
"""

import argparse
import json
import subprocess
import sys

# Grains that differ by intent or by nature, and why.
EXPECTED = {
    "ca_truststore": "Python's; we have none",
    "cwd": "differs with the caller",
    "fqdns": "no reverse DNS: it can hang",
    "master": "no master",
    "package": "how Salt itself was packaged",
    "pid": "another process",
    "pythonexecutable": "no Python",
    "pythonpath": "no Python",
    "pythonversion": "no Python",
    "rocksaltversion": "ours",
    "saltpath": "no Salt on the target",
    "zmqversion": "no ZeroMQ",
}


def output(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--salt-call", default="salt-call", help="a real Salt's salt-call")
    parser.add_argument("--ours", required=True, help="the `grains` example, built")
    parser.add_argument("--all", action="store_true", help="show the explained differences too")
    arguments = parser.parse_args()

    salt = output([arguments.salt_call, "--local", "--out", "json", "grains.items"])["local"]
    ours = output([arguments.ours])
    unexplained = 0
    for name in sorted(salt.keys() | ours.keys()):
        if salt.get(name) == ours.get(name) and (name in salt) == (name in ours):
            continue
        reason = EXPECTED.get(name)
        if reason is None:
            unexplained += 1
        elif not arguments.all:
            continue
        print(f"{name}{f' ({reason})' if reason else ''}")
        for who, grains in (("salt", salt), ("ours", ours)):
            print(f"  {who}: {json.dumps(grains[name]) if name in grains else '(none)'}")
    same = sum(1 for name in salt if name in ours and salt[name] == ours[name])
    print(f"{same} of Salt's {len(salt)} grains are the same, {unexplained} differ without a reason")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
