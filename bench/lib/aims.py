"""The project's performance aims, judged by the numbers of the same run."""
import dataclasses

from workloads.compile_states import FIRST, SIZES

PASS, FAIL, UNKNOWN = "pass", "FAIL", "not measured"


@dataclasses.dataclass(frozen=True)
class Aim:
    """A limit on one of our cells: relative to a peer's same cell or to our own cell of phase `than`, or absolute."""

    title: str
    workload: str
    phase: str
    hosts: int
    peer: str
    limit: float
    than: str = None
    goal: float = None  # the desired value beyond the limit
    field: str = "wall"  # or "memory"
    unit: str = ""
    scale: float = 1  # shown value = measured value * scale

    def judge(self, cells, ours):
        """Returns (verdict, value by the medians, value by the minima); the verdict is by the medians."""
        cell = cells.get((self.workload, self.phase, self.hosts, ours))
        if cell is None:
            return UNKNOWN, None, None
        if not cell.good or cell.failures:
            return FAIL, None, None
        if self.field == "memory":
            median = minimum = cell.memory * self.scale
        elif self._is_ratio():
            base = cells.get((self.workload, self.than or self.phase, self.hosts, self.peer or ours))
            if base is None or not base.good:
                return UNKNOWN, None, None
            median, minimum = cell.wall_median / base.wall_median, cell.wall_min / base.wall_min
        else:
            median, minimum = cell.wall_median * self.scale, cell.wall_min * self.scale
        # An absolute limit is strict, a ratio may be equal to its limit.
        holds = median <= self.limit if self._is_ratio() else median < self.limit
        if not holds:
            return FAIL, median, minimum
        if self.goal is not None and median > self.goal:
            return f"{PASS} (goal {self.goal:g} missed)", median, minimum
        return PASS, median, minimum

    def limit_text(self):
        goal = f", goal {self.goal:g}" if self.goal is not None else ""
        if not self._is_ratio():
            return f"< {self.limit:g} {self.unit}"
        limit = f"1/{round(1 / self.limit)}" if self.limit < 0.1 else f"{self.limit:g}"
        return f"≤ {limit} × {self.peer or f'ours, {self.than}'}{goal}"

    def _is_ratio(self):
        return self.peer is not None or self.than is not None


THOUSAND, MORE_FILES, LARGER_FILES = SIZES


def _growth(title, workload, phase):
    return Aim(f"growth: {title}", workload, phase, 0, None, 11, than=THOUSAND)


def _memory(title, workload, phase):
    return Aim(f"controller's peak memory, {title}", workload, phase, 100, None, 50, field="memory", unit="MB", scale=1e-6)


AIMS = [
    Aim("ping cold, 100 hosts", "ping", "cold", 100, "openssh-curve25519", 1.0, goal=0.7),
    Aim("ping cold, 1 host", "ping", "cold", 1, "openssh-curve25519", 0.5),
    # The same limits with the agent already on the host, as after the first contact.
    Aim("ping reconnect, 100 hosts", "ping", "reconnect", 100, "openssh-curve25519", 1.0, goal=0.7),
    Aim("ping reconnect, 1 host", "ping", "reconnect", 1, "openssh-curve25519", 0.5),
    Aim("ping warm, 100 hosts", "ping", "warm", 100, "openssh-controlmaster", 0.1),
    Aim("10 MB to 10 hosts, cold", "copy", "cold", 10, "openssh-curve25519", 1.0),
    Aim("--version", "version", "", 0, None, 10, unit="ms", scale=1000),
    Aim("local no-op", "local-no-op", "", 0, None, 20, unit="ms", scale=1000),
    _memory("ping cold, 100 hosts", "ping", "cold"),
    _memory("ping warm, 100 hosts", "ping", "warm"),
    _memory("`uname -a`, 100 hosts", "command-output", "warm"),
    Aim("compile 1,000 states, whole command", "compile", THOUSAND, 0, "salt-call", 1 / 30),
    Aim("compile 1,000 states, in process", "compile-in-process", THOUSAND, 0, None, 10, unit="ms", scale=1000),
    Aim("the same, the first of a process", "compile-in-process", f"{THOUSAND}{FIRST}", 0, None, 10, unit="ms", scale=1000),
    _growth("10,000 states, more files, whole command", "compile", MORE_FILES),
    _growth("10,000 states, larger files, whole command", "compile", LARGER_FILES),
    _growth("10,000 states, more files, in process", "compile-in-process", MORE_FILES),
    _growth("10,000 states, larger files, in process", "compile-in-process", LARGER_FILES),
    Aim("apply 110 states, cold, 1 host", "apply", "cold-first", 1, "openssh-curve25519", 2),
    Aim("apply 110 states, cold, 10 hosts", "apply", "cold-first", 10, "openssh-curve25519", 2),
    Aim("apply 110 states, cold, 50 hosts", "apply", "cold-first", 50, "openssh-curve25519", 1.5),
    Aim("apply 110 states again, warm, 1 host", "apply", "warm-second", 1, "openssh-controlmaster", 1.5),
    Aim("apply 110 states again, warm, 10 hosts", "apply", "warm-second", 10, "openssh-controlmaster", 1.5),
    Aim("apply 110 states again, warm, 50 hosts", "apply", "warm-second", 50, "openssh-controlmaster", 1.5),
    # The best possible ratio is the chain's time over that of all steps: 5 of 25.
    Aim("independent slow steps overlap, justdoit", "overlap", "justdoit", 0, None, 0.35, than="ansible"),
    Aim("independent slow steps overlap, genius", "overlap", "genius", 0, None, 0.35, than="ansible"),
    Aim("five web servers from nothing, genius", "web-server", "genius", 0, None, 1.0, than="ansible", goal=0.8),
]
