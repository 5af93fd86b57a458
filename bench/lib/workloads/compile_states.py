"""Compiles state files to steps: a chain of requisites through all files, and as many states that depend on it."""
import dataclasses
import json

from peers import Failure
from workloads import Workload


@dataclasses.dataclass(frozen=True)
class Size:
    states: int
    files: int

    def __str__(self):
        return f"{self.states} states in {self.files} files"


# Ten times as many states, as more files or as larger files: a compiler may be quadratic in either.
SIZES = {str(size): size for size in (Size(1000, 10), Size(10_000, 100), Size(10_000, 10))}
FIRST = ", the first of a process"


class CompileStates(Workload):
    """Runs whole commands, which print the steps as JSON."""

    name = "compile"
    title = "compiling states, whole commands"
    phases = tuple(SIZES)
    host_counts = (0,)
    rounds = 3
    references = {phase: "salt-call" for phase in SIZES}

    def command(self, peer, hosts, phase):
        return peer.compile(SIZES[phase])

    def prove(self, peer, hosts, phase, measurement):
        count = peer.compiled(measurement.output)
        if count != SIZES[phase].states:
            raise Failure(f"{count} steps of {SIZES[phase].states} in its output")


class CompileInProcess(Workload):
    """Runs only the compiler: a program compiles repeatedly, each time from the files, and prints each duration."""

    name = "compile-in-process"
    title = "compiling states, in process"
    phases = (next(iter(SIZES)) + FIRST, *SIZES)
    host_counts = (0,)
    references = {phase: "salt-call" for phase in phases}

    def command(self, peer, hosts, phase):
        return peer.compile_in_process(self._size(phase))

    def prove(self, peer, hosts, phase, measurement):
        counts = {count for count, _ in self._compiled(measurement)}
        if counts != {self._size(phase).states}:
            raise Failure(f"{sorted(counts)} steps, not {self._size(phase).states}")

    def seconds(self, phase, measurement):
        times = [seconds for _, seconds in self._compiled(measurement)]
        # The later ones' median is the time in a program that keeps running.
        return times[0] if phase.endswith(FIRST) else sorted(times[1:])[len(times[1:]) // 2]

    def _size(self, phase):
        return SIZES[phase.removesuffix(FIRST)]

    def _compiled(self, measurement):
        """Returns [(steps, seconds)] of all times; there must be at least two."""
        try:
            found = [(line["steps"], line["seconds"]) for line in map(json.loads, measurement.output.splitlines())]
        except (ValueError, KeyError, TypeError):
            found = []
        if len(found) < 2:
            raise Failure(f"its output says no times: {measurement.output.strip()[-200:]}")
        return found
