#!/usr/bin/env python3
"""Compares our grains with those of a real Salt on this machine, and says what differs.

    cargo build -p rocksalt-modules --example grains
    compare.py --salt-call /path/to/salt-call --ours target/debug/examples/grains

Or on throw-away hosts, which get a second network interface, IPv6, a resolver with all settings, a name with a domain
and grains of their own, so that more of them have something to tell:

    compare.py --testbed target/debug/rocksalt-testbed --rocksalt target/debug/rocksalt --salt VENV [--kind systemd]

(VENV has Salt for the Python of Debian's python3.) Ends with 1 if anything differs that `EXPECTED` doesn't explain.
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
    "pythonexecutable": "the target's Python, if it has one",
    "pythonpath": "no Python",
    "pythonversion": "the target's Python, by its link, without the last number",
    "rocksaltversion": "ours",
    "saltpath": "no Salt on the target",
    "zmqversion": "no ZeroMQ",
}

# Of a throw-away host that systemd takes for a container of a manager that it doesn't know.
EXPECTED_IN_BED = {"virtual": "Salt knows no such manager and says physical; ours says what is below"}

RICH = """
cat >/etc/resolv.conf <<'END'
domain example.net
search a.example.net b.example.net
nameserver 10.77.0.1
nameserver fe80::1%eth0
nameserver 2001:db8::53
options ndots:2 timeout:1
sortlist 10.0.0.0/8
END
printf '127.0.0.1 localhost\\n10.77.0.3 h1.example.org h1\\n2001:db8::3 h1.example.org\\n' >/etc/hosts
mkdir -p /etc/salt
printf 'id: h1\\nfile_client: local\\n' >/etc/salt/minion
printf 'deployment: dc4\\nroles: [web, db]\\n' >/etc/salt/grains
ip -6 addr add 2001:db8::3/64 dev eth0 nodad || true
ip addr add 192.0.2.5/24 dev eth0 || true
ip route add default via 10.77.0.1 || true
ln -sf /usr/share/zoneinfo/Europe/Berlin /etc/localtime
"""

SALT_CALL = (
    "cd / && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(echo /opt/salt/lib/python3*/site-packages) python3 -W ignore -c "
    "'import sys; sys.argv[0] = \"salt-call\"; from salt.scripts import salt_call; salt_call()' "
    "--local --out json grains.items 2>/dev/null"
)


def on_a_host(arguments):
    """Salt's grains and ours of one throw-away host."""
    bed = [arguments.testbed, "--bed", "grains"]

    def run(*words):
        return subprocess.run(bed + list(words), check=True, stdout=subprocess.PIPE, text=True).stdout

    run("up", "1", "--kind", arguments.kind, "--package", "python3", "--mount", arguments.salt + ":/opt/salt")
    try:
        run("sh", "1", RICH)
        salt = json.loads(run("sh", "1", SALT_CALL))["local"]
        root = run("root", "1").strip()
        subprocess.run(["strip", "-o", root + "/usr/local/bin/rocksalt", arguments.rocksalt], check=True)
        ours = json.loads(run("sh", "1", "mkdir -p /tmp/conf && cd / && rocksalt -c /tmp/conf --json call grains.items"))
        return salt, ours["local"]
    finally:
        run("down")


def output(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--salt-call", default="salt-call", help="a real Salt's salt-call")
    parser.add_argument("--ours", help="the `grains` example, built")
    parser.add_argument("--testbed", help="the testbed program, for a throw-away host")
    parser.add_argument("--rocksalt", help="the rocksalt program, for a throw-away host")
    parser.add_argument("--salt", help="Salt's virtual environment, for a throw-away host")
    parser.add_argument("--kind", default="debian", help="debian or systemd")
    parser.add_argument("--all", action="store_true", help="show the explained differences too")
    arguments = parser.parse_args()

    expected = dict(EXPECTED)
    if arguments.testbed:
        salt, ours = on_a_host(arguments)
        expected.update(EXPECTED_IN_BED)
    elif arguments.ours:
        salt = output([arguments.salt_call, "--local", "--out", "json", "grains.items"])["local"]
        ours = output([arguments.ours])
    else:
        parser.error("one of --ours and --testbed is needed")
    unexplained = 0
    for name in sorted(salt.keys() | ours.keys()):
        if salt.get(name) == ours.get(name) and (name in salt) == (name in ours):
            continue
        reason = expected.get(name)
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
