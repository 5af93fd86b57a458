"""OpenSSH's own ssh and scp, run in parallel by xargs: a lower bound for tools that use sshd."""
import os
import subprocess

import configuration
import hosts as testbed
import places
from measure import Command
from peers import Peer

AT_ONCE = 32


class Plain(Peer):
    name = "openssh"
    packages = ("openssh-client", "openssh-server")
    answer = r"^pong (\S+)$"
    extra_config = ""

    def program(self):
        return "ssh"

    def version(self):
        return self.ask("ssh", "-V").split(",")[0]

    def settings(self):
        return f"{AT_ONCE} at once"

    def prepare(self, hosts):
        self.config = os.path.join(self.folder, "config")
        with open(testbed.SSH_CONFIG) as file:
            places.write(self.config, file.read() + self.extra_config)

    def ping(self, hosts):
        return self._each(hosts, ["ssh", "-F", self.config, "{}", "echo", "pong", "{}"])

    def command_output(self, hosts):
        return self._each(hosts, ["ssh", "-F", self.config, "{}", "uname", "-a"])

    def copy(self, hosts, source, destination):
        return self._each(hosts, ["scp", "-q", "-F", self.config, source, "{}:" + destination.replace("{id}", "{}")])

    def apply(self, hosts):
        script = places.write(os.path.join(self.folder, "apply.sh"), apply_script())
        return self._each(hosts, ["sh", "-c", f"ssh -F {self.config} {{}} sh -s {{}} < {script}"])

    def print_version(self):
        return Command(["ssh", "-V"], self.environment())

    def _each(self, hosts, arguments):
        ids = places.write(os.path.join(self.folder, "ids"), "".join(f"{host.id}\n" for host in hosts))
        return Command(["xargs", "-a", ids, "-P", str(AT_ONCE), "-I{}", *arguments], self.environment())


class Curve25519(Plain):
    """Disables the post-quantum key exchange, which costs OpenSSH 9 several times the CPU of everything else."""

    name = "openssh-curve25519"
    extra_config = "  KexAlgorithms curve25519-sha256\n"

    def settings(self):
        return super().settings() + ", KexAlgorithms curve25519-sha256"

    def print_version(self):
        return None


class ControlMaster(Plain):
    """Keeps a connection to each host open in the background."""

    name = "openssh-controlmaster"

    def settings(self):
        return super().settings() + ", ControlMaster auto, ControlPersist 300"

    def prepare(self, hosts):
        self.extra_config = f"  ControlMaster auto\n  ControlPersist 300\n  ControlPath {self.runtime}/%h\n"
        super().prepare(hosts)

    def close(self, hosts):
        close_masters(self.runtime)

    def print_version(self):
        return None


def apply_script():
    """A script for `sh -s ID` on a host that creates what `configuration` describes; it writes only what differs."""
    lines = [f"cd {configuration.FOLDER.replace('{id}', '$1')} || exit"]
    for number in range(1, configuration.FILES + 1):
        name, mode = configuration.file_name(number), configuration.mode(number)
        text = configuration.contents("$1", number).rstrip("\n")
        write = f"{{ printf '%s\\n' \"$text\" > {name} && chmod {mode:o} {name} || exit; }}"
        lines += [f'text="{text}"', f'[ -f {name} ] && [ "$(cat {name})" = "$text" ] || {write}']
    for number in range(1, configuration.COMMANDS + 1):
        name = configuration.command_name(number)
        lines.append(f"[ -e {name} ] || echo {number} >> {name} || exit")
    return "\n".join(lines) + "\n"


def close_masters(folder):
    """Stops the ssh masters whose control sockets are in the folder."""
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        command = ["ssh", "-F", testbed.SSH_CONFIG, "-o", f"ControlPath={os.path.join(folder, name)}", "-O", "exit", "x"]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
