"""Runs `uname -a` on every host and shows its output: cold, and over what the tool keeps."""
import subprocess

from peers import Failure
from workloads import Workload


class CommandOutput(Workload):
    name = "command-output"
    title = "`uname -a` with its output"
    phases = ("cold", "warm")
    references = {"cold": "openssh-curve25519", "warm": "openssh-controlmaster"}

    def __init__(self):
        # The hosts are this machine, so each must print exactly this.
        self.expected = subprocess.check_output(["uname", "-a"], text=True).strip()

    def prepare(self, peer, hosts, phase):
        if phase == "cold":
            peer.forget(hosts)

    def command(self, peer, hosts, phase):
        return peer.command_output(hosts)

    def prove(self, peer, hosts, phase, measurement):
        count = measurement.output.count(self.expected)
        if count != len(hosts):
            raise Failure(f"{count} outputs of `uname -a` from {len(hosts)} hosts")
