"""What we have promised ourselves, judged by the numbers of the same run."""
import dataclasses

PASS, FAIL, UNKNOWN = "pass", "FAIL", "not measured"


@dataclasses.dataclass(frozen=True)
class Aim:
    """A limit on one cell of ours: as a ratio to a peer's same cell, or absolute where `peer` is None."""

    title: str
    workload: str
    phase: str
    hosts: int
    peer: str
    limit: float
    goal: float = None  # what we would like beyond the limit
    field: str = "wall"  # or "memory"
    unit: str = ""
    scale: float = 1  # shown value = measured value * scale

    def judge(self, cells, ours):
        """(verdict, by the medians, by the minima); the verdict is by the medians."""
        cell = cells.get((self.workload, self.phase, self.hosts, ours))
        if cell is None:
            return UNKNOWN, None, None
        if not cell.good or cell.failures:
            return FAIL, None, None
        if self.field == "memory":
            median = minimum = cell.memory * self.scale
        elif self.peer is None:
            median, minimum = cell.wall_median * self.scale, cell.wall_min * self.scale
        else:
            peer = cells.get((self.workload, self.phase, self.hosts, self.peer))
            if peer is None or not peer.good:
                return UNKNOWN, None, None
            median, minimum = cell.wall_median / peer.wall_median, cell.wall_min / peer.wall_min
        # An absolute limit is "under", a ratio is "at most".
        holds = median <= self.limit if self.peer else median < self.limit
        if not holds:
            return FAIL, median, minimum
        if self.goal is not None and median > self.goal:
            return f"{PASS} (goal {self.goal:g} missed)", median, minimum
        return PASS, median, minimum

    def limit_text(self):
        goal = f", goal {self.goal:g}" if self.goal is not None else ""
        return f"≤ {self.limit:g} × {self.peer}{goal}" if self.peer else f"< {self.limit:g} {self.unit}"


def _memory(title, workload, phase):
    return Aim(f"controller's peak memory, {title}", workload, phase, 100, None, 50, field="memory", unit="MB", scale=1e-6)


AIMS = [
    Aim("ping cold, 100 hosts", "ping", "cold", 100, "openssh-curve25519", 1.0, goal=0.7),
    Aim("ping cold, 1 host", "ping", "cold", 1, "openssh-curve25519", 0.5),
    # The same limits where the agent is there already, as it is after the first contact.
    Aim("ping reconnect, 100 hosts", "ping", "reconnect", 100, "openssh-curve25519", 1.0, goal=0.7),
    Aim("ping reconnect, 1 host", "ping", "reconnect", 1, "openssh-curve25519", 0.5),
    Aim("ping warm, 100 hosts", "ping", "warm", 100, "openssh-controlmaster", 0.1),
    Aim("10 MB to 10 hosts, cold", "copy", "cold", 10, "openssh-curve25519", 1.0),
    Aim("--version", "version", "", 0, None, 10, unit="ms", scale=1000),
    Aim("local no-op", "local-no-op", "", 0, None, 20, unit="ms", scale=1000),
    _memory("ping cold, 100 hosts", "ping", "cold"),
    _memory("ping warm, 100 hosts", "ping", "warm"),
    _memory("`uname -a`, 100 hosts", "command-output", "warm"),
]
