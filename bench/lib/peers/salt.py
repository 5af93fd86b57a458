"""salt-ssh, and salt-call for what needs no host. (A master with resident minions is another kind of tool.)"""
import json
import os
import shutil
import subprocess

import hosts as testbed
import places
from measure import Command
from peers import Failure, Peer

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
        # JSON is YAML.
        places.write(os.path.join(self.folder, "master"), json.dumps(config))
        # Makes the archive that it sends to hosts: once in its life, so not part of what is measured.
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
    """For start-up only: it has no hosts."""

    name = "salt-call"
    local_answer = r"^local:\n\s+True$"
    venv = "salt"
    requirements = ("salt",)

    def program(self):
        return self.in_venv("salt-call")

    def version(self):
        return self.ask(self.program(), "--version").split("salt-call ")[-1]

    def prepare(self, hosts):
        config = {"root_dir": self.folder, "id": "local", "file_client": "local"}
        places.write(os.path.join(self.folder, "minion"), json.dumps(config))

    def print_version(self):
        return Command([self.program(), "--version"], self.environment())

    def local_no_op(self):
        return Command([self.program(), "--local", "-c", self.folder, "test.ping"], self.environment())
