"""The smallest job on this machine: `call test.ping` and the like."""
import re

from peers import Failure
from workloads import Workload


class LocalNoOp(Workload):
    name = "local-no-op"
    title = "a local no-op"
    host_counts = (0,)
    rounds = 5
    references = {"": "salt-call"}

    def command(self, peer, hosts, phase):
        return peer.local_no_op()

    def prove(self, peer, hosts, phase, measurement):
        if not re.search(peer.local_answer, measurement.output, re.MULTILINE):
            raise Failure(f"no answer in its output: {measurement.output.strip()[-200:]}")
