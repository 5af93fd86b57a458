"""Minima, medians, ratios, aims and the report, on generated records."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import aims
import places
import report
from cells import cells
from workloads import all_workloads


def record(peer, wall, workload="ping", phase="cold", hosts=100, failure=None, others=0.0, memory=40_000_000):
    return {
        "peer": peer, "workload": workload, "phase": phase, "hosts": hosts, "failure": failure, "wall": wall,
        "controller_cpu": 0.1, "target_cpu": 0.2, "memory": memory, "left_memory": 0, "left_processes": 0,
        "others": others,
    }  # fmt: skip


def verdict(title, records):
    aim = next(aim for aim in aims.AIMS if aim.title == title)
    return aim.judge(cells(records), "rocksalt")[0]


class CellTest(unittest.TestCase):
    def test_disturbed_runs_count_only_where_there_are_no_others(self):
        walls = [record("a", 1.0), record("a", 3.0), record("a", 0.5, others=0.5)]
        cell = cells(walls)["ping", "cold", 100, "a"]
        self.assertEqual((cell.wall_min, cell.wall_median, cell.runs, cell.calm), (0.5, 2.0, 3, True))
        rough = cells([record("a", 4.0, others=0.5)])["ping", "cold", 100, "a"]
        self.assertEqual((rough.wall_median, rough.calm), (4.0, False))

    def test_failed_runs_are_not_timed(self):
        cell = cells([record("a", 0.001, failure="no answer"), record("a", 2.0)])["ping", "cold", 100, "a"]
        self.assertEqual((cell.wall_min, cell.runs, cell.failures), (2.0, 1, ["no answer"]))


class AimTest(unittest.TestCase):
    def test_ratio(self):
        title, peer = "ping cold, 100 hosts", record("openssh-curve25519", 2.0)
        for wall, expected in ((1.4, "pass"), (1.9, "pass (goal 0.7 missed)"), (2.0, "pass (goal 0.7 missed)"), (2.1, "FAIL")):
            self.assertEqual(verdict(title, [peer, record("rocksalt", wall)]), expected, wall)

    def test_absolute(self):
        for wall, expected in ((0.009, "pass"), (0.010, "FAIL")):
            runs = [record("rocksalt", wall, workload="version", phase="", hosts=0)]
            self.assertEqual(verdict("--version", runs), expected)

    def test_growth_is_against_our_own_other_phase(self):
        def runs(large):
            sizes = ((aims.THOUSAND, 0.01), (aims.MORE_FILES, large))
            return [record("rocksalt", wall, workload="compile", phase=phase, hosts=0) for phase, wall in sizes]

        title = "growth: 10,000 states, more files, whole command"
        for large, expected in ((0.11, "pass"), (0.111, "FAIL")):
            self.assertEqual(verdict(title, runs(large)), expected)
        self.assertEqual(verdict(title, runs(0.1)[1:]), "not measured")

    def test_limits_as_people_say_them(self):
        texts = {aim.title: aim.limit_text() for aim in aims.AIMS}
        self.assertEqual(texts["compile 1,000 states, whole command"], "≤ 1/30 × salt-call")
        self.assertEqual(texts["independent slow steps overlap, genius"], "≤ 0.35 × ours, ansible")
        self.assertEqual(texts["--version"], "< 10 ms")

    def test_memory_takes_the_worst_run(self):
        title = "controller's peak memory, ping cold, 100 hosts"
        runs = [record("rocksalt", 1, memory=10_000_000), record("rocksalt", 1, memory=50_000_001)]
        self.assertEqual(verdict(title, runs[:1]), "pass")
        self.assertEqual(verdict(title, runs), "FAIL")

    def test_no_verdict_without_numbers(self):
        title = "ping cold, 100 hosts"
        self.assertEqual(verdict(title, []), "not measured")
        self.assertEqual(verdict(title, [record("rocksalt", 1.0)]), "not measured")
        broken_peer = record("openssh-curve25519", 9.0, failure="timed out")
        self.assertEqual(verdict(title, [record("rocksalt", 1.0), broken_peer]), "not measured")

    def test_our_own_failures_fail_the_aim(self):
        runs = [record("openssh-curve25519", 2.0), record("rocksalt", 0.1), record("rocksalt", 0.1, failure="lost a host")]
        self.assertEqual(verdict("ping cold, 100 hosts", runs), "FAIL")

    def test_every_aim_is_about_something_that_is_measured(self):
        phases = {(workload.name, phase) for workload in all_workloads() for phase in workload.phases}
        for aim in aims.AIMS:
            self.assertIn((aim.workload, aim.phase), phases, aim.title)
            self.assertIn((aim.workload, aim.than or aim.phase), phases, aim.title)


class ReportTest(unittest.TestCase):
    def render(self, records, ours=("rocksalt",)):
        facts = {"machine": {"processor": "2 × x"}, "versions": {}, "missing": {}, "ours": list(ours)}
        return report.render(facts, records, all_workloads())

    def test_ratio_to_the_named_peer(self):
        text = self.render([record("rocksalt", 1.0), record("openssh-curve25519", 2.0), record("ansible", 24.0)])
        self.assertIn("cold (reference: openssh-curve25519)", text)
        self.assertIn("| 100 | rocksalt | 1.00 | 1.00 | 0.500 |", text)
        self.assertIn("| 100 | ansible | 24.0 | 24.0 | 12.0 |", text)

    def test_aims_of_what_was_not_asked_for_are_left_out(self):
        facts = {"machine": {}, "versions": {}, "missing": {}, "ours": ["rocksalt"], "workloads": ["version"]}
        text = report.render(facts, [record("rocksalt", 0.001, workload="version", phase="", hosts=0)], all_workloads())
        self.assertIn("| rocksalt | --version |", text)
        self.assertNotIn("| rocksalt | local no-op |", text)

    def test_failures_have_no_time_but_a_reason(self):
        text = self.render([record("ansible", 1.0, failure="2 of 100 hosts did not answer")])
        self.assertIn("| 100 | ansible | failed | failed |", text)
        self.assertIn("- ansible, ping cold, 100 hosts: 2 of 100 hosts did not answer", text)

    def test_builds_are_compared_with_the_first(self):
        text = self.render([record("old", 2.0), record("new", 1.0)], ours=("old", "new"))
        self.assertIn("| ping cold | 100 | new | 0.500 | 0.500 | 1.00 | 1.00 |", text)

    def test_no_path_of_this_machine(self):
        reason = f"cannot open {places.SCRATCH}/x, {places.REPOSITORY}/y, {places.VENVS}/z, {os.path.expanduser('~')}/w"
        text = self.render([record("ansible", 1.0, failure=reason)])
        self.assertIn("cannot open $BENCH_DIR/x, $REPOSITORY/y, $VENVS/z, ~/w", text)


if __name__ == "__main__":
    unittest.main()
