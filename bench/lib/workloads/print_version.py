"""`--version`: the start-up time of the program."""
from peers import Failure
from workloads import Workload


class PrintVersion(Workload):
    name = "version"
    title = "`--version`"
    host_counts = (0,)
    rounds = 5
    references = {"": "pyinfra"}

    def command(self, peer, hosts, phase):
        return peer.print_version()

    def prove(self, peer, hosts, phase, measurement):
        if not any(character.isdigit() for character in measurement.output):
            raise Failure("it printed no version")
