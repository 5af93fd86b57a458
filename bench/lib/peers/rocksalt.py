"""Our own tool, with one peer for each measured build."""
import hashlib
import json
import os
import shutil

import hosts as testbed
import places
import state_trees
from measure import Command
from peers import Failure, Peer
from workloads import overlap

DEFAULT = os.path.join(os.environ.get("TARGET") or os.path.join(places.REPOSITORY, "target"), "release", "rocksalt")
COMPILER = "examples/compile"  # the compiler alone, which `make bench` builds beside the program


class Rocksalt(Peer):
    answer = r"^(\S+):\s+True$"
    local_answer = r"^\S+:\s+True$"

    def __init__(self, scratch, name, path):
        self.name = name
        self.path = os.path.abspath(path)
        self.config = os.path.join(scratch, name, "config")
        super().__init__(scratch)

    def program(self):
        return self.path

    def missing(self):
        if os.access(self.path, os.X_OK):
            return None
        return f"no program at {places.scrub(self.path)}; build it with `cargo build --release`, or name one with --ours"

    def version(self):
        with open(self.path, "rb") as file:
            content = file.read()
        digest = hashlib.sha256(content).hexdigest()[:12]
        lines = self.ask(self.path, "--version").splitlines() or ["version unknown"]
        return f"{lines[0]} ({len(content) / 1e6:.1f} MB, sha256 {digest}…)"

    def prepare(self, hosts):
        os.makedirs(self.config)
        # Host keys are checked like a user's: against known_hosts in the home.
        os.makedirs(os.path.join(self.home, ".ssh"), mode=0o700)
        shutil.copy(testbed.KNOWN_HOSTS, os.path.join(self.home, ".ssh", "known_hosts"))

    def close(self, hosts):
        self.ask(*self._base(hosts), "links", "close")

    def forget(self, hosts):
        self.ask(*self._base(hosts), "links", "close", "--wipe")
        # A cold run must find no files, whatever --wipe removed.
        for host in hosts:
            shutil.rmtree(self._agent(host), ignore_errors=True)
            for name in os.listdir(host.home):
                path = os.path.join(host.home, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def check_cold(self, hosts):
        """All hosts share one file system: an agent outside the host's own folder might be another host's upload."""
        for host in hosts:
            if not any(files for _, _, files in os.walk(self._agent(host))):
                raise Failure(f"{host.id}: no agent in its own folder (thin_dir), so one from elsewhere was used")

    def ping(self, hosts):
        return self._run(hosts, "*", "test.ping")

    def command_output(self, hosts):
        return self._run(hosts, "*", "cmd.run", "uname -a")

    def copy(self, hosts, source, destination):
        return self._run(hosts, "cp", source, f"*:{destination}")

    def print_version(self):
        return Command([self.path, "--version"], self.environment())

    def local_no_op(self):
        return self._local(self.config, "call", "test.ping")

    def apply(self, hosts):
        config = self._tree("apply", state_trees.apply())
        return Command([*self._base(hosts, config), "apply", "*", "apply"], self.environment())

    def compile(self, size):
        config = self._tree(str(size), state_trees.many(size))
        return self._local(config, "--json", "state", "show-low", "many")

    def compiled(self, output):
        return output.count('"__id__"')

    def compile_in_process(self, size):
        program = os.path.join(os.path.dirname(self.path), COMPILER)
        if not os.access(program, os.X_OK):
            return None
        states = state_trees.write(os.path.join(self.folder, "in-process", str(size)), state_trees.many(size))
        return Command([program, states, "many", "21"], self.environment())

    def slow_steps(self, mode):
        # Only its author knows what a command touches; `genius` overlaps commands that declare it.
        tree = state_trees.slow(overlap.STAMPS, overlap.STEPS, overlap.SECONDS, parallel=False, touches=True)
        return self._local(self._tree("slow", tree), "state", "apply", "--mode", mode, "slow")

    def web_server(self, bed, mode):
        config = bed.project(os.path.join(self.folder, bed.name))
        words = ["--config-dir", config, "apply", "*", "--mode", mode, "--pillar", bed.pillar(), "--state-output", "terse"]
        return Command([*bed.inside(), self.path, *words], self.environment())

    def _tree(self, name, files):
        """Writes a configuration whose states are this tree; returns its folder."""
        folder = os.path.join(self.folder, name.replace(" ", "-"))
        roots = {"base": [state_trees.write(os.path.join(folder, "states"), files)]}
        # JSON is also valid YAML.
        places.write(os.path.join(folder, "rocksalt.yml"), json.dumps({"file_roots": roots}))
        return folder

    def _local(self, config, *arguments):
        return Command([self.path, "--config-dir", config, *arguments], self.environment())

    def _run(self, hosts, *arguments):
        return Command([*self._base(hosts), *arguments], self.environment())

    def _base(self, hosts, config=None):
        roster = {
            host.id: {
                "host": host.id,
                "port": testbed.PORT,
                "user": "root",
                "priv": testbed.KEY,
                "thin_dir": self._agent(host),
            }
            for host in hosts
        }
        path = places.write(os.path.join(self.folder, "roster"), json.dumps(roster))
        return [self.path, "--config-dir", config or self.config, "--roster", path]

    def _agent(self, host):
        return os.path.join(host.folder, self.name)
