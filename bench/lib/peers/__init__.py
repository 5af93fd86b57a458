"""The tools that are compared: what a tool must offer, and the list of them. One file a family of tools."""
import os
import re
import shutil
import subprocess

import places


class Peer:
    """One tool. A job is a method that gives the command doing it, or None where the tool has no such thing.

    Later workloads add jobs: a method here that answers None, and one in each tool that can do it.
    """

    name = ""
    packages = ()  # Debian packages it needs
    venv = None  # name of its Python environment, if it comes from PyPI
    requirements = ()  # what pip puts there
    by_default = True  # False: only measured when named with --peers
    skipped_phases = ()  # phases that would be the same as another one for this tool
    answer = None  # pattern in a ping's output, one match a host, whose first group is the host's id
    local_answer = None  # pattern in the local no-op's output
    most_hosts_to_apply = 50  # fewer for tools that would need many minutes

    def __init__(self, scratch):
        self.folder = os.path.join(scratch, self.name)
        self.home = os.path.join(self.folder, "home")
        self.runtime = os.path.join(self.folder, "run")
        for folder in (self.home, self.runtime):
            os.makedirs(folder, mode=0o700)

    # Installation.

    def program(self):
        """The file without which the tool is not here."""
        raise NotImplementedError

    def missing(self):
        """Why the tool can't be measured here, or None."""
        if not shutil.which(self.program()):
            return f"{places.scrub(self.program())} is not here; `bench/peers {self.name}` installs it"
        return None

    def version(self):
        raise NotImplementedError

    def settings(self):
        """Settings that are not the tool's defaults, for the report."""
        return ""

    # Its state between runs.

    def prepare(self, hosts):
        """Writes the tool's own files, once, before anything is measured."""

    def close(self, hosts):
        """Ends the connections that the tool keeps open."""

    def forget(self, hosts):
        """As `close`, and removes what the tool keeps on the hosts: the next run is cold."""
        self.close(hosts)

    def check_cold(self, hosts):
        """Raises Failure when a run that was to be cold cannot have been."""

    # Jobs.

    def ping(self, hosts):
        return None

    def command_output(self, hosts):
        """`uname -a` on each host, printing each host's output."""
        return None

    def copy(self, hosts, source, destination):
        """One file to all hosts. In the destination, `{id}` stands for the host's id."""
        return None

    def print_version(self):
        return None

    def local_no_op(self):
        """The tool's smallest useful thing, on this machine, without any connection."""
        return None

    def apply(self, hosts):
        """Brings about on each host what `configuration` says."""
        return None

    def compile(self, size):
        """Compiles the `many` states of this size, and prints all steps."""
        return None

    def compiled(self, output):
        """How many steps the output of `compile` has."""
        return 0

    def compile_in_process(self, size):
        """The same again and again, printing a line {"steps": …, "seconds": …} for each time."""
        return None

    def slow_steps(self, mode):
        """Runs the steps of the workload `overlap` on this machine, in one of our ordering modes or what comes next to it."""
        return None

    def web_server(self, bed, mode):
        """Applies `examples/webserver` to the hosts of a bed, in one of our ordering modes."""
        return None

    # For the implementations.

    def environment(self, **more):
        """All that a command gets: nothing of the caller's settings reaches a tool."""
        path = os.environ.get("PATH", "/usr/bin:/bin")
        if self.venv:
            path = os.path.join(places.VENVS, self.venv, "bin") + ":" + path
        base = {"PATH": path, "HOME": self.home, "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": self.runtime}
        return {**base, **more}

    def in_venv(self, program):
        return os.path.join(places.VENVS, self.venv, "bin", program)

    def ask(self, *arguments):
        """What a program of the tool prints: for versions and for clearing up, never measured."""
        answer = subprocess.run(
            arguments, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        return (answer.stdout + answer.stderr).strip()

    def answered(self, output):
        return set(re.findall(self.answer, output, re.MULTILINE))


class Failure(Exception):
    """A run that can't count; the text says why."""


def all_peers():
    """Every tool besides ours, in the order of the report."""
    from peers import ansible, openssh, pyinfra, salt

    return [
        openssh.Plain,
        openssh.Curve25519,
        openssh.ControlMaster,
        pyinfra.Pyinfra,
        ansible.Ansible,
        ansible.Tuned,
        ansible.Mitogen,
        salt.SaltSsh,
        salt.SaltCall,
    ]
