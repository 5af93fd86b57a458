"""Summarizes the runs of one measurement in a cell: minimum, median, and their reliability."""
import dataclasses
import statistics

# A run is undisturbed if everything else on the machine used less than this share of its CPU.
CALM = 0.12


@dataclasses.dataclass
class Cell:
    runs: int  # successful ones
    failures: list  # the reasons of the others
    calm: bool  # False if every run was disturbed
    wall_min: float = None
    wall_median: float = None
    controller_cpu: float = None
    target_cpu: float = None
    memory: float = None  # the largest peak of all runs
    left_memory: float = None
    left_processes: int = None

    @property
    def good(self):
        return self.runs > 0


def cells(records):
    """Returns {(workload, phase, hosts, peer): Cell}, in the order in which they were first measured."""
    groups = {}
    for record in records:
        key = (record["workload"], record["phase"], record["hosts"], record["peer"])
        groups.setdefault(key, []).append(record)
    return {key: _cell(group) for key, group in groups.items()}


def _cell(records):
    good = [record for record in records if record["failure"] is None]
    failures = [record["failure"] for record in records if record["failure"] is not None]
    if not good:
        return Cell(0, failures, False)
    undisturbed = [record for record in good if record["others"] < CALM]

    def median(field):
        return statistics.median(record[field] for record in undisturbed or good)

    return Cell(
        runs=len(good),
        failures=failures,
        calm=bool(undisturbed),
        wall_min=min(record["wall"] for record in good),
        wall_median=median("wall"),
        controller_cpu=median("controller_cpu"),
        target_cpu=median("target_cpu"),
        memory=max(record["memory"] for record in good),
        left_memory=max(record["left_memory"] for record in good),
        left_processes=max(record["left_processes"] for record in good),
    )
