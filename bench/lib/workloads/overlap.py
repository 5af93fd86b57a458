"""Independent slow steps: they must overlap in the modes that allow it, and only there."""
import os
import shutil

import hosts as testbed
from peers import Failure
from workloads import Workload

STAMPS = os.path.join(testbed.ROOT, "overlap")
SECONDS = 0.2
INDEPENDENT, CHAINED = 20, 5
STEPS = [(f"alone{number}", None) for number in range(INDEPENDENT)] + [
    (f"chained{number}", f"chained{number - 1}" if number else None) for number in range(CHAINED)
]


class Overlap(Workload):
    """The phases are our ordering modes. A tool without such modes uses its closest equivalent."""

    name = "overlap"
    title = f"{INDEPENDENT} independent steps and a chain of {CHAINED}, each {SECONDS} s of sleep"
    phases = ("ansible", "justdoit", "genius")
    host_counts = (0,)

    def prepare(self, peer, hosts, phase):
        shutil.rmtree(STAMPS, ignore_errors=True)
        os.makedirs(STAMPS)

    def command(self, peer, hosts, phase):
        return peer.slow_steps(phase)

    def prove(self, peer, hosts, phase, measurement):
        times = {name: (_stamp(name, "start"), _stamp(name, "end")) for name, _ in STEPS}
        for name, (start, end) in times.items():
            if end - start < SECONDS:
                raise Failure(f"{name} took {end - start:.3f} s, less than it sleeps")
        for name, required in STEPS:
            if required and times[name][0] < times[required][1]:
                raise Failure(f"{name} started before {required}, which it requires, had ended")
        if phase == "ansible" and most_at_once(times.values()) > 1:
            raise Failure("steps overlapped in a mode that runs one after another")


def most_at_once(intervals):
    moments = sorted([(start, 1) for start, _ in intervals] + [(end, -1) for _, end in intervals])
    most = now = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


def _stamp(name, kind):
    try:
        with open(os.path.join(STAMPS, f"{name}.{kind}")) as file:
            return float(file.read())
    except (FileNotFoundError, ValueError):
        raise Failure(f"{name} has no {kind}") from None
