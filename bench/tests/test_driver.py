"""A run counts only with its proof: tools that cheat or fail are shown as failures and never timed."""
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SCRATCH = tempfile.mkdtemp(prefix="bench-test")
os.environ["BENCH_DIR"] = SCRATCH
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import driver
import hosts as testbed
import processes
from cells import cells
from measure import Command, Meter
from peers import Failure, Peer
from workloads.command_output import CommandOutput
from workloads.copy_file import CopyFile
from workloads.ping import Ping
from workloads.print_version import PrintVersion


def setUpModule():
    assert testbed.ROOT.startswith(SCRATCH), "these tests must never touch the folders of real hosts"


def tearDownModule():
    shutil.rmtree(SCRATCH)


class Honest(Peer):
    """Does all jobs with the shell, in the hosts' folders."""

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

    def each(self, hosts, line):
        script = "\n".join(["set -e", *(line.replace("{}", host.id) for host in hosts)])
        return Command(["sh", "-c", script], self.environment())


class Forgetful(Honest):
    """Leaves the last host out, and says that all went well."""

    name = "forgetful"

    def each(self, hosts, line):
        return super().each(hosts[:-1], line)


class Lossy(Honest):
    """Its copies lack the last byte."""

    name = "lossy"

    def copy(self, hosts, source, destination):
        return self.each(hosts, f"head -c -1 {source} > {destination.replace('{id}', '{}')}")


class Broken(Honest):
    """Prints all the right answers and then fails."""

    name = "broken"

    def each(self, hosts, line):
        command = super().each(hosts, line)
        command.arguments[2] += "\nexit 3"
        return command


class Cached(Honest):
    """Uses an agent that was never put on the host: not cold at all."""

    name = "cached"

    def check_cold(self, hosts):
        raise Failure("no agent in its own folder")


class Stuck(Honest):
    """Its connections can't be closed."""

    name = "stuck"

    def forget(self, hosts):
        raise OSError("it hangs")


class DriverTest(unittest.TestCase):
    def measure(self, peer_class, workload, count=3, repeats=2):
        scratch = tempfile.mkdtemp(dir=SCRATCH)
        hosts = [testbed.host(number + 1) for number in range(count)]
        for host in hosts:
            os.makedirs(host.folder, exist_ok=True)
        plan = driver.Plan([workload], [peer_class(scratch)], hosts, [count], repeats, 60, calm=1.1, patience=0)
        records = []
        driver.run(plan, Meter(scratch, [], timeout=20), records.append)
        return cells(records)

    def test_an_honest_tool_is_timed(self):
        for workload, count in ((Ping(), 3), (CommandOutput(), 3), (CopyFile(), 1), (PrintVersion(), 1)):
            found = self.measure(Honest, workload, count)
            self.assertEqual([key[1] for key in found], list(workload.phases))
            for cell in found.values():
                self.assertEqual((cell.runs, cell.failures), (2 * workload.rounds, []))
                self.assertGreater(cell.wall_min, 0)

    def test_a_missing_host_is_a_failure(self):
        for workload in (Ping(), CommandOutput()):
            for cell in self.measure(Forgetful, workload).values():
                self.assertEqual((cell.runs, len(cell.failures), cell.wall_min), (0, 2, None))

    def test_the_missing_host_is_named(self):
        found = self.measure(Forgetful, Ping())["ping", "cold", 3, "forgetful"]
        self.assertIn(f"1 of 3 hosts did not answer, such as {testbed.host(3).id}", found.failures[0])

    def test_a_wrong_copy_is_a_failure(self):
        found = self.measure(Lossy, CopyFile(), 10)["copy", "cold", 10, "lossy"]
        self.assertEqual(found.runs, 0)
        self.assertIn("differs from the source", found.failures[0])

    def test_an_exit_code_is_a_failure(self):
        found = self.measure(Broken, Ping())["ping", "cold", 3, "broken"]
        self.assertEqual(found.runs, 0)
        self.assertTrue(found.failures[0].startswith("exit code 3"), found.failures)

    def test_a_tool_that_cannot_be_reset_is_a_failure(self):
        found = self.measure(Stuck, Ping())
        self.assertEqual([key[1] for key in found], ["cold"], "later phases would mean nothing")
        self.assertEqual(found["ping", "cold", 3, "stuck"].failures, ["preparing: it hangs"] * 2)

    def test_cold_needs_all_sessions_closed(self):
        session = subprocess.Popen(["sh", "-c", "sleep 30; true"])
        self.addCleanup(session.wait)
        self.addCleanup(session.kill)
        time.sleep(0.1)
        meter = Meter(SCRATCH, [session.pid], timeout=20)
        with self.assertRaisesRegex(Failure, "still on the hosts"):
            meter.open_sessions = functools.partial(meter.open_sessions, patience=0)
            driver._prepare(meter, Ping(), Honest(tempfile.mkdtemp(dir=SCRATCH)), [], "cold")
        self.addCleanup(os.kill, processes.children(session.pid)[0], 15)

    def test_cold_must_be_cold(self):
        found = self.measure(Cached, Ping())
        self.assertEqual(found["ping", "cold", 3, "cached"].runs, 0)
        self.assertEqual(found["ping", "warm", 3, "cached"].runs, 2)


if __name__ == "__main__":
    unittest.main()
