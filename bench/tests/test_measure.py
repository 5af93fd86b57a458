"""The resources of one command are measured correctly: time, CPU, memory, remaining processes, time-outs."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from measure import Command, Meter


class MeasureTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.meter = Meter(scratch.name, [], timeout=20)
        self.addCleanup(self.meter.end_leftovers)

    def run_script(self, script, program="sh", flag="-c"):
        return self.meter.measure(Command([program, flag, script], dict(os.environ)))

    def test_output_exit_code_and_wall_time(self):
        found = self.run_script("echo out; echo err >&2; sleep 0.3; exit 7")
        self.assertEqual((found.exit_code, found.output, found.timed_out), (7, "out\nerr\n", False))
        self.assertGreaterEqual(found.wall, 0.3)
        self.assertLess(found.wall, 3)
        self.assertLess(found.controller_cpu, 0.2, "sleeping takes no CPU")

    def test_cpu_of_a_child_counts(self):
        burn = "import time\nwhile time.process_time() < 0.3: pass"
        found = self.run_script(f"{sys.executable} -c '{burn}'; true")
        self.assertGreaterEqual(found.controller_cpu, 0.28)
        self.assertLess(found.controller_cpu, 2)

    def test_memory_is_the_sum_over_processes(self):
        hold = f"{sys.executable} -c 'import time; x = bytes(60_000_000); y = x[:-1] + b\"1\"; time.sleep(0.6)'"
        found = self.run_script(f"{hold} & {hold} & wait")
        self.assertGreater(found.memory, 100_000_000)
        self.assertGreaterEqual(found.processes, 3)

    def test_a_peak_too_short_for_the_sampler_is_seen(self):
        found = self.run_script("x = bytes(1) * 150_000_000", sys.executable)
        self.assertGreater(found.memory, 150_000_000)

    def test_our_own_memory_is_not_counted(self):
        ballast = bytes(1) * 100_000_000
        self.assertLess(self.run_script("true").memory, 30_000_000)
        del ballast

    def test_what_stays_in_the_background_is_counted_and_ended(self):
        found = self.run_script("setsid sh -c 'sleep 30; true' >/dev/null 2>&1 & exit 0")
        self.assertEqual(found.left_processes, 2, "the shell and its sleep")
        self.assertGreater(found.left_memory, 0)
        self.meter.end_leftovers()
        self.assertEqual(self.run_script("true").left_processes, 0)

    def test_a_command_that_hangs_is_ended(self):
        self.meter.timeout = 0.3
        found = self.run_script("sleep 30")
        self.assertTrue(found.timed_out)
        self.assertLess(found.wall, 10)


if __name__ == "__main__":
    unittest.main()
