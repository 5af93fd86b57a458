"""The resources of processes: CPU time and memory of process trees, read from /proc."""
import os

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
FORKED_NOT_EXECUTED = 0x40  # the kernel's PF_FORKNOEXEC


def tree(roots):
    """Returns the given processes and all their descendants."""
    found, todo = [], list(roots)
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children(pid)
    return found


def children(pid):
    found = []
    for task in _names(f"/proc/{pid}/task"):
        found += [int(child) for child in _read(f"/proc/{pid}/task/{task}/children").split()]
    return found


def cpu_seconds(pids):
    return sum(_cpu_seconds(pid) for pid in pids)


def _cpu_seconds(pid):
    """Returns a live process's CPU time, including that of the children it has waited for.

    Its own part is read from schedstat, in nanoseconds: stat has only multiples of 10 ms, which would hide most of what
    a short, still open session has used. For the waited children there is only stat.
    """
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return 0.0
    fields = stat[stat.rindex(")") + 2 :].split()
    own_ticks, waited_ticks = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    nanoseconds = 0
    for task in _names(f"/proc/{pid}/task"):
        nanoseconds += int((_read(f"/proc/{pid}/task/{task}/schedstat") or "0").split()[0])
    # Threads that have exited are counted only in stat.
    return max(nanoseconds / 1e9, own_ticks / TICKS) + waited_ticks / TICKS


def resident_bytes(pids):
    """Returns the sum of the resident sizes; pages that several processes share are counted for each."""
    total = 0
    for pid in pids:
        statm = _read(f"/proc/{pid}/statm")
        if statm and not _borrows_memory(pid, statm):
            total += int(statm.split()[1]) * PAGE
    return total


def _borrows_memory(pid, statm):
    """Whether the process was created by vfork and hasn't called exec, so that it shows its parent's memory."""
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return False
    fields = stat[stat.rindex(")") + 2 :].split()
    parent, flags = fields[1], int(fields[6])
    return bool(flags & FORKED_NOT_EXECUTED) and _read(f"/proc/{parent}/statm") == statm


def command_name(pid):
    return _read(f"/proc/{pid}/comm").strip()


def machine_cpu_seconds():
    """The busy and the idle CPU seconds of the whole machine since the boot."""
    with open("/proc/stat") as stat:
        values = [int(value) / TICKS for value in stat.readline().split()[1:9]]
    idle = values[3] + values[4]
    return sum(values) - idle, idle


# A process may end between being listed and being read; its files are then missing.


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""
