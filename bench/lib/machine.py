"""The facts that the numbers depend on: the machine, described without its name."""
import os
import platform
import re
import time


def facts():
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": f"{os.cpu_count()} × {_search('/proc/cpuinfo', r'model name[^:]*: (.+)')}",
        "memory": f"{int(_search('/proc/meminfo', r'MemTotal: +([0-9]+)') or 0) / 2**20:.0f} GiB",
        "system": f"{_search('/etc/os-release', r'PRETTY_NAME=(.+)').strip(chr(34))}, Linux {platform.release()}",
        "network": "loopback: no round-trip time; hosts and controller share the processor",
    }


def _search(path, pattern):
    try:
        with open(path) as file:
            found = re.search(pattern, file.read())
    except OSError:
        return ""
    return found.group(1).strip() if found else "unknown"
