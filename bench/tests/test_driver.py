"""A run counts only if it is proved: tools that cheat or fail are reported as failures and never timed."""
import functools
import os
import subprocess
import tempfile
import time
import unittest

from honest import SCRATCH, Honest, measure

import driver
import hosts as testbed
import processes
from measure import Meter
from peers import Failure
from workloads.command_output import CommandOutput
from workloads.copy_file import CopyFile
from workloads.ping import Ping
from workloads.print_version import PrintVersion


class Forgetful(Honest):
    """Skips the last host, and reports success."""

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
    """Uses an agent that was never uploaded to the host, so the run isn't cold."""

    name = "cached"

    def check_cold(self, hosts):
        raise Failure("no agent in its own folder")


class Stuck(Honest):
    """Its connections can't be closed."""

    name = "stuck"

    def forget(self, hosts):
        raise OSError("it hangs")


class DriverTest(unittest.TestCase):
    def test_an_honest_tool_is_timed(self):
        for workload, count in ((Ping(), 3), (CommandOutput(), 3), (CopyFile(), 1), (PrintVersion(), 1)):
            found = measure(Honest, workload, count)
            self.assertEqual([key[1] for key in found], list(workload.phases))
            for cell in found.values():
                self.assertEqual((cell.runs, cell.failures), (2 * workload.rounds, []))
                self.assertGreater(cell.wall_min, 0)

    def test_a_missing_host_is_a_failure(self):
        for workload in (Ping(), CommandOutput()):
            for cell in measure(Forgetful, workload).values():
                self.assertEqual((cell.runs, len(cell.failures), cell.wall_min), (0, 2, None))

    def test_the_missing_host_is_named(self):
        found = measure(Forgetful, Ping())["ping", "cold", 3, "forgetful"]
        self.assertIn(f"1 of 3 hosts did not answer, such as {testbed.host(3).id}", found.failures[0])

    def test_a_wrong_copy_is_a_failure(self):
        found = measure(Lossy, CopyFile(), 10)["copy", "cold", 10, "lossy"]
        self.assertEqual(found.runs, 0)
        self.assertIn("differs from the source", found.failures[0])

    def test_an_exit_code_is_a_failure(self):
        found = measure(Broken, Ping())["ping", "cold", 3, "broken"]
        self.assertEqual(found.runs, 0)
        self.assertTrue(found.failures[0].startswith("exit code 3"), found.failures)

    def test_a_tool_that_cannot_be_reset_is_a_failure(self):
        found = measure(Stuck, Ping())
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
        found = measure(Cached, Ping())
        self.assertEqual(found["ping", "cold", 3, "cached"].runs, 0)
        self.assertEqual(found["ping", "warm", 3, "cached"].runs, 2)


if __name__ == "__main__":
    unittest.main()
