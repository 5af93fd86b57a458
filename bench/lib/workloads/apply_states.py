"""Applies 100 files and 10 commands on every host: to an empty host, and again without changes."""
import os
import shutil

import configuration
from peers import Failure
from workloads import Workload


class ApplyStates(Workload):
    name = "apply"
    title = "100 files and 10 commands on every host"
    phases = ("cold-first", "warm-second", "reconnect-first")
    phases_without_connections = ("cold-first", "reconnect-first")
    host_counts = (1, 10, 50)
    references = {
        "cold-first": "openssh-curve25519",
        "warm-second": "openssh-controlmaster",
        "reconnect-first": "openssh-curve25519",
    }

    def __init__(self):
        self.stamps = {}  # of each host's files after the first run

    def prepare(self, peer, hosts, phase):
        if phase == "warm-second":
            return
        if phase == "cold-first":
            peer.forget(hosts)
        else:
            peer.close(hosts)
        self.stamps = {}
        for host in hosts:
            shutil.rmtree(configuration.folder(host), ignore_errors=True)
            os.makedirs(configuration.folder(host))

    def command(self, peer, hosts, phase):
        return peer.apply(hosts) if len(hosts) <= peer.most_hosts_to_apply else None

    def prove(self, peer, hosts, phase, measurement):
        for host in hosts:
            stamps = configuration.prove(host)
            if phase == "warm-second" and stamps != self.stamps.get(host.id):
                raise Failure(f"{host.id}: files were written again, or the first run had failed")
            self.stamps[host.id] = stamps
        if phase == "cold-first":
            peer.check_cold(hosts)
