"""The proofs of the workloads about states find what is missing, wrong or done twice."""
import os
import unittest

from honest import Honest, measure

import configuration
import places
from measure import Command
from peers import Failure
from workloads import overlap
from workloads.apply_states import ApplyStates
from workloads.compile_states import FIRST, SIZES, CompileInProcess, CompileStates

THOUSAND = next(iter(SIZES))


class WrongMode(Honest):
    def script(self):
        return super().script().replace("chmod 640", "chmod 644")


class WrongContents(Honest):
    def script(self):
        return super().script().replace("value = 49", "value = 50")


class Unguarded(Honest):
    """Runs its commands each time."""

    def script(self):
        return super().script().replace("[ -e command", "false && [ -e command")


class Rewriting(Honest):
    """Writes all files each time, even if they are correct."""

    def script(self):
        return super().script().replace("[ -f file", "false && [ -f file")


class FewHosts(Honest):
    most_hosts_to_apply = 1


class ApplyTest(unittest.TestCase):
    def found(self, peer_class, count=1):
        return {key[1]: cell for key, cell in measure(peer_class, ApplyStates(), count, repeats=1).items()}

    def test_the_script_that_others_are_compared_with_does_it_all(self):
        found = self.found(Honest, 10)
        self.assertEqual(list(found), list(ApplyStates.phases))
        for phase, cell in found.items():
            self.assertEqual((cell.runs, cell.failures), (1, []), phase)

    def test_contents_and_modes_are_looked_at(self):
        self.assertIn("file001 has the mode 0644, not 0640", self.found(WrongMode)["cold-first"].failures[0])
        self.assertIn("file007 has other contents", self.found(WrongContents)["cold-first"].failures[0])

    def test_what_runs_twice_is_found(self):
        found = self.found(Unguarded)
        self.assertEqual(found["cold-first"].runs, 1)
        self.assertIn("command 1 ran 2 times, not once", found["warm-second"].failures[0])

    def test_what_is_written_again_is_found(self):
        found = self.found(Rewriting)
        self.assertEqual(found["cold-first"].runs, 1)
        self.assertIn("files were written again", found["warm-second"].failures[0])

    def test_slow_tools_are_spared_many_hosts(self):
        self.assertEqual(self.found(FewHosts, 10), {})

    def test_the_job_has_the_size_that_its_title_says(self):
        script = Honest.script(None)
        self.assertEqual((script.count("chmod"), script.count("[ -e ")), (100, 10))
        self.assertEqual((configuration.FILES, configuration.COMMANDS), (100, 10))


class Compiler(Honest):
    times = (0.5, 0.1, 0.3, 0.2)
    lost = 0

    def compile(self, size):
        return self._print("x" * (size.states - self.lost))

    def compiled(self, output):
        return output.count("x")

    def compile_in_process(self, size):
        lines = [f'{{"steps": {size.states - self.lost}, "seconds": {seconds}}}' for seconds in self.times]
        return self._print("\n".join(lines))

    def _print(self, text):
        path = places.write(os.path.join(self.folder, f"output{hash(text)}"), text)
        return Command(["cat", path], self.environment())


class Incomplete(Compiler):
    lost = 1


class Silent(Compiler):
    times = ()


class CompileTest(unittest.TestCase):
    def test_every_step_must_be_there(self):
        for cell in measure(Compiler, CompileStates(), 1, repeats=1).values():
            self.assertEqual((cell.runs, cell.failures), (3, []))
        cell = measure(Incomplete, CompileStates(), 1, repeats=1)["compile", THOUSAND, 0, "honest"]
        self.assertEqual((cell.runs, cell.failures[0]), (0, "999 steps of 1000 in its output"))

    def test_in_process_the_compilers_own_times_count(self):
        found = measure(Compiler, CompileInProcess(), 1, repeats=1)
        self.assertEqual(found["compile-in-process", THOUSAND + FIRST, 0, "honest"].wall_median, 0.5)
        self.assertEqual(found["compile-in-process", THOUSAND, 0, "honest"].wall_median, 0.2)

    def test_no_times_and_lost_steps_are_failures(self):
        for peer, reason in ((Silent, "says no times"), (Incomplete, "[999] steps, not 1000")):
            cell = measure(peer, CompileInProcess(), 1, repeats=1)["compile-in-process", THOUSAND, 0, "honest"]
            self.assertEqual(cell.runs, 0)
            self.assertIn(reason, cell.failures[0])


class OverlapTest(unittest.TestCase):
    def prove(self, phase, times):
        overlap.Overlap().prepare(None, [], phase)
        for name, (start, end) in times.items():
            for kind, moment in (("start", start), ("end", end)):
                places.write(os.path.join(overlap.STAMPS, f"{name}.{kind}"), f"{moment:.6f}\n")
        overlap.Overlap().prove(None, [], phase, None)

    def one_by_one(self):
        return {name: (number * 0.3, number * 0.3 + 0.25) for number, (name, _) in enumerate(overlap.STEPS)}

    def all_at_once(self):
        return {name: (0.0, 0.25) for name, _ in overlap.STEPS} | {
            name: (number * 0.3, number * 0.3 + 0.25)
            for number, (name, _) in enumerate(overlap.STEPS[overlap.INDEPENDENT :])
        }

    def test_right_orders_pass(self):
        self.prove("ansible", self.one_by_one())
        self.prove("genius", self.one_by_one())
        self.prove("justdoit", self.all_at_once())

    def test_wrong_orders_fail(self):
        with self.assertRaisesRegex(Failure, "overlapped"):
            self.prove("ansible", self.all_at_once())
        with self.assertRaisesRegex(Failure, "chained1 started before chained0"):
            self.prove("justdoit", self.all_at_once() | {"chained1": (0.2, 0.5)})

    def test_steps_left_out_or_cut_short_fail(self):
        with self.assertRaisesRegex(Failure, "alone3 has no start"):
            times = self.one_by_one()
            del times["alone3"]
            self.prove("ansible", times)
        with self.assertRaisesRegex(Failure, "alone0 took 0.100 s"):
            self.prove("ansible", self.one_by_one() | {"alone0": (0.0, 0.1)})

    def test_the_most_at_once(self):
        self.assertEqual(overlap.most_at_once([(0, 1), (1, 2), (2, 3)]), 1)
        self.assertEqual(overlap.most_at_once([(0, 2), (1, 3), (1.5, 4)]), 3)


if __name__ == "__main__":
    unittest.main()
