"""Copies one incompressible file of 10 MB to every host."""
import hashlib
import os
import shutil

import hosts as testbed
from peers import Failure
from workloads import Workload

SIZE = 10 * 1024 * 1024
SOURCE = os.path.join(testbed.ROOT, "big.bin")
DESTINATION = os.path.join(testbed.FOLDERS, "{id}", "copy", "big.bin")


class CopyFile(Workload):
    name = "copy"
    title = "a 10 MB file to every host"
    phases = ("cold", "warm")
    host_counts = (1, 10)
    references = {"cold": "openssh-curve25519", "warm": "openssh-controlmaster"}

    def prepare(self, peer, hosts, phase):
        if phase == "cold":
            peer.forget(hosts)
        # The content is new each time, so that no tool has it from the previous run.
        with open(SOURCE, "wb") as file:
            file.write(os.urandom(SIZE))
        for host in hosts:
            folder = os.path.join(host.folder, "copy")
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)

    def command(self, peer, hosts, phase):
        return peer.copy(hosts, SOURCE, DESTINATION)

    def prove(self, peer, hosts, phase, measurement):
        expected = _digest(SOURCE)
        for host in hosts:
            path = DESTINATION.replace("{id}", host.id)
            if not os.path.isfile(path):
                raise Failure(f"{host.id}: no copy")
            if _digest(path) != expected:
                raise Failure(f"{host.id}: the copy differs from the source")


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
