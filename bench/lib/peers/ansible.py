"""Ansible as it comes, with the two settings that everybody recommends, and with mitogen."""
import os
import re

import hosts as testbed
import places
from measure import Command
from peers import Peer
from peers.openssh import close_masters

PYTHON_ON_HOSTS = "/usr/bin/python3"


class Ansible(Peer):
    name = "ansible"
    packages = ("python3",)  # on the hosts
    venv = "ansible"
    requirements = ("ansible-core",)
    answer = r"^(\S+) \| SUCCESS"
    local_answer = r'"ping": "pong"'
    skipped_phases = ("reconnect",)  # keeps nothing on the hosts: the same as cold
    forks, pipelining = 5, False

    def program(self):
        return self.in_venv("ansible")

    def version(self):
        text = self.ask(self.program(), "--version")
        core, python = re.search(r"core ([^\]\s]+)", text), re.search(r"python version = (\S+)", text)
        return f"ansible-core {core.group(1)}, Python {python.group(1)}"

    def settings(self):
        return f"{self.forks} forks, pipelining {'on' if self.pipelining else 'off'}"

    def prepare(self, hosts):
        self.sockets = os.path.join(self.runtime, "cp")
        places.write(
            os.path.join(self.folder, "ansible.cfg"),
            f"""[defaults]
forks = {self.forks}
interpreter_python = {PYTHON_ON_HOSTS}
{self.strategy()}
[ssh_connection]
pipelining = {self.pipelining}
control_path_dir = {self.sockets}
ssh_common_args = -F {testbed.SSH_CONFIG}
""",
        )

    def strategy(self):
        return ""

    def close(self, hosts):
        close_masters(self.sockets)

    def ping(self, hosts):
        return self._module(hosts, "ansible.builtin.ping")

    def command_output(self, hosts):
        return self._module(hosts, "ansible.builtin.command", "uname -a")

    def copy(self, hosts, source, destination):
        path = destination.replace("{id}", "{{inventory_hostname}}")
        return self._module(hosts, "ansible.builtin.copy", f"src={source} dest={path}")

    def print_version(self):
        return self._command("--version")

    def local_no_op(self):
        return self._command("localhost", "-i", "localhost,", "-c", "local", "-m", "ansible.builtin.ping")

    def _module(self, hosts, module, arguments=None):
        lines = "".join(f"{host.id} ansible_user=root ansible_port={testbed.PORT}\n" for host in hosts)
        inventory = places.write(os.path.join(self.folder, "inventory"), lines)
        return self._command("all", "-i", inventory, "-m", module, *(["-a", arguments] if arguments else []))

    def _command(self, *arguments):
        environment = self.environment(
            ANSIBLE_CONFIG=os.path.join(self.folder, "ansible.cfg"), ANSIBLE_HOME=os.path.join(self.folder, "ansible")
        )
        return Command([self.program(), *arguments], environment)


class Tuned(Ansible):
    name = "ansible-tuned"
    by_default = False
    forks, pipelining = 50, True

    def print_version(self):
        return None

    def local_no_op(self):
        return None


class Mitogen(Tuned):
    name = "ansible-mitogen"
    by_default = True
    venv = "mitogen"
    requirements = ("ansible-core", "mitogen")

    def version(self):
        found = self.ask(self.in_venv("python"), "-c", "import importlib.metadata as m; print(m.version('mitogen'))")
        return f"{super().version()}, mitogen {found}"

    def strategy(self):
        find = "import ansible_mitogen, os; print(os.path.dirname(ansible_mitogen.__file__))"
        plugins = os.path.join(self.ask(self.in_venv("python"), "-c", find), "plugins", "strategy")
        return f"strategy_plugins = {plugins}\nstrategy = mitogen_linear"
