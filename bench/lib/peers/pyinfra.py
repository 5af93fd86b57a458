"""pyinfra: paramiko and gevent in one process, all hosts at once."""
import os
import textwrap

import configuration
import hosts as testbed
import places
from measure import Command
from peers import Peer


class Pyinfra(Peer):
    name = "pyinfra"
    venv = "pyinfra"
    requirements = ("pyinfra",)
    answer = r"^\[(\S+)\]\s+pong$"  # the shorter names are padded
    local_answer = r"\[@local\] Success"
    skipped_phases = ("reconnect-first",)  # keeps nothing on the hosts: the same as cold

    def program(self):
        return self.in_venv("pyinfra")

    def version(self):
        return self.ask(self.program(), "--version").split(":")[-1].strip()

    def ping(self, hosts):
        return self._run("-vvv", self._inventory(hosts), "exec", "--", "echo", "pong")

    def command_output(self, hosts):
        return self._run("-vvv", self._inventory(hosts), "exec", "--", "uname", "-a")

    def copy(self, hosts, source, destination):
        path = destination.replace("{id}", "' + host.name + '")
        deploy = places.write(
            os.path.join(self.folder, "copy.py"),
            f"""from pyinfra import host
from pyinfra.operations import files
files.put(name='copy', src={source!r}, dest='{path}', _temp_dir={testbed.FOLDERS!r} + '/' + host.name)
""",
        )
        return self._run(self._inventory(hosts), deploy)

    def apply(self, hosts):
        text = f"""\
            import io
            from pyinfra import host
            from pyinfra.facts.files import File
            from pyinfra.operations import files, server

            folder = {testbed.FOLDERS!r} + "/" + host.name
            for number in range(1, {configuration.FILES} + 1):
                files.put(
                    name=f"file {{number}}",
                    src=io.StringIO(f"host = {{host.name}}\\nfile = {{number}}\\nvalue = {{number * number}}\\n"),
                    dest=f"{{folder}}/apply/file{{number:03}}",
                    mode="640" if number % 2 else "600",
                    _temp_dir=folder,
                )
            for number in range(1, {configuration.COMMANDS} + 1):
                path = f"{{folder}}/apply/command{{number}}"
                if not host.get_fact(File, path=path):
                    server.shell(name=f"command {{number}}", commands=[f"echo {{number}} >> {{path}}"])
            """
        deploy = places.write(os.path.join(self.folder, "apply.py"), textwrap.dedent(text))
        return self._run(self._inventory(hosts), deploy)

    def print_version(self):
        return Command([self.program(), "--version"], self.environment())

    def local_no_op(self):
        return self._run("@local", "exec", "--", "true")

    def _run(self, *arguments):
        return Command([self.program(), "-y", *arguments], self.environment(), self.folder)

    def _inventory(self, hosts):
        data = {
            "ssh_user": "root",
            "ssh_port": testbed.PORT,
            "ssh_key": testbed.KEY,
            "ssh_known_hosts_file": testbed.KNOWN_HOSTS,
            "ssh_config_file": testbed.SSH_CONFIG,
        }
        text = f"data = {data!r}\nhosts = [(id, data) for id in {[host.id for host in hosts]!r}]\n"
        return places.write(os.path.join(self.folder, "inventory.py"), text)
