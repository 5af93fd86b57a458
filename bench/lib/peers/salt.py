"""salt-ssh, and salt-call for jobs without hosts. (A master with resident minions is another kind of tool.)"""
import json
import os
import shutil
import subprocess

import hosts as testbed
import places
import state_trees
from measure import Command
from peers import Failure, Peer
from workloads import overlap

AT_ONCE = 25  # its default


class SaltSsh(Peer):
    name = "salt-ssh"
    packages = ("python3",)  # on the hosts
    venv = "salt"
    requirements = ("salt",)
    answer = r"^(\S+):\n\s+True$"

    def program(self):
        return self.in_venv("salt-ssh")

    def version(self):
        return self.ask(self.program(), "--version").split("salt-ssh ")[-1]

    def settings(self):
        return f"{AT_ONCE} at once (its default)"

    def prepare(self, hosts):
        self.states = os.path.join(self.folder, "states")
        os.makedirs(self.states)
        config = {
            "root_dir": self.folder,
            "file_roots": {"base": [self.states]},
            "ssh_log_file": os.path.join(self.folder, "log"),
            "ssh_max_procs": AT_ONCE,
        }
        # JSON is also valid YAML.
        places.write(os.path.join(self.folder, "master"), json.dumps(config))
        # The first run builds the archive for the hosts. That happens only once, so it isn't measured.
        first = self.ping(hosts[:1])
        subprocess.run(
            first.arguments, env=first.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
        )
        self.forget(hosts[:1])

    def forget(self, hosts):
        for host in hosts:
            shutil.rmtree(self._thin(host), ignore_errors=True)

    def check_cold(self, hosts):
        for host in hosts:
            if not os.path.isdir(self._thin(host)):
                raise Failure(f"{host.id}: no thin in its own folder, so one from elsewhere was used")

    def ping(self, hosts):
        return self._run(hosts, "test.ping")

    def command_output(self, hosts):
        return self._run(hosts, "cmd.run", "uname -a")

    def copy(self, hosts, source, destination):
        shutil.copy(source, os.path.join(self.states, "big"))
        path = destination.replace("{id}", "{{ grains['id'] }}")
        state = f"copy:\n  file.managed:\n    - name: {path}\n    - source: salt://big\n    - show_changes: False\n"
        places.write(os.path.join(self.states, "copy.sls"), state)
        return self._run(hosts, "state.apply", "copy")

    def apply(self, hosts):
        state_trees.write(self.states, state_trees.apply())
        return self._run(hosts, "state.apply", "apply")

    def print_version(self):
        return Command([self.program(), "--version"], self.environment())

    def _run(self, hosts, *function):
        roster = {
            host.id: {
                "host": host.id,
                "port": testbed.PORT,
                "user": "root",
                "priv": testbed.KEY,
                "thin_dir": self._thin(host),
                "ssh_options": [f"UserKnownHostsFile={testbed.KNOWN_HOSTS}", "GlobalKnownHostsFile=/dev/null"],
            }
            for host in hosts
        }
        path = places.write(os.path.join(self.folder, "roster"), json.dumps(roster))
        arguments = [self.program(), "-c", self.folder, "--roster-file", path, "*", *function]
        return Command(arguments, self.environment())

    def _thin(self, host):
        return os.path.join(host.folder, "thin")


class SaltCall(Peer):
    """salt-call, for jobs without connections: this machine stands for the first host."""

    name = "salt-call"
    local_answer = r"^local:\n\s+True$"
    most_hosts_to_apply = 1
    skipped_phases = ("cold", "reconnect", "reconnect-first")  # there is no connection, and nothing that it keeps
    venv = "salt"
    requirements = ("salt",)

    def program(self):
        return self.in_venv("salt-call")

    def version(self):
        return self.ask(self.program(), "--version").split("salt-call ")[-1]

    def prepare(self, hosts):
        self._configure(self.folder, "local")

    def print_version(self):
        return Command([self.program(), "--version"], self.environment())

    def local_no_op(self):
        return self._run(self.folder, "test.ping")

    def apply(self, hosts):
        return self._run(self._tree("apply", state_trees.apply(), hosts[0].id), "state.apply", "apply")

    def compile(self, size):
        return self._run(self._tree(str(size), state_trees.many(size)), "--out=json", "state.show_low_sls", "many")

    def compiled(self, output):
        return output.count('"__id__"')

    def compile_in_process(self, size):
        folder = self._tree(str(size), state_trees.many(size))
        times = 11 if size.states <= 1000 else 4
        program = os.path.join(places.REPOSITORY, "bench", "lib", "compile_with_salt.py")
        return Command([self.in_venv("python"), program, folder, "many", str(times)], self.environment())

    def slow_steps(self, mode):
        """The steps run one after another; for `justdoit`, all have `parallel: True`."""
        if mode == "genius":
            return None
        tree = state_trees.slow(overlap.STAMPS, overlap.STEPS, overlap.SECONDS, parallel=mode != "ansible")
        return self._run(self._tree(f"slow-{mode}", tree), "state.apply", "slow")

    def _run(self, config, *arguments):
        return Command([self.program(), "--local", "-c", config, *arguments], self.environment())

    def _tree(self, name, files, id="local"):
        """Writes a configuration whose states are this tree; returns its folder."""
        folder = os.path.join(self.folder, name.replace(" ", "-"))
        self._configure(folder, id, file_roots={"base": [state_trees.write(os.path.join(folder, "states"), files)]})
        return folder

    def _configure(self, folder, id, **more):
        config = {"root_dir": folder, "id": id, "file_client": "local", **more}
        places.write(os.path.join(folder, "minion"), json.dumps(config))
