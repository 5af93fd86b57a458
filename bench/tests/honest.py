"""A tool that does all jobs correctly, for tests of the bench itself. Needs no root and no peers."""
import atexit
import os
import shutil
import sys
import tempfile

# Must come before any import of the bench, which reads it: the tests must never touch folders of real hosts.
SCRATCH = tempfile.mkdtemp(prefix="bench-test")
os.environ["BENCH_DIR"] = SCRATCH
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)

import driver
import hosts as testbed
from cells import cells
from measure import Command, Meter
from peers import Peer
from peers.openssh import apply_script

assert testbed.ROOT.startswith(SCRATCH), "a test has imported the bench before this file"


def measure(peer_class, workload, count=3, repeats=2):
    """The cells of a small run."""
    scratch = tempfile.mkdtemp(dir=SCRATCH)
    hosts = [testbed.host(number + 1) for number in range(count)]
    for host in hosts:
        os.makedirs(host.folder, exist_ok=True)
    plan = driver.Plan([workload], [peer_class(scratch)], hosts, [count], repeats, 60, calm=1.1, patience=0)
    records = []
    driver.run(plan, Meter(scratch, [], timeout=20), records.append)
    return cells(records)


class Honest(Peer):
    """Does all jobs with the shell, in the folders of the hosts."""

    name = "honest"
    answer = r"^pong (\S+)$"

    def ping(self, hosts):
        return self.each(hosts, "echo pong {}")

    def command_output(self, hosts):
        return self.each(hosts, "uname -a")

    def copy(self, hosts, source, destination):
        return self.each(hosts, f"cp {source} {destination.replace('{id}', '{}')}")

    def print_version(self):
        return self.each([testbed.host(1)], "echo 1.0")

    def apply(self, hosts):
        with open(os.path.join(self.folder, "apply.sh"), "w") as file:
            file.write(self.script())
        return self.each(hosts, f"sh {file.name} {{}}")

    def script(self):
        return apply_script()

    def each(self, hosts, line):
        script = "\n".join(["set -e", *(line.replace("{}", host.id) for host in hosts)])
        return Command(["sh", "-c", script], self.environment())
