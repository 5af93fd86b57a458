"""Pings every host: cold, with only the connections closed, and warm."""
from peers import Failure
from workloads import Workload


class Ping(Workload):
    name = "ping"
    title = "ping every host"
    phases = ("cold", "reconnect", "warm")
    references = {
        "cold": "openssh-curve25519",
        "reconnect": "openssh-curve25519",
        "warm": "openssh-controlmaster",
    }

    def prepare(self, peer, hosts, phase):
        if phase == "cold":
            peer.forget(hosts)
        elif phase == "reconnect":
            peer.close(hosts)
        # The warm phase needs no preparation: it follows the previous one.

    def command(self, peer, hosts, phase):
        return peer.ping(hosts)

    def prove(self, peer, hosts, phase, measurement):
        missing = {host.id for host in hosts} - peer.answered(measurement.output)
        if missing:
            raise Failure(f"{len(missing)} of {len(hosts)} hosts did not answer, such as {min(missing)}")
        if phase == "cold":
            peer.check_cold(hosts)
