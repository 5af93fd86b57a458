"""The compared tools: the interface of a tool, and their list. Each family of tools has a file."""
import os
import re
import shutil
import subprocess

import places


class Peer:
    """One tool. A job is a method that returns the command for it, or None if the tool doesn't support it.

    A new workload adds a job: a method here that returns None, and one in each tool that supports it.
    """

    name = ""
    packages = ()  # Debian packages it needs
    venv = None  # name of its Python environment, if it comes from PyPI
    requirements = ()  # the requirements that pip installs there
    by_default = True  # False: only measured when named with --peers
    skipped_phases = ()  # phases that would be the same as another one for this tool
    answer = None  # pattern in a ping's output; one match for each host, whose first group is the host's id
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
        """The file whose absence means that the tool isn't installed."""
        raise NotImplementedError

    def missing(self):
        """Returns why the tool can't be measured here, or None."""
        if not shutil.which(self.program()):
            return f"{places.scrub(self.program())} is not here; `bench/peers {self.name}` installs it"
        return None

    def version(self):
        raise NotImplementedError

    def settings(self):
        """Settings that are not the tool's defaults, for the report."""
        return ""

    # State between runs.

    def prepare(self, hosts):
        """Writes the tool's own files once, before any measurement."""

    def close(self, hosts):
        """Closes the connections that the tool keeps open."""

    def forget(self, hosts):
        """Like `close`, and removes what the tool keeps on the hosts, so that the next run is cold."""
        self.close(hosts)

    def check_cold(self, hosts):
        """Raises Failure if a run that should be cold can't have been."""

    # Jobs.

    def ping(self, hosts):
        return None

    def command_output(self, hosts):
        """Runs `uname -a` on each host and prints each host's output."""
        return None

    def copy(self, hosts, source, destination):
        """Copies one file to all hosts. In the destination, `{id}` stands for the host's id."""
        return None

    def print_version(self):
        return None

    def local_no_op(self):
        """Runs the tool's smallest useful job on this machine, without any connection."""
        return None

    def apply(self, hosts):
        """Creates on each host what `configuration` describes."""
        return None

    def compile(self, size):
        """Compiles the `many` states of this size and prints all steps."""
        return None

    def compiled(self, output):
        """Returns the number of steps in the output of `compile`."""
        return 0

    def compile_in_process(self, size):
        """Compiles repeatedly in one process; prints a line {"steps": …, "seconds": …} for each time."""
        return None

    def slow_steps(self, mode):
        """Runs the steps of the workload `overlap` on this machine, in one of our modes or the closest equivalent."""
        return None

    def web_server(self, bed, mode):
        """Applies `examples/webserver` to the hosts of a bed, in one of our ordering modes."""
        return None

    # Helpers for the implementations.

    def environment(self, **more):
        """The whole environment of a command: none of the caller's settings reaches a tool."""
        path = os.environ.get("PATH", "/usr/bin:/bin")
        if self.venv:
            path = os.path.join(places.VENVS, self.venv, "bin") + ":" + path
        base = {"PATH": path, "HOME": self.home, "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": self.runtime}
        return {**base, **more}

    def in_venv(self, program):
        return os.path.join(places.VENVS, self.venv, "bin", program)

    def ask(self, *arguments):
        """Returns the output of one of the tool's programs: for versions and clean-up, never measured."""
        answer = subprocess.run(
            arguments, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        return (answer.stdout + answer.stderr).strip()

    def answered(self, output):
        return set(re.findall(self.answer, output, re.MULTILINE))


class Failure(Exception):
    """A run that doesn't count; the text says why."""


def all_peers():
    """All tools besides ours, in the order of the report."""
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
