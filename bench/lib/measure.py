"""Runs one command and measures its time, CPU and memory, on both the controller's and the targets' side."""
import ctypes
import dataclasses
import os
import resource
import signal
import subprocess
import threading
import time

import processes

PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass
class Command:
    arguments: list
    environment: dict = dataclasses.field(default_factory=dict)
    folder: str = None


@dataclasses.dataclass
class Measurement:
    exit_code: int
    output: str
    timed_out: bool
    wall: float  # seconds from start to exit
    controller_cpu: float  # of all processes started here, including background ones
    target_cpu: float  # of the sshds' process trees
    memory: int  # peak of the sum over the controller's processes, bytes
    processes: int  # most of them at once
    left_memory: int  # of processes that stay in the background after the exit (ssh masters, our keeper)
    left_processes: int
    others: float  # share of the machine's CPU used by neither side meanwhile


class Meter:
    """Measures commands. `target_roots` are the sshds: all processes below them belong to the targets."""

    def __init__(self, scratch, target_roots, timeout):
        self.output_path = os.path.join(scratch, "output")
        self.target_roots = list(target_roots)
        self.timeout = timeout
        # A background process of a command becomes our child instead of init's, so it can be measured and killed.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def measure(self, command, further_roots=()):
        """`further_roots` are additional `target_roots`, for this command only."""
        roots = self.target_roots
        self.target_roots = [*roots, *further_roots]
        try:
            return self._measure(command)
        finally:
            self.target_roots = roots

    def _measure(self, command):
        reap()
        controller_before, target_before = self._controller_cpu(), self._target_cpu()
        busy_before, _ = processes.machine_cpu_seconds()
        sampler = MemorySampler(self._controller_pids)
        with open(self.output_path, "wb") as output:
            started = time.monotonic()
            child = subprocess.Popen(
                command.arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=command.environment,
                cwd=command.folder,
                start_new_session=True,
            )
            # The sampler starts only now: until it has called exec, the child would show this driver's memory.
            sampler.start()
            deadline = Deadline(child.pid, self.timeout)
            # child.wait(timeout) polls, which would add up to 50 ms.
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        deadline.cancel()
        sampler.finish()
        busy = processes.machine_cpu_seconds()[0] - busy_before
        time.sleep(0.05)  # processes on the targets may still be exiting
        reap()
        left = self._controller_pids()
        left_memory = processes.resident_bytes(left)
        controller_cpu, target_cpu = self._controller_cpu() - controller_before, self._target_cpu() - target_before
        with open(self.output_path, errors="replace") as output:
            text = output.read()
        # The clock ticks every 10 ms, which is too coarse for short runs.
        others = max(0.0, busy - controller_cpu - target_cpu) / (wall * os.cpu_count()) if wall > 0.2 else 0.0
        return Measurement(
            exit_code=child.returncode,
            output=text,
            timed_out=deadline.passed,
            wall=wall,
            controller_cpu=controller_cpu,
            target_cpu=target_cpu,
            memory=max(sampler.peak_bytes, left_memory + _largest_process(usage)),
            processes=sampler.peak_processes,
            left_memory=left_memory,
            left_processes=len(left),
            others=others,
        )

    def open_sessions(self, patience=5):
        """Waits for the targets' sessions to end; returns how many processes are left besides the sshds."""
        end = time.monotonic() + patience
        while True:
            count = len(processes.tree(self.target_roots)) - len(self.target_roots)
            if count == 0 or time.monotonic() > end:
                return count
            time.sleep(0.02)

    def end_leftovers(self):
        """Kills all processes that were started and still run, each by its id."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for pid in self._controller_pids():
                try:
                    os.kill(pid, sign)
                except ProcessLookupError:
                    pass
            for _ in range(20):
                reap()
                if not self._controller_pids():
                    return
                time.sleep(0.05)

    def _controller_pids(self):
        roots = [pid for pid in processes.children(os.getpid()) if pid not in self.target_roots]
        return processes.tree(roots)

    def _controller_cpu(self):
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime + processes.cpu_seconds(self._controller_pids())

    def _target_cpu(self):
        return processes.cpu_seconds(processes.tree(self.target_roots))


def _largest_process(usage):
    """The kernel's peak of the command's largest process, for runs that are too short for the sampler.

    The child first shares our memory (vfork), which the kernel counts too: values up to ours mean nothing.
    """
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage.ru_maxrss * 1024 if usage.ru_maxrss > ours else 0


class MemorySampler(threading.Thread):
    """Samples the sum of the resident sizes. It sleeps long enough to use at most a twentieth of one core."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self._pids = pids
        self._stop_asked = threading.Event()
        self.peak_bytes = 0
        self.peak_processes = 0

    def run(self):
        while True:
            started = time.monotonic()
            pids = self._pids()
            self.peak_bytes = max(self.peak_bytes, processes.resident_bytes(pids))
            self.peak_processes = max(self.peak_processes, len(pids))
            if self._stop_asked.wait(max(0.002, 20 * (time.monotonic() - started))):
                return

    def finish(self):
        self._stop_asked.set()
        self.join()


class Deadline:
    """Kills the process group after this number of seconds: SIGTERM first, and SIGKILL ten seconds later."""

    def __init__(self, group, seconds):
        self.passed = False
        self._group = group
        self._timers = [
            threading.Timer(seconds, self._end, [signal.SIGTERM]),
            threading.Timer(seconds + 10, self._end, [signal.SIGKILL]),
        ]
        for timer in self._timers:
            timer.daemon = True
            timer.start()

    def cancel(self):
        for timer in self._timers:
            timer.cancel()

    def _end(self, sign):
        self.passed = True
        try:
            os.killpg(self._group, sign)
        except ProcessLookupError:
            pass


def reap():
    """Reaps orphans that have become our children and have exited."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def wait_for_calm(limit, patience):
    """Waits until less than `limit` of the machine's CPU is busy, at most `patience` seconds."""
    if patience <= 0:
        return
    end = time.monotonic() + patience
    while True:
        busy_before, idle_before = processes.machine_cpu_seconds()
        time.sleep(0.2)
        busy, idle = processes.machine_cpu_seconds()
        share = (busy - busy_before) / max(0.01, busy - busy_before + idle - idle_before)
        if share < limit or time.monotonic() > end:
            return
        time.sleep(0.5)
