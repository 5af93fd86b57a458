"""Ansible with its defaults, with the two commonly recommended settings, and with mitogen."""
import json
import os
import re

import configuration
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
    skipped_phases = ("reconnect", "reconnect-first")  # keeps nothing on the hosts: the same as cold
    most_hosts_to_apply = 1  # it takes most of a minute for one
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

    def apply(self, hosts):
        folder = configuration.FOLDER.replace("{id}", "{{ inventory_hostname }}")
        tasks = []
        for number in range(1, configuration.FILES + 1):
            path = os.path.join(folder, configuration.file_name(number))
            text = configuration.contents("{{ inventory_hostname }}", number)
            arguments = {"dest": path, "content": text, "mode": f"{configuration.mode(number):04o}"}
            tasks.append({"name": f"file {number}", "ansible.builtin.copy": arguments})
        for number in range(1, configuration.COMMANDS + 1):
            path = os.path.join(folder, configuration.command_name(number))
            arguments = {"cmd": f"echo {number} >> {path}", "creates": path}
            tasks.append({"name": f"command {number}", "ansible.builtin.shell": arguments})
        play = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
        path = places.write(os.path.join(self.folder, "apply.yml"), json.dumps(play, indent=1))
        return self._command("-i", self._inventory(hosts), path, program="ansible-playbook")

    def compile(self, size):
        """Uses `--list-tasks`, the step that comes closest to compiling."""
        folder = os.path.join(self.folder, str(size).replace(" ", "-"))
        names = [f"part{part}.yml" for part in range(size.files)]
        for part, name in enumerate(names):
            tasks = [
                {
                    "name": f"task {part} {step}",
                    "ansible.builtin.copy": {
                        "content": f"value {{{{ base }}}} {step}", "dest": f"/nowhere/{part}/{step}", "mode": "0644",
                    },
                    "when": "base is defined",
                }
                for step in range(size.states // size.files)
            ]  # fmt: skip
            places.write(os.path.join(folder, name), json.dumps(tasks, indent=1))
        imports = [{"ansible.builtin.import_tasks": name} for name in names]
        play = [{"hosts": "all", "gather_facts": False, "vars": {"base": 1}, "tasks": imports}]
        path = places.write(os.path.join(folder, "many.yml"), json.dumps(play))
        return self._command("-i", "localhost,", "--list-tasks", path, program="ansible-playbook")

    def compiled(self, output):
        return len(set(re.findall(r"task \d+ \d+", output)))

    def print_version(self):
        return self._command("--version")

    def local_no_op(self):
        return self._command("localhost", "-i", "localhost,", "-c", "local", "-m", "ansible.builtin.ping")

    def _module(self, hosts, module, arguments=None):
        rest = ["-a", arguments] if arguments else []
        return self._command("all", "-i", self._inventory(hosts), "-m", module, *rest)

    def _inventory(self, hosts):
        lines = "".join(f"{host.id} ansible_user=root ansible_port={testbed.PORT}\n" for host in hosts)
        return places.write(os.path.join(self.folder, "inventory"), lines)

    def _command(self, *arguments, program="ansible"):
        environment = self.environment(
            ANSIBLE_CONFIG=os.path.join(self.folder, "ansible.cfg"), ANSIBLE_HOME=os.path.join(self.folder, "ansible")
        )
        return Command([self.in_venv(program), *arguments], environment)


class Tuned(Ansible):
    name = "ansible-tuned"
    by_default = False
    forks, pipelining = 50, True

    def compile(self, size):
        return None

    def print_version(self):
        return None

    def local_no_op(self):
        return None


class Mitogen(Tuned):
    name = "ansible-mitogen"
    by_default = True
    most_hosts_to_apply = 10
    venv = "mitogen"
    requirements = ("ansible-core", "mitogen")

    def version(self):
        found = self.ask(self.in_venv("python"), "-c", "import importlib.metadata as m; print(m.version('mitogen'))")
        return f"{super().version()}, mitogen {found}"

    def strategy(self):
        find = "import ansible_mitogen, os; print(os.path.dirname(ansible_mitogen.__file__))"
        plugins = os.path.join(self.ask(self.in_venv("python"), "-c", find), "plugins", "strategy")
        return f"strategy_plugins = {plugins}\nstrategy = mitogen_linear"
