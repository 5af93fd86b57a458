"""The order of measurements: workload, number of hosts, repeat, and within each repeat all tools in turn."""
import dataclasses
import subprocess
import time

import measure
from peers import Failure


@dataclasses.dataclass
class Plan:
    workloads: list
    peers: list
    hosts: list  # all running hosts
    host_counts: list
    repeats: int
    seconds_per_cell: float  # a cell that has taken longer gets no more repeats
    calm: float  # wait while a larger share of the CPU is busy
    patience: float  # but no longer than this, in seconds


def run(plan, meter, note):
    """Measures the whole plan. Each record, a dict, is passed to `note` immediately."""
    spent, hopeless = {}, set()
    for workload in plan.workloads:
        for count in workload.host_counts if workload.host_counts is not None else plan.host_counts:
            if count and count not in plan.host_counts:
                continue
            for repeat in range(plan.repeats):
                # Interleaved, so that disturbances of the machine affect all tools alike; rotated, so that no tool
                # always follows the same other one.
                for peer in plan.peers[repeat % len(plan.peers) :] + plan.peers[: repeat % len(plan.peers)]:
                    cell = (workload.name, count, peer.name)
                    if spent.get(cell, 0) > plan.seconds_per_cell or (workload.name, peer.name) in hopeless:
                        continue
                    started = time.monotonic()
                    for record in _turn(plan, meter, workload, peer, plan.hosts[:count], repeat):
                        note(record)
                        if record.get("timed_out"):
                            # A run with more hosts would only take longer.
                            hopeless.add((workload.name, peer.name))
                    spent[cell] = spent.get(cell, 0) + time.monotonic() - started


def _turn(plan, meter, workload, peer, hosts, repeat):
    """Runs one tool's turn: all phases of the workload. Then its connections are closed."""
    try:
        for phase in workload.phases:
            if phase in peer.skipped_phases:
                continue
            place = {"peer": peer.name, "workload": workload.name, "phase": phase, "hosts": len(hosts), "repeat": repeat}
            try:
                _prepare(meter, workload, peer, hosts, phase)
            except (Failure, OSError, subprocess.SubprocessError) as error:
                yield {**place, "failure": f"preparing: {error}", "output": ""}
                return
            for _ in range(workload.rounds):
                command = workload.command(peer, hosts, phase)
                if command is None:
                    return
                measure.wait_for_calm(plan.calm, plan.patience)
                measurement = meter.measure(command, workload.target_roots())
                failure = _failure(workload, peer, hosts, phase, measurement)
                record = {**place, **dataclasses.asdict(measurement), "failure": failure}
                if failure is None:
                    record["wall"] = workload.seconds(phase, measurement)
                record["output"] = measurement.output[-2000:] if failure else ""
                yield record
    finally:
        # The tool must not affect the next one: processes that remain after closing are killed.
        try:
            if hosts:
                peer.close(hosts)
        except (OSError, subprocess.SubprocessError):
            pass
        workload.finish()
        meter.end_leftovers()


def _prepare(meter, workload, peer, hosts, phase):
    workload.prepare(peer, hosts, phase)
    if phase in workload.phases_without_connections:
        sessions = meter.open_sessions()
        if sessions:
            raise Failure(f"{sessions} processes of earlier sessions are still on the hosts: it would not start {phase}")


def _failure(workload, peer, hosts, phase, measurement):
    """Returns why the run doesn't count, or None."""
    if measurement.timed_out:
        return "timed out"
    if measurement.exit_code != 0:
        return f"exit code {measurement.exit_code}: {measurement.output.strip()[-300:]}"
    try:
        workload.prove(peer, hosts, phase, measurement)
    except Failure as failure:
        return str(failure)
    return None
