"""The workloads: what one must offer, and the list of them. One file a workload."""


class Workload:
    """A job done by every tool in the same way, in one or more phases that follow each other in one turn."""

    name = ""
    title = ""
    phases = ("",)
    phases_without_connections = ("cold", "reconnect")  # checked: they start with no session on any host
    host_counts = None  # None: all that were asked for; else only these (0: needs no hosts)
    rounds = 1  # measured so often in each turn; more for what takes milliseconds
    references = {}  # phase: the tool that the others are compared with

    def prepare(self, peer, hosts, phase):
        """Brings about the state in which the phase starts; not measured."""

    def command(self, peer, hosts, phase):
        """The command to measure, or None where the tool has no such thing."""
        raise NotImplementedError

    def prove(self, peer, hosts, phase, measurement):
        """Raises Failure unless the command has done its job on every host. The exit code is checked before."""

    def target_roots(self):
        """Processes below which all is the targets', for a workload with hosts of its own."""
        return []

    def finish(self):
        """After a tool's turn, however it went."""

    def seconds(self, phase, measurement):
        """The time that counts of a run that has been proved."""
        return measurement.wall


def all_workloads():
    """In the order of the report."""
    from workloads import apply_states, command_output, compile_states, copy_file, local_no_op, overlap, ping, print_version
    from workloads import web_server

    return [
        ping.Ping(),
        command_output.CommandOutput(),
        copy_file.CopyFile(),
        print_version.PrintVersion(),
        local_no_op.LocalNoOp(),
        compile_states.CompileStates(),
        compile_states.CompileInProcess(),
        apply_states.ApplyStates(),
        overlap.Overlap(),
        web_server.WebServer(),
    ]
